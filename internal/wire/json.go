package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// AppendString adds text as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, text string) []byte {
	return append(AppendEscaped(append(dst, '"'), text), '"')
}

// AppendEscaped adds what stands between the quotes of a JSON string.
func AppendEscaped(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	plain := 0 // text[plain:i] needs no escape
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, text[plain:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, text[plain:i]...)
			dst = utf8.AppendRune(dst, utf8.RuneError)
			plain = i + 1
		}
		i += size
	}
	return append(dst, text[plain:]...)
}

// Fields are members of a JSON object, each with a comma behind it. Data is what
// has been added so far, and Err the first failure.
type Fields struct {
	Data []byte
	Err  error
	// Package begins the error, and Except has the members that are not added.
	Package string
	Except  map[string]any
}

// Add adds a member.
func (f *Fields) Add(name string, value any) {
	if _, ok := f.Except[name]; ok || f.Err != nil {
		return
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		f.Err = fmt.Errorf("%s: parameter %s: %w", f.Package, name, err)
		return
	}
	f.Data = append(AppendString(f.Data, name), ':')
	f.Data = append(append(f.Data, encoded...), ',')
}

// IsSet reports whether a member of an object is there and says something: it is
// neither missing nor null nor an empty string.
func IsSet(value json.RawMessage) bool {
	return len(value) > 0 && string(value) != "null" && string(value) != `""`
}

// A body reads pieces one after the other.
type body struct {
	parts [][]byte
	read  int // of parts[0]
}

// Read copies as many pieces as fit.
func (b *body) Read(p []byte) (n int, err error) {
	for len(b.parts) > 0 {
		c := copy(p[n:], b.parts[0][b.read:])
		n += c
		b.read += c
		if b.read < len(b.parts[0]) {
			return n, nil
		}
		b.parts, b.read = b.parts[1:], 0
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close does nothing: the pieces belong to the messages.
func (b *body) Close() error { return nil }

func size(parts [][]byte) (n int64) {
	for _, part := range parts {
		n += int64(len(part))
	}
	return n
}
