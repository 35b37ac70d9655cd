package bundle

import (
	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// configValues reads the variables of a config file. A nested value is named by
// the keys on the way to it, qa.location; lists have no name. Empty values are
// left out, so that they do not hide others.
func (b *Bundle) configValues(file, src string) (map[string]string, error) {
	root, _, err := ParseYAML(file, 1, []byte(src))
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	b.collect(values, "", root)
	return values, nil
}

func (b *Bundle) collect(values map[string]string, prefix string, n *yaml.Node) {
	for k, v := range laxyaml.Fields(n) {
		switch name := prefix + k.Value; {
		case v.Kind == yaml.MappingNode:
			b.collect(values, name+".", v)
		case laxyaml.Scalar(v) != "":
			values[name] = b.here(laxyaml.Scalar(v))
		}
	}
}
