package bundle

import "go.yaml.in/yaml/v3"

// configValues reads the variables of a config file. A nested value is named by
// the keys on the way to it, qa.location; lists have no name. Empty values are
// left out, so that they do not hide others.
func (b *Bundle) configValues(file, src string) (map[string]string, error) {
	root, _, err := parseYAML(file, 1, []byte(src))
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	b.collect(values, "", root)
	return values, nil
}

func (b *Bundle) collect(values map[string]string, prefix string, n *yaml.Node) {
	for k, v := range fields(n) {
		switch name := prefix + k.Value; {
		case v.Kind == yaml.MappingNode:
			b.collect(values, name+".", v)
		case scalar(v) != "":
			values[name] = b.here(scalar(v))
		}
	}
}
