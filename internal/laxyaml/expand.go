package laxyaml

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds what a document holds once its aliases are written out.
const maxNodes = 20_000

// An expander writes aliases and merge keys out, so that nobody else needs to know them,
// within bounds: a document of a few lines can stand for billions.
type expander struct {
	*checker
	nodes int
	open  map[*yaml.Node]bool // anchors that are being written out
}

// expand returns a node without anchors, aliases, merge keys and tags of the author's own.
func (e *expander) expand(n *yaml.Node, depth int) (*yaml.Node, error) {
	refuse := func(what string) (*yaml.Node, error) {
		return nil, &Problem{CodeRefused, n.Line + e.shift, "YAML here must do without " + what}
	}
	if e.nodes++; e.nodes > maxNodes {
		return refuse("aliases that come to more than " + strconv.Itoa(maxNodes) + " values")
	}
	if depth > maxDepth {
		return refuse("more than " + strconv.Itoa(maxDepth) + " levels")
	}
	if n.Kind == yaml.AliasNode {
		if e.open[n.Alias] {
			return refuse("an alias inside of what it stands for")
		}
		e.open[n.Alias] = true
		defer delete(e.open, n.Alias)
		return e.expand(n.Alias, depth)
	}
	if n.Anchor != "" && !e.open[n] {
		e.open[n] = true
		defer delete(e.open, n)
	}
	copied := *n
	copied.Anchor, copied.Content = "", nil
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		e.note(CodeRefused, n.Line, "nobody here knows the tag %s; the value is read without it", n.Tag)
		copied.Tag = map[yaml.Kind]string{yaml.ScalarNode: "!!str", yaml.MappingNode: "!!map", yaml.SequenceNode: "!!seq"}[n.Kind]
		copied.Style &^= yaml.TaggedStyle
	}
	var merged []*yaml.Node
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Tag == "!!merge" {
			value, err := e.expand(child, depth+1)
			if err != nil {
				return nil, err
			}
			merged = append(merged, value)
			continue
		}
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Tag == "!!merge" {
			continue
		}
		value, err := e.expand(child, depth+1)
		if err != nil {
			return nil, err
		}
		copied.Content = append(copied.Content, value)
	}
	for _, from := range merged {
		mergeInto(&copied, from)
	}
	return &copied, nil
}

// mergeInto adds the keys of a map, or of several, that a map does not have itself.
func mergeInto(n, from *yaml.Node) {
	if from.Kind == yaml.SequenceNode {
		for _, one := range from.Content {
			mergeInto(n, one)
		}
		return
	}
	for key, value := range Fields(from) {
		if Field(n, key.Value) == nil {
			n.Content = append(n.Content, key, value)
		}
	}
}

// isPlain says whether a document has nothing to write out.
func isPlain(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge" || strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return false
	}
	for _, child := range n.Content {
		if !isPlain(child) {
			return false
		}
	}
	return true
}
