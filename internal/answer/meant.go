package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// Meant returns the arguments of a call as they were meant, and reports whether they
// have one meaning only: as in [Read], null for a field that may be left out says that it
// is left out, and a field may go by a name that other programs' tools have for it. An
// object may be encoded as the text of a JSON string.
func Meant(arguments []byte, check Checker) ([]byte, bool) {
	r := &reader{check: check}
	var inside string
	if text := bytes.TrimSpace(arguments); len(text) > 0 && text[0] == '"' && json.Unmarshal(text, &inside) == nil {
		arguments = []byte(strings.TrimSpace(inside))
		if _, _, ok := r.exactly(arguments); ok {
			return arguments, true
		}
	}
	value := withoutNulls(arguments, check.Check(arguments))
	for range maxRounds { // a check tells of ten problems at most
		named, changed := renamed(value, check.Check(value))
		if !changed {
			break
		}
		value = named
	}
	meant, _, ok := r.nearly(value)
	return meant, ok
}

// withoutNulls returns a value without the fields that are null and may not be.
func withoutNulls(value []byte, err error) []byte {
	mismatch, ok := errors.AsType[*argcheck.Mismatch](err)
	if !ok {
		return value
	}
	var nulls []string
	for _, p := range mismatch.Problems {
		if from, to, found := locate(value, p.Path); found && p.Path != "" && string(value[from:to]) == "null" {
			nulls = append(nulls, p.Path)
		}
	}
	if nulls == nil {
		return value
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil {
		return value
	}
	for _, pointer := range nulls {
		remove(document, strings.Split(pointer, "/")[1:])
	}
	shorter, err := json.Marshal(document)
	if err != nil {
		return value
	}
	return shorter
}

// remove deletes a field of an object, which may be within others.
func remove(document any, path []string) {
	for i, step := range path {
		object, ok := document.(map[string]any)
		if !ok {
			return
		}
		step = unescapeStep(step)
		if i == len(path)-1 {
			delete(object, step)
			return
		}
		document = object[step]
	}
}
