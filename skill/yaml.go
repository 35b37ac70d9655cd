package skill

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// What the header of a skill may hold. Real ones stay far below.
const (
	maxHeader    = 64 << 10
	maxYAMLDepth = 16
	maxYAMLKeys  = 200
)

// A matter is front matter that was read.
type matter struct {
	file     string
	fields   map[string]*yaml.Node // with the lines of the file
	keys     []*yaml.Node
	findings []Finding
}

// readMatter reads front matter, which starts on line 2 of file. A value that YAML
// wants in quotes is read as if it had them, and noted. It returns false where
// there is no map to be had.
func readMatter(file string, src []byte) (matter, bool) {
	m := matter{file: file, fields: make(map[string]*yaml.Node)}
	root, err := laxyaml.Decode(src)
	if err != nil {
		quoted, line := quoteValues(src)
		var second error
		if root, second = laxyaml.Decode(quoted); second != nil {
			m.add(invalidYAML(file, err))
			return m, false
		}
		m.add(warning(CodeUnquoted, file, line+1, "YAML wants this value in quotes; it is read as if it had them"))
	}
	if root == nil || root.Kind != yaml.MappingNode {
		m.add(problem(CodeFrontMatter, file, 2, "the front matter holds no keys; give it name and description"))
		return m, false
	}
	if what, line := refused(root, 1); what != "" {
		m.add(problem(CodeRefusedYAML, file, line+1, "front matter must do without %s", what))
		return m, false
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		key.Line++
		value.Line++
		if m.fields[key.Value] != nil {
			m.add(warning(CodeDuplicateKey, file, key.Line, "the key %.80q is there twice; the last one counts", key.Value))
		}
		m.fields[key.Value] = value
		m.keys = append(m.keys, key)
	}
	return m, true
}

func (m *matter) add(f Finding) { m.findings = append(m.findings, f) }

// line is where a key's value is, or where the front matter begins.
func (m *matter) line(key string) int {
	if n := m.fields[key]; n != nil {
		return n.Line
	}
	return 2
}

// text returns the value of a key as it is written: 0777 and no stay what they are.
// What is not a single value is empty.
func (m *matter) text(key string) string { return scalar(m.fields[key]) }

func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// A mention is a name that a line of a file holds.
type mention struct {
	name string
	line int
}

// word is a name in a list, such as Read or Bash(git add:*).
var word = regexp.MustCompile(`[^\s,()]+(?:\([^)]*\))?`)

// words returns the names in a value, or in the values of a list. Below the keys of
// front matter, lines are still those of the YAML, and shift makes them the file's.
func words(n *yaml.Node, shift int) []mention {
	var found []mention
	if n != nil && n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			found = append(found, words(item, 1)...)
		}
	}
	for _, name := range word.FindAllString(oneLine(scalar(n)), -1) {
		found = append(found, mention{name, n.Line + shift})
	}
	return found
}

// entry returns what a map under key holds under another.
func (m *matter) entry(key, inner string) *yaml.Node {
	n := m.fields[key]
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == inner {
			return n.Content[i+1]
		}
	}
	return nil
}

func invalidYAML(file string, err error) Finding {
	text, line := laxyaml.Explain(err)
	return problem(CodeYAML, file, line+1, "the front matter is not YAML: %s", text)
}

// refused says what a skill has no use for and n contains, and on which line.
func refused(n *yaml.Node, depth int) (what string, line int) {
	switch {
	case depth > maxYAMLDepth:
		return "more than " + strconv.Itoa(maxYAMLDepth) + " levels", n.Line
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return "anchors and aliases", n.Line
	case n.Tag == "!!merge":
		return "merge keys", n.Line
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		return "tags of its own", n.Line
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxYAMLKeys:
		return "more than " + strconv.Itoa(maxYAMLKeys) + " keys in a map", n.Line
	}
	for _, child := range n.Content {
		if what, line = refused(child, depth+1); what != "" {
			return what, line
		}
	}
	return "", 0
}

// plainValue is a key at the left margin with a value that has no quotes and is no
// block. Authors forget that such a value must not hold a colon.
var plainValue = regexp.MustCompile(`^([A-Za-z][\w-]*:[ \t]+)([^\s"'|>].*?)[ \t\r]*$`)

// quoteValues puts quotes around the plain values of front matter and returns the
// first line that wanted them.
func quoteValues(src []byte) (quoted []byte, first int) {
	var out bytes.Buffer
	number := 0
	for line := range bytes.Lines(src) {
		number++
		m := plainValue.FindSubmatch(bytes.TrimRight(line, "\n"))
		if m == nil {
			out.Write(line)
			continue
		}
		mended := string(m[1]) + "'" + strings.ReplaceAll(string(m[2]), "'", "''") + "'\n"
		if _, err := laxyaml.Decode(line); err == nil {
			mended = string(line)
		} else if first == 0 {
			first = number
		}
		out.WriteString(mended)
	}
	return out.Bytes(), first
}
