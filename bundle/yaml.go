package bundle

import (
	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// ParseYAML reads a YAML document that starts on the given line of a file, as all
// YAML of bundles is read: leniently. What was mended is noted. The node is nil for
// an empty document; the error is a *Finding.
func ParseYAML(file string, line int, src []byte) (root *yaml.Node, notes []Finding, err error) {
	root, problems, err := laxyaml.Parse(line, src)
	for _, p := range problems {
		notes = append(notes, warning(p.Code, file, p.Line, "%s", p.Message))
	}
	if p, ok := err.(*laxyaml.Problem); ok {
		return nil, nil, problem(p.Code, file, p.Line, "%s", p.Message)
	}
	return root, notes, err
}
