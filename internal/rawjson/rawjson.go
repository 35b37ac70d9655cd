// Package rawjson walks over JSON as it is written, without decoding it.
package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how many objects and arrays may be within each other, as package
// argcheck has it. It also bounds how often any part of a text is read again.
const MaxDepth = 64

// End returns the position after the JSON value that begins at i. Where there is none,
// it returns the position of the part that breaks it.
// It looks into strings only for line breaks and tabs; argcheck does for the rest.
func End(text []byte, i int) (end int, ok bool) { return valueEnd(text, i, 0) }

// valueEnd returns the position after the JSON value that begins at i. Where there is
// none, it returns the position of the part that breaks it: a string that does not
// close, or that something follows which must not, counts as such a part.
// It looks into strings only for line breaks and tabs; argcheck does for the rest.
func valueEnd(text []byte, i, depth int) (end int, ok bool) {
	if i >= len(text) {
		return i, false
	}
	switch c := text[i]; c {
	case '{', '[':
		if depth == MaxDepth {
			return i, false
		}
		return containerEnd(text, i, depth+1)
	case '"':
		return stringEnd(text, i)
	}
	for end = i; end < len(text) && strings.IndexByte("+-.eE0123456789truefalsn", text[end]) >= 0; end++ {
	}
	if end-i > maxScalar || !json.Valid(text[i:end]) {
		return i, false
	}
	return end, true
}

// maxScalar is more than any number or word has that argcheck takes.
const maxScalar = 512

func containerEnd(text []byte, i, depth int) (end int, ok bool) {
	isObject, closer := text[i] == '{', byte(']')
	if isObject {
		closer = '}'
	}
	if i = SkipSpace(text, i+1); i < len(text) && text[i] == closer {
		return i + 1, true
	}
	for {
		if isObject {
			if i, ok = NameEnd(text, i); !ok {
				return i, false
			}
		}
		value := i
		if i, ok = valueEnd(text, i, depth); !ok {
			return i, false
		}
		i = SkipSpace(text, i)
		switch {
		case i < len(text) && text[i] == closer:
			return i + 1, true
		case i < len(text) && text[i] == ',':
			i = SkipSpace(text, i+1)
		case i < len(text) && text[value] == '"':
			return value, false
		default:
			return i, false
		}
	}
}

// NameEnd returns where the value begins whose name begins at i.
func NameEnd(text []byte, i int) (end int, ok bool) {
	colon, ok := stringEnd(text, i)
	if colon = SkipSpace(text, colon); !ok || colon >= len(text) || text[colon] != ':' {
		return i, false
	}
	return SkipSpace(text, colon+1), true
}

// stringEnd returns the position after the string that begins at i, or i.
func stringEnd(text []byte, i int) (end int, ok bool) {
	if i >= len(text) || text[i] != '"' {
		return i, false
	}
	for end = i + 1; ; {
		length := bytes.IndexByte(text[end:], '"')
		if length < 0 {
			return i, false
		}
		end += length + 1
		escapes := end - 1
		for text[escapes-1] == '\\' {
			escapes--
		}
		if (end-1-escapes)%2 == 0 {
			break
		}
	}
	if inside := text[i:end]; bytes.IndexByte(inside, '\n') >= 0 || bytes.IndexByte(inside, '\t') >= 0 {
		return i, false
	}
	return end, true
}

// SkipSpace returns the position of what comes next at or after i.
func SkipSpace(text []byte, i int) int {
	for i < len(text) && text[i] <= ' ' && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// A Field is a name and a value of an object, the value as it is written.
type Field struct {
	Name  string
	Value []byte
}

// Fields returns the fields of an object, which must be sound; of anything else, none.
func Fields(text []byte) (fields Object) {
	i := SkipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil
	}
	for i = SkipSpace(text, i+1); i < len(text) && text[i] == '"'; i = SkipSpace(text, i+1) {
		name, _ := stringEnd(text, i)
		value, _ := NameEnd(text, i)
		end, ok := valueEnd(text, value, 1)
		if !ok {
			break
		}
		fields = append(fields, Field{Unquote(text[i:name]), text[value:end]})
		i = SkipSpace(text, end)
	}
	return fields
}

// Elements returns the values in an array, which must be sound; of anything else, none.
func Elements(array []byte) (elements [][]byte) {
	i := SkipSpace(array, 0)
	if i >= len(array) || array[i] != '[' {
		return nil
	}
	for i = SkipSpace(array, i+1); i < len(array) && array[i] != ']'; i = SkipSpace(array, i+1) {
		end, ok := valueEnd(array, i, 1)
		if !ok {
			break
		}
		elements = append(elements, array[i:end])
		i = SkipSpace(array, end)
	}
	return elements
}

// Unquote returns the meaning of a sound JSON string. Unlike encoding/json it does not
// check the string again.
func Unquote(quoted []byte) string {
	rest := quoted[1 : len(quoted)-1]
	var text strings.Builder
	text.Grow(len(rest))
	for {
		length := bytes.IndexByte(rest, '\\')
		if length < 0 {
			text.Write(rest)
			return text.String()
		}
		text.Write(rest[:length])
		rest = rest[length:]
		if plain := strings.IndexByte(`"\/bfnrt`, rest[1]); plain >= 0 {
			text.WriteByte("\"\\/\b\f\n\r\t"[plain])
			rest = rest[2:]
			continue
		}
		r, size := escapedRune(rest)
		text.WriteRune(r)
		rest = rest[size:]
	}
}

// escapedRune returns what \u0000 or a pair of such stands for, and its length.
func escapedRune(text []byte) (r rune, size int) {
	const length = len(`\u0000`)
	high, _ := strconv.ParseUint(string(text[2:length]), 16, 16)
	if pair := text[length:]; utf16.IsSurrogate(rune(high)) && len(pair) >= length && pair[0] == '\\' && pair[1] == 'u' {
		low, _ := strconv.ParseUint(string(pair[2:length]), 16, 16)
		if r = utf16.DecodeRune(rune(high), rune(low)); r != utf8.RuneError {
			return r, 2 * length
		}
	}
	return rune(high), length // half a pair is written as U+FFFD
}

// An Object is the fields of a sound JSON object.
type Object []Field

// At returns the value at a JSON pointer, nil where none is. Names in the pointer hold
// neither ~ nor /, and of an array only the first element is asked for.
func (o Object) At(pointer string) (value []byte) {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if value != nil {
			o = Fields(value)
		}
		elements := Elements(value)
		value = nil
		for _, f := range o {
			if f.Name == step {
				value = f.Value
			}
		}
		if step == "0" && len(elements) > 0 {
			value = elements[0]
		}
		if value == nil {
			return nil
		}
	}
	return value
}
