package answer

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
)

// Meant returns the arguments of a call as they were meant, and reports whether they
// have one meaning only: as in [Read], a field may go by a name that other programs' tools
// have for it, an object may be encoded as the text of a JSON string, and syntax may be
// broken in a way that leaves no choice. A call acts, and so what [Read] mends because little
// else is broken is refused here, and so is an object with anything but a code block around it.
func Meant(arguments []byte, check Checker) ([]byte, bool) {
	if len(arguments) > MaxText {
		return nil, false
	}
	r := &reader{check: check}
	if !json.Valid(arguments) {
		if arguments = r.sound(arguments); arguments == nil {
			return nil, false
		}
	}
	var inside string
	if text := bytes.TrimSpace(arguments); len(text) > 0 && text[0] == '"' && json.Unmarshal(text, &inside) == nil {
		arguments = []byte(strings.TrimSpace(inside))
		if _, _, ok := r.exactly(arguments); ok {
			return arguments, true
		}
	}
	for range maxRounds { // a check tells of ten problems at most
		named, changed := renamed(arguments, check.Check(arguments))
		if !changed {
			break
		}
		arguments = named
	}
	meant, _, ok := r.nearly(arguments)
	return meant, ok
}

// sound returns an object whose syntax is broken as JSON, nil where that takes a choice.
func (r *reader) sound(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if inside := fenced(text); inside != nil {
		text = inside
	}
	text = bytes.TrimRight(text, "` \t\r\n")
	if json.Valid(text) {
		return text
	}
	if len(text) == 0 || text[0] != '{' {
		return nil
	}
	m, ok := r.mendAt(text, 0)
	if !ok || m.pos < len(text) || m.isEither || m.lacks+m.commas+m.quotes+m.words+m.lone+m.oddNames > 0 {
		return nil
	}
	return m.out
}

// withoutNulls returns a value without the fields that are null and may not be, and
// says which: null for a field that may be left out says that it is left out, and one
// that may not is then missing.
func withoutNulls(value []byte, mismatch *argcheck.Mismatch) (shorter []byte, nulls []Problem) {
	for _, p := range mismatch.Problems {
		from, to, found := locate(value, p.Path)
		if !found || string(value[from:to]) != "null" {
			continue
		}
		if e, ok := leaveOut(value, p.Path); ok {
			value = apply(value, []edit{e})
			nulls = append(nulls, Problem{Pointer: p.Path, Message: "null was taken for a field that is left out"})
		}
	}
	return value, nulls
}

// leaveOut returns the edit that takes the field at a pointer out of its object, if it
// is there once.
func leaveOut(value []byte, pointer string) (e edit, ok bool) {
	object, name := parentOf(pointer)
	from, to, found := locate(value, object)
	if !found || pointer == "" || value[from] != '{' {
		return edit{}, false
	}
	end := from + 1 // of what is before the field
	fields := rawjson.Fields(value[from:to])
	for i, f := range fields {
		stop := cap(value) - cap(f.Value) + len(f.Value) // it is within value
		switch {
		case f.Name != name:
		case ok:
			return edit{}, false
		case i == 0 && len(fields) > 1: // with the comma that follows
			e, ok = edit{end, rawjson.SkipSpace(value, stop) + 1, ""}, true
		default:
			e, ok = edit{end, stop, ""}, true
		}
		end = stop
	}
	return e, ok
}
