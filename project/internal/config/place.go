package config

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// textOf is a changed text, if it says what the changed tree does. Otherwise the tree is written
// anew: comments stay, blank lines and how things are aligned do not.
func textOf(document *yaml.Node, text string) ([]byte, error) {
	var got, want any
	if text != "" && document.Decode(&want) == nil && yaml.Unmarshal([]byte(text), &got) == nil && reflect.DeepEqual(got, want) {
		return []byte(text), nil
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// offsetOf is where a node begins in the text that it was read from.
func offsetOf(src string, node *yaml.Node) int {
	lines := strings.SplitAfter(src, "\n")
	offset := len(strings.Join(lines[:node.Line-1], ""))
	characters := 1
	for i := range lines[node.Line-1] { // columns count characters
		if characters == node.Column {
			return offset + i
		}
		characters++
	}
	return offset + len(lines[node.Line-1])
}

// replaced puts a value where another stands.
func replaced(src []byte, document, node *yaml.Node, value string) ([]byte, error) {
	text, start := string(src), offsetOf(string(src), node)
	before := node.Value
	switch {
	case node.Style&yaml.DoubleQuotedStyle != 0:
		before = `"` + node.Value + `"`
	case node.Style&yaml.SingleQuotedStyle != 0:
		before = "'" + strings.ReplaceAll(node.Value, "'", "''") + "'"
	}
	if after, ok := strings.CutPrefix(text[start:], before); ok {
		text = text[:start] + inLine(value) + after
	} else {
		text = ""
	}
	node.Value, node.Style, node.Tag = value, 0, ""
	var read yaml.Node // as what it is read again: true is no string
	if err := yaml.Unmarshal([]byte(inLine(value)), &read); err == nil && len(read.Content) == 1 {
		node.Tag, node.Style = read.Content[0].Tag, read.Content[0].Style
	}
	return textOf(document, text)
}

// inLine writes a value so that it can stand anywhere in a line, in braces, too.
func inLine(value string) string {
	if text := scalar(value); !strings.ContainsAny(text, ",[]{}\n") || strings.HasPrefix(text, "'") || strings.HasPrefix(text, `"`) {
		return text
	}
	return strconv.Quote(value)
}

// addedText is a text with a value under a mapping that is in braces, or under a key that has
// nothing yet: what comes of it is to be checked. It is empty where there is no such place.
func addedText(src string, root, parent *yaml.Node, path []string, value string) string {
	if parent.Kind == yaml.MappingNode {
		at := offsetOf(src, parent)
		if !strings.HasPrefix(src[at:], "{") {
			return ""
		}
		entry := inLine(value)
		for i := len(path) - 1; i >= 0; i-- {
			if entry = inLine(path[i]) + ": " + entry; i > 0 {
				entry = "{" + entry + "}"
			}
		}
		if len(parent.Content) > 0 {
			entry += ", "
		}
		return src[:at+1] + entry + src[at+1:]
	}
	key := keyOf(root, parent)
	if key == nil {
		return ""
	}
	lines := strings.SplitAfter(src, "\n")
	if last := &lines[key.Line-1]; !strings.HasSuffix(*last, "\n") {
		*last += "\n"
	}
	var block strings.Builder
	for line := range strings.Lines(nested(path, value)) {
		block.WriteString(strings.Repeat(" ", key.Column+1) + line)
	}
	return strings.Join(slices.Insert(lines, key.Line, block.String()), "")
}

// keyOf is the key that has a value, in a mapping or in what is nested in it.
func keyOf(mapping, value *yaml.Node) *yaml.Node {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i+1] == value {
			return mapping.Content[i]
		}
		if key := keyOf(mapping.Content[i+1], value); key != nil {
			return key
		}
	}
	return nil
}
