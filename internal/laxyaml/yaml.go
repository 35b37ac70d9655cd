// Package laxyaml reads the YAML that people write: what a value without its quotes
// was meant to be, and with the line of everything that is wrong. It refuses what
// could be dangerous, such as aliases that come to more than a document may hold.
package laxyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What a document may hold. Real ones stay far below.
const (
	MaxBytes = 256 << 10
	maxDepth = 64
	maxKeys  = 2000
)

// The codes of what can be wrong with a document.
const (
	CodeInvalid      = "invalid-yaml"  // not YAML, even read leniently
	CodeUnquoted     = "unquoted-yaml" // a scalar that YAML wants in quotes
	CodeRefused      = "refused-yaml"  // more than the limits allow; a tag that is passed over
	CodeDuplicateKey = "duplicate-key" // the last one counts
)

// A Problem is something in a document that a person should look at. It is an error
// where it keeps the document from being read.
type Problem struct {
	Code    string
	Line    int
	Message string
}

func (p *Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Message) }

// Parse reads one document, which starts on the given line of its file. A scalar
// that YAML wants in quotes, such as {project-root}/docs, is read as if it had
// them, and noted. The node is nil for an empty document; the error is a *Problem.
func Parse(line int, src []byte) (root *yaml.Node, notes []Problem, err error) {
	if len(src) > MaxBytes {
		return nil, nil, &Problem{CodeRefused, line, fmt.Sprintf("more than %d bytes of YAML", MaxBytes)}
	}
	c := checker{shift: line - 1}
	root, err = Decode(src)
	if hard := []byte("\u00a0"); err != nil && bytes.Contains(src, hard) { // spaces that editors put in, and nobody sees
		src = bytes.ReplaceAll(src, hard, []byte(" "))
		root, err = Decode(src)
	}
	if errors.Is(err, errSecondDocument) && root.Kind == yaml.MappingNode {
		c.note(CodeInvalid, 1, "there is more than one document in it, parted by ---; only the first one counts")
		err = nil
	}
	if err != nil {
		root = nil
		quoted, lines := quoteScalars(src)
		second := err
		if lines != nil {
			root, second = Decode(quoted)
		}
		if second != nil {
			var joined []int
			if quoted, joined = foldProse(src); joined == nil {
				return nil, nil, c.invalid(second)
			}
			for _, n := range joined {
				c.note(CodeUnquoted, n, "YAML wants a text of several lines behind a |; it is read as if it stood there")
			}
			quoted, lines = quoteScalars(quoted)
			if root, err = Decode(quoted); err != nil {
				return nil, nil, c.invalid(err)
			}
		}
		for _, n := range lines {
			if isTabbed(src, n) {
				c.note(CodeUnquoted, n, "YAML indents with spaces; the tabs are read as two each")
				continue
			}
			c.note(CodeUnquoted, n, "YAML wants this value in quotes; it is read as if it had them")
		}
	}
	if root == nil {
		return nil, c.notes, nil
	}
	if !isPlain(root) {
		e := expander{checker: &c, open: map[*yaml.Node]bool{}}
		if root, err = e.expand(root, 1); err != nil {
			return nil, nil, err
		}
	}
	if err := c.visit(root, 1); err != nil {
		return nil, nil, err
	}
	return root, c.notes, nil
}

var errSecondDocument = errors.New("more than one document")

// Decode reads one document strictly. The node is nil if it is empty, and that of the
// first where there are more.
func Decode(src []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	err := decoder.Decode(&second)
	if isEmpty := err == nil && len(second.Content) == 1 && second.Content[0].Tag == "!!null"; !errors.Is(err, io.EOF) && !isEmpty {
		return document.Content[0], errSecondDocument
	}
	return document.Content[0], nil
}

// A checker refuses what nobody here has a use for, and mends what it can.
type checker struct {
	shift int // lines of the file before the document
	notes []Problem
}

func (c *checker) note(code string, line int, format string, args ...any) {
	c.notes = append(c.notes, Problem{code, line + c.shift, fmt.Sprintf(format, args...)})
}

// libraryLine is where the library says that something is wrong; it has no other way.
var libraryLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (c *checker) invalid(err error) error {
	text, line := Explain(err)
	return &Problem{CodeInvalid, line + c.shift, "this is not YAML: " + text}
}

// Explain returns what an error of Decode says, and the line of the document that it is
// about.
func Explain(err error) (text string, line int) {
	text, line = err.Error(), 1
	if m := libraryLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	return text, line
}

func (c *checker) visit(n *yaml.Node, depth int) error {
	refuse := func(what string) error {
		return &Problem{CodeRefused, n.Line + c.shift, "YAML here must do without " + what}
	}
	switch {
	case depth > maxDepth:
		return refuse("more than " + strconv.Itoa(maxDepth) + " levels")
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys:
		return refuse("more than " + strconv.Itoa(maxKeys) + " keys in a map")
	}
	if name, ok := placeholder(n); ok {
		c.note(CodeUnquoted, n.Line, "YAML takes %s for a map unless it is in quotes; it is read as text", name)
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: n.Line, Column: n.Column}
	}
	c.findDuplicates(n)
	for _, child := range n.Content {
		if err := c.visit(child, depth+1); err != nil {
			return err
		}
	}
	n.Line += c.shift
	return nil
}

func (c *checker) findDuplicates(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.ScalarNode && seen[key.Value] {
			c.note(CodeDuplicateKey, key.Line, "the key %s is there twice; the last one counts", key.Value)
		}
		seen[key.Value] = true
	}
}

// placeholder recognises {name} and {{name}}, which YAML takes for maps.
func placeholder(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 || n.Content[1].Tag != "!!null" || n.Content[1].Value != "" {
		return "", false
	}
	key := n.Content[0]
	if key.Kind == yaml.ScalarNode && key.Style == 0 {
		return "{" + key.Value + "}", true
	}
	if key.Kind == yaml.MappingNode && len(key.Content) == 2 && key.Content[0].Kind == yaml.ScalarNode {
		if inner, ok := placeholder(key); ok {
			return "{" + inner + "}", true
		}
	}
	return "", false
}

// Field returns the value of a key, the last one of that name, or nil.
func Field(n *yaml.Node, key string) *yaml.Node {
	var found *yaml.Node
	for k, v := range Fields(n) {
		if k.Value == key {
			found = v
		}
	}
	return found
}

// Fields walks the keys and values of a map. Anything else has none.
func Fields(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// Items returns the elements of a list; a single value is a list of one.
func Items(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil || n.Tag == "!!null":
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}

// Scalar returns the text of a single value as it is written: 0777 and no stay
// what they are. Nothing, and what is not a single value, is empty.
func Scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// Prose returns a value as the author meant it to be read: "CRITICAL: do this" is
// a map to YAML and a sentence to everybody else.
func Prose(n *yaml.Node) string {
	if n == nil || n.Kind == yaml.ScalarNode {
		return Scalar(n)
	}
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[1].Kind == yaml.ScalarNode {
		return strings.TrimSpace(Scalar(n.Content[0]) + ": " + Scalar(n.Content[1]))
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Lines returns a list of texts, or the single text that stands for it.
func Lines(n *yaml.Node) []string {
	var list []string
	for _, item := range Items(n) {
		if text := Prose(item); text != "" {
			list = append(list, text)
		}
	}
	return list
}
