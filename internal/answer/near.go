package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
)

// maxRounds is how often a value is checked for what is nearly right. A check tells of
// ten problems at most.
const maxRounds = 6

// nearly takes a value in which each problem has one remedy that leaves its meaning
// alone.
func (r *reader) nearly(value []byte) ([]byte, []Problem, bool) {
	var warnings []Problem
	for range maxRounds {
		r.work += len(value)
		err := r.check.Check(value)
		if err == nil {
			return value, warnings, true
		}
		mismatch, ok := errors.AsType[*argcheck.Mismatch](err)
		if !ok {
			return nil, nil, false
		}
		if shorter, nulls := withoutNulls(value, mismatch); nulls != nil {
			value, warnings = shorter, append(warnings, nulls...)
			continue
		}
		var edits []edit
		for _, p := range mismatch.Problems {
			e, ok := remedy(value, p)
			if !ok {
				return nil, nil, false
			}
			edits = append(edits, e)
			message := fmt.Sprintf("%s was taken for %s", value[e.from:e.to], e.text)
			if e.text == "" {
				message = "given twice, with the same value"
			}
			warnings = append(warnings, Problem{Pointer: p.Path, Message: message})
		}
		value = apply(value, edits)
	}
	return nil, nil, false
}

// An edit replaces a part of a text, or removes it.
type edit struct {
	from, to int
	text     string
}

func apply(value []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out []byte
	end := 0
	for _, e := range edits {
		if e.from < end { // it is the same, or within a part that was removed
			continue
		}
		out = append(append(out, value[end:e.from]...), e.text...)
		end = e.to
	}
	return append(out, value[end:]...)
}

// remedy returns the only other way to write the value at the problem that has the
// same meaning, if there is one.
func remedy(value []byte, p argcheck.Problem) (edit, bool) {
	if p.IsRepeated {
		return withoutRepeated(value, p.Path)
	}
	from, to, ok := locate(value, p.Path)
	if !ok || p.Path == "" || p.IsMissing || p.Got == "" {
		return edit{}, false
	}
	raw := value[from:to]
	if raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return edit{}, false
	}
	if raw[0] != '"' { // a number or boolean where a string is wanted
		return edit{from, to, strconv.Quote(string(raw))}, strings.HasPrefix(p.Expected, "string")
	}
	text := strings.TrimSpace(rawjson.Unquote(raw))
	if p.Options != "" {
		option, ok := sameBut(text, p.Options)
		return edit{from, to, option}, ok
	}
	wants := func(kind string) bool { return slices.Contains(strings.Split(p.Expected, " or "), kind) }
	switch word := strings.ToLower(text); {
	case wants("boolean") && (word == "true" || word == "false"):
		return edit{from, to, word}, true
	case (wants("number") || wants("integer")) && isNumber(text):
		return edit{from, to, text}, true
	case text != "" && (wants("array") && text[0] == '[' || wants("object") && text[0] == '{') && json.Valid([]byte(text)):
		return edit{from, to, text}, true // what is to be there was encoded twice
	}
	return edit{}, false
}

// withoutRepeated takes away a field that the same object has before, if its value is the
// same there.
func withoutRepeated(value []byte, pointer string) (edit, bool) {
	object, name := parentOf(pointer)
	from, to, ok := locate(value, object)
	if !ok {
		return edit{}, false
	}
	var first []byte
	end := 0 // of the field before
	for _, f := range rawjson.Fields(value[from:to]) {
		start := cap(value) - cap(f.Value) // it is within value
		switch {
		case f.Name != name:
		case first == nil:
			first = f.Value
		default:
			return edit{end, start + len(f.Value), ""}, isSame(first, f.Value)
		}
		end = start + len(f.Value)
	}
	return edit{}, false
}

// parentOf returns the pointer to what a field is in, and the field's name.
func parentOf(pointer string) (parent, name string) {
	i := strings.LastIndexByte(pointer, '/')
	return pointer[:max(i, 0)], unescapeStep(pointer[i+1:])
}

// unescapeStep returns the name that a step of a JSON pointer stands for.
func unescapeStep(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
}

// sameBut returns the one option that is the text but for the case, as JSON.
func sameBut(text, options string) (option string, ok bool) {
	var all []string
	if json.Unmarshal([]byte(options), &all) != nil {
		return "", false
	}
	all = slices.DeleteFunc(all, func(o string) bool { return !strings.EqualFold(o, text) })
	if len(all) != 1 {
		return "", false
	}
	data, _ := json.Marshal(all[0]) // of a string it cannot fail
	return string(data), true
}

func isNumber(text string) bool {
	return text != "" && strings.IndexByte("-0123456789", text[0]) >= 0 && json.Valid([]byte(text))
}

// locate returns where the value at a JSON pointer is in a sound value.
func locate(value []byte, pointer string) (from, to int, ok bool) {
	part := bytes.TrimSpace(value)
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		step = unescapeStep(step)
		next := elementAt(part, step)
		for _, f := range rawjson.Fields(part) {
			if f.Name == step {
				next = f.Value
			}
		}
		if next == nil {
			return 0, 0, false
		}
		part = next
	}
	from = cap(value) - cap(part) // part is within value
	return from, from + len(part), true
}

func elementAt(array []byte, step string) []byte {
	i, err := strconv.Atoi(step)
	elements := rawjson.Elements(array)
	if err != nil || i < 0 || i >= len(elements) {
		return nil
	}
	return elements[i]
}
