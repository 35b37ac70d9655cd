package pipeline

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoted reads a string up to the first quote after which isEnd finds what may follow
// a string here. All other quotes are part of it.
func (m *mender) quoted(quote rune, isEnd func(text []byte, i int) bool) outcome {
	start, startOut := m.pos, len(m.out)
	m.pos += utf8.RuneLen(quote)
	m.out = append(m.out, '"')
	comma, commaOut := -1, 0 // the last comma that only space follows so far
	for m.pos < len(m.in) {
		r, size := utf8.DecodeRune(m.in[m.pos:])
		switch {
		case closes(quote, r) && isEnd(m.in, m.pos+size):
			m.pos += size
			m.out = append(m.out, '"')
			return whole
		case closes(quote, r) && comma >= 0 && isName(m.in, m.pos): // it was not closed before the comma
			m.pos, m.out = comma, append(m.out[:commaOut], '"')
			return whole
		case r == ',':
			comma, commaOut = m.pos, len(m.out)
		case !unicode.IsSpace(r):
			comma = -1
		}
		if !m.character(r, size) {
			return broken
		}
	}
	if end := m.closersAtEnd(); end > start && end < len(m.in) && !m.isTrimmed { // it was not closed before them
		text := m.in
		m.in, m.pos, m.out, m.isTrimmed = text[:end], start, m.out[:startOut], true
		result := m.quoted(quote, isEnd)
		m.in = text
		return result
	}
	m.isCut = true
	m.out = append(m.out, '"')
	return whole
}

// closersAtEnd returns where the brackets begin that close, at the end of the text,
// all that is open; the end where those are not there.
func (m *mender) closersAtEnd() int {
	end := len(m.in)
	for _, closer := range m.open {
		for end > 0 && unicode.IsSpace(rune(m.in[end-1])) {
			end--
		}
		if end == 0 || m.in[end-1] != closer {
			return len(m.in)
		}
		end--
	}
	return end
}

// character reads one character of a string. It returns false for an escape that
// means nothing.
func (m *mender) character(r rune, size int) bool {
	switch {
	case r == '\\':
		return m.escape()
	case r == '"':
		m.out = append(m.out, `\"`...)
	case r < ' ' || r == utf8.RuneError:
		data, _ := json.Marshal(string(r)) // of a string it cannot fail
		m.out = append(m.out, data[1:len(data)-1]...)
	default:
		m.out = append(m.out, m.in[m.pos:m.pos+size]...)
	}
	m.pos += size
	return true
}

// escape reads a backslash and what belongs to it. One that begins no escape of JSON
// stands for itself.
func (m *mender) escape() bool {
	rest := m.in[m.pos+1:]
	switch {
	case len(rest) == 0 || rest[0] == 'u' && len(rest) < len("u0000"): // it breaks off
		m.pos = len(m.in)
	case rest[0] == 'u':
		if !json.Valid(slices.Concat([]byte(`"\`), rest[:5], []byte(`"`))) {
			return false
		}
		m.out = append(append(m.out, '\\'), rest[:5]...)
		m.pos += len(`\u0000`)
	case strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0:
		m.out = append(m.out, '\\', rest[0])
		m.pos += 2
	case rest[0] == '\'':
		m.out = append(m.out, '\'')
		m.pos += 2
	default:
		m.out = append(m.out, `\\`...)
		m.pos++
	}
	return true
}
