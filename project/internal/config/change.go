package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// AddChecks puts checks under pipeline.checks in the troupe.yaml of dir, which has
// none. What else is in the file stays as it is, comments included.
func AddChecks(dir string, checks []Check, lookup func(string) (string, bool)) error {
	return holding(dir, lookup, Name, func(h *Held) error { return h.addChecks(checks) })
}

func (h *Held) addChecks(checks []Check) error {
	var b strings.Builder
	for i, c := range checks {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{name: %s, run: %q}", scalar(c.Name), c.Run)
	}
	return h.change(func(src []byte) ([]byte, error) {
		const mark = "checks-to-be-put-here"
		changed, err := set(src, []string{"pipeline", "checks"}, mark)
		return bytes.Replace(changed, []byte(mark), []byte("["+b.String()+"]"), 1), err
	})
}

// Change sets values in the troupe.yaml of dir by their keys, as in limits.cost. An
// empty value takes the key away. What else is in the file stays as it is, comments
// included. A file that would not be valid any more is not written. Of several who
// change it at the same time, none undoes what another has done.
func Change(dir string, values map[string]string, lookup func(string) (string, bool)) error {
	return holding(dir, lookup, Name, func(h *Held) error { return h.Change(values) })
}

// Change is the function of that name.
func (h *Held) Change(values map[string]string) error {
	return h.change(func(changed []byte) (_ []byte, err error) {
		keys := make([]string, 0, len(values))
		for key := range values {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if changed, err = set(changed, strings.Split(key, "."), values[key]); err != nil {
				return nil, fmt.Errorf("set %s: %w", key, err)
			}
		}
		return changed, nil
	})
}

// Remove takes the key at the end of a path away, as Change does with an empty value. A key
// that is not there is no error.
func Remove(dir string, path []string, lookup func(string) (string, bool)) error {
	return holding(dir, lookup, Name, func(h *Held) error { return h.Remove(path) })
}

// Remove is the function of that name.
func (h *Held) Remove(path []string) error {
	return h.change(func(src []byte) ([]byte, error) {
		changed, err := set(src, path, "")
		if err != nil {
			return nil, fmt.Errorf("remove %s: %w", strings.Join(path, "."), err)
		}
		return changed, nil
	})
}

// RemoveUser takes somebody out of server.users and server.operators.
func (h *Held) RemoveUser(name string) error {
	return h.change(func(src []byte) ([]byte, error) {
		changed, err := set(src, []string{"server", "users", name}, "")
		if err == nil {
			changed, err = withoutItem(changed, []string{"server", "operators"}, name)
		}
		if err != nil {
			return nil, fmt.Errorf("remove user %s: %w", name, err)
		}
		return changed, nil
	})
}

// ErrWrongBefore is in the error of a change of a file that is not valid as it is.
var ErrWrongBefore = errors.New(Name + " is wrong as it is, and must be corrected first")

// change writes what edit makes of the file, if that is valid.
func (h *Held) change(edit func([]byte) ([]byte, error)) error {
	name := filepath.Join(h.dir, Name)
	src, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read configuration: %w", err)
	}
	changed, err := edit(src)
	if err == nil && bytes.Equal(changed, src) {
		return nil
	}
	if err == nil {
		_, err = Parse(name, changed, h.lookup)
	}
	if err != nil {
		if _, before := Parse(name, src, h.lookup); before != nil {
			return fmt.Errorf("%w: %w", ErrWrongBefore, before)
		}
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temporary := name + ".new"
	if err := os.WriteFile(temporary, changed, mode); err != nil {
		return unwritten(Name, err)
	}
	if err := os.Rename(temporary, name); err != nil {
		return unwritten(Name, errors.Join(err, os.Remove(temporary)))
	}
	return nil
}

// set changes one value in a text, at its place: all else stays as it is written. Where the
// text does not come out right, as where a value has lines of its own in braces, the tree is
// written anew, with its comments.
func set(src []byte, path []string, value string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(src, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		if value == "" {
			return src, nil
		}
		return append(slices.Clone(src), nested(path, value)...), nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("the file is not a mapping")
	}
	parent, found := root, (*yaml.Node)(nil)
	for i, key := range path {
		if found = child(parent, key); found == nil {
			if value == "" {
				return src, nil
			}
			return added(src, &document, root, parent, path[i:], value)
		}
		if i < len(path)-1 {
			parent = found
		}
	}
	if value == "" {
		return without(src, &document, parent, path[len(path)-1])
	}
	if found.Kind != yaml.ScalarNode || found.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return nil, errors.New("there is more than a value")
	}
	return replaced(src, &document, found, value)
}

func child(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// plainScalar is what needs no quotes: words, and numbers, which would be text with them.
var plainScalar = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_./:@-]*|-?([0-9]+(\.[0-9]*)?|\.[0-9]+))$`)

// scalar writes a value as YAML does.
func scalar(value string) string {
	if plainScalar.MatchString(value) && !strings.HasSuffix(value, ":") {
		return value
	}
	data, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%q", value)
	}
	return strings.TrimSuffix(string(data), "\n")
}

// nested writes a value under its keys, one on each line.
func nested(path []string, value string) string {
	var b strings.Builder
	for i, key := range path {
		fmt.Fprintf(&b, "%s%s:", strings.Repeat("  ", i), scalar(key))
		if i == len(path)-1 {
			b.WriteString(" " + scalar(value))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// isSpaced says whether the last key of a file has a blank line before it, and before the
// comment above it: then the next one has one, too.
func isSpaced(text string, root *yaml.Node) bool {
	if len(root.Content) < 4 { // there is nothing before the only one
		return false
	}
	lines := strings.Split(text, "\n")
	above := root.Content[len(root.Content)-2].Line - 2
	for above >= 0 && strings.HasPrefix(lines[above], "#") {
		above--
	}
	return above >= 0 && strings.TrimSpace(lines[above]) == ""
}

// added puts a value under a mapping that has no such key.
func added(src []byte, document, root, parent *yaml.Node, path []string, value string) ([]byte, error) {
	if parent == root && root.Style&yaml.FlowStyle == 0 {
		text := string(src)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if isSpaced(text, root) && !strings.HasSuffix(text, "\n\n") {
			text += "\n"
		}
		return []byte(text + nested(path, value)), nil
	}
	if parent.Kind == yaml.MappingNode && parent.Style&yaml.FlowStyle == 0 && len(parent.Content) > 0 {
		first := parent.Content[0]
		lines := strings.SplitAfter(string(src), "\n")
		var block strings.Builder
		for line := range strings.Lines(nested(path, value)) {
			block.WriteString(strings.Repeat(" ", first.Column-1) + line)
		}
		at := first.Line - 1
		for at > 0 && strings.HasPrefix(strings.TrimSpace(lines[at-1]), "#") {
			at-- // what is written above an entry stays with it
		}
		return []byte(strings.Join(slices.Insert(lines, at, block.String()), "")), nil
	}
	if parent.Kind != yaml.MappingNode && parent.Tag != "!!null" {
		return nil, errors.New("there is no mapping to put it into")
	}
	text := addedText(string(src), root, parent, path, value)
	var tree yaml.Node
	if err := yaml.Unmarshal([]byte(nested(path, value)), &tree); err != nil {
		return nil, err
	}
	if parent.Kind != yaml.MappingNode {
		*parent = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	parent.Content = append(parent.Content, tree.Content[0].Content...)
	return textOf(document, text)
}
