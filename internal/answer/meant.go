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
// have for it, and an object may be encoded as the text of a JSON string.
func Meant(arguments []byte, check Checker) ([]byte, bool) {
	r := &reader{check: check}
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
