package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// without takes a key away. Its lines go, or in braces its part of the line, and all else stays
// as it is. Where the text does not come out right, the tree is written anew, with its comments.
func without(src []byte, document, parent *yaml.Node, key string) ([]byte, error) {
	at := 0
	for at < len(parent.Content) && parent.Content[at].Value != key {
		at += 2
	}
	if at >= len(parent.Content) {
		return src, nil
	}
	text := withoutLines(string(src), parent.Content[at], len(parent.Content) == 2)
	if parent.Style&yaml.FlowStyle != 0 {
		text = withoutEntry(string(src), parent.Content[at])
	}
	parent.Content = slices.Delete(parent.Content, at, at+2)
	return textOf(document, text)
}

// withoutItem takes a value out of the list at a path, as without does with a key. A list that
// holds nothing else goes with it.
func withoutItem(src []byte, path []string, value string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(src, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return src, nil
	}
	list := at(document.Content[0], path...)
	if list == nil || list.Kind != yaml.SequenceNode {
		return src, nil
	}
	i := slices.IndexFunc(list.Content, func(n *yaml.Node) bool { return n.Value == value })
	switch {
	case i < 0:
		return src, nil
	case len(list.Content) == 1:
		return set(src, path, "")
	}
	text := withoutEntry(string(src), list.Content[i])
	if list.Style&yaml.FlowStyle == 0 {
		lines := strings.SplitAfter(string(src), "\n")
		text = strings.Join(slices.Delete(lines, list.Content[i].Line-1, list.Content[i].Line), "")
	}
	list.Content = slices.Delete(list.Content, i, i+1)
	changed, err := textOf(&document, text)
	if err != nil {
		return nil, err
	}
	return withoutItem(changed, path, value) // who writes by hand may name it twice
}

// withoutLines is a text without the lines of a key and its value, if they have lines of
// their own: what comes of it is to be checked. A mapping that holds nothing else stays as
// an empty one.
func withoutLines(src string, key *yaml.Node, isOnly bool) string {
	lines := strings.SplitAfter(src, "\n")
	first := key.Line - 1
	end := first + 1
	for end < len(lines) && (isAside(lines[end]) || indentOf(lines[end]) >= key.Column || strings.HasPrefix(strings.TrimLeft(lines[end], " "), "- ")) {
		end++
	}
	// Blank lines at the end, and comments that stand as far out as the key, are about what follows.
	for isAside(lines[end-1]) && (strings.TrimSpace(lines[end-1]) == "" || indentOf(lines[end-1]) < key.Column) {
		end--
	}
	lines = slices.Delete(lines, first, end)
	for above := first - 1; isOnly && above >= 0; above-- {
		if !isAside(lines[above]) {
			lines[above] = strings.Replace(lines[above], ":", ": {}", 1)
			break
		}
	}
	return strings.Join(lines, "")
}

// withoutEntry is a text without a key and its value, which stand in braces: what comes of it
// is to be checked.
func withoutEntry(src string, key *yaml.Node) string {
	lines := strings.SplitAfter(src, "\n")
	first := len(strings.Join(lines[:key.Line-1], "")) + key.Column - 1
	end, depth, quote := first, 0, byte(0)
	for ; end < len(src); end++ {
		c := src[end]
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				end++
			} else if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.ContainsRune(" {[,:", rune(src[max(end, 1)-1])):
			quote = c
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && c == ',': // and what follows moves up
			for end++; end < len(src) && src[end] == ' '; end++ {
			}
			return src[:first] + src[end:]
		case depth == 0 && (c == '}' || c == ']'): // the last one, with the comma before it
			before := strings.TrimRight(src[:first], " ")
			return strings.TrimSuffix(before, ",") + src[end:]
		}
	}
	return src
}

// isAside reports whether a line is blank or a comment.
func isAside(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || strings.HasPrefix(text, "#")
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// Mentions says how often keys and values of the troupe.yaml of dir have a word in them, below
// the key at the end of a path. Comments do not count.
func Mentions(dir, word string, path ...string) (n int, err error) {
	src, err := os.ReadFile(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var document yaml.Node
	if err == nil {
		err = yaml.Unmarshal(src, &document)
	}
	if err != nil || len(document.Content) == 0 {
		return 0, err
	}
	below := at(document.Content[0], path...)
	if below == nil {
		return 0, nil
	}
	whole := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(word) + `($|\W)`)
	var count func(*yaml.Node)
	count = func(node *yaml.Node) {
		n += len(whole.FindAllString(node.Value, -1))
		for _, c := range node.Content {
			count(c)
		}
	}
	count(below)
	return n, nil
}
