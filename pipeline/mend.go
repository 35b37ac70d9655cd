package pipeline

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A mender reads an object whose syntax is broken the ways models break it, and
// writes it as JSON: comments, missing and spare commas, missing brackets, names and
// words without quotes, other quotes, and quotes and line breaks that should have
// been escaped. It reads every byte a bounded number of times and leaves nothing out
// but comments and what breaks off before it has a value; what it cannot make sense
// of it refuses.
type mender struct {
	in    []byte
	pos   int
	out   []byte
	open  []byte // what closes the objects and arrays around pos
	isCut bool   // the text ended too early, or left something out
	// isTrimmed says that a string without its closing quote was ended before the last
	// brackets of the text.
	isTrimmed bool
}

// An outcome says what came of reading a part.
type outcome int

const (
	whole  outcome = iota
	ended          // the text ends before there is anything to keep
	broken         // it makes no sense
)

// mend returns the object that begins at the start of the text as JSON, where it ends
// in the text, and whether part of it is missing.
func mend(text []byte) (value []byte, end int, isCut, ok bool) {
	m := mender{in: text}
	result := m.container()
	return m.out, m.pos, m.isCut, result == whole
}

// next passes over space and comments and returns the byte that follows, 0 at the
// end. A code block that ends there ends the text.
func (m *mender) next() byte {
	m.pos = blankEnd(m.in, m.pos)
	if bytes.HasPrefix(m.in[m.pos:], []byte("```")) {
		m.in = m.in[:m.pos]
	}
	if m.pos == len(m.in) {
		return 0
	}
	return m.in[m.pos]
}

// blankEnd returns where space and comments end that begin at i.
func blankEnd(text []byte, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		rest := text[i:]
		switch {
		case unicode.IsSpace(r) || r == '\ufeff':
			i += size
		case bytes.HasPrefix(rest, []byte("/*")):
			length := bytes.Index(rest, []byte("*/"))
			if length < 0 {
				return len(text)
			}
			i += length + len("*/")
		case bytes.HasPrefix(rest, []byte("//")) || r == '#':
			length := bytes.IndexByte(rest, '\n')
			if length < 0 {
				return len(text)
			}
			i += length
		default:
			return i
		}
	}
	return i
}

// container reads the object or array that begins here.
func (m *mender) container() outcome {
	isObject, closer := m.in[m.pos] == '{', byte(']')
	if isObject {
		closer = '}'
	}
	if len(m.open) == maxDepth {
		return broken
	}
	m.open = append(m.open, closer)
	m.out = append(m.out, m.in[m.pos])
	m.pos++
	for isFirst := true; ; {
		switch c := m.next(); {
		case c == ',':
			m.pos++
			continue
		case bytes.HasPrefix(m.in[m.pos:], []byte("...")) || bytes.HasPrefix(m.in[m.pos:], []byte("…")):
			m.pos += len("...") // as many bytes as the other has
			m.isCut = true
			continue
		case c == closer || (c == '}' || c == ']') && len(m.open) == 1:
			m.pos++
			return m.close()
		case c == '}' || c == ']': // that of what is around this
			return m.close()
		case c == 0:
			m.isCut = true
			return m.close()
		}
		before := len(m.out)
		if !isFirst {
			m.out = append(m.out, ',')
		}
		result := whole
		if isObject {
			result = m.name()
		}
		if result == whole {
			result = m.value(isObject)
		}
		switch result {
		case broken:
			return broken
		case ended:
			m.isCut = true
			m.out = m.out[:before]
		}
		isFirst = isFirst && result != whole
	}
}

func (m *mender) close() outcome {
	last := len(m.open) - 1
	m.out = append(m.out, m.open[last])
	m.open = m.open[:last]
	return whole
}

// name reads the name of a field and its colon.
func (m *mender) name() outcome {
	start := m.pos
	if quote := quoteAt(m.in, m.pos); quote != 0 {
		if m.quoted(quote, isNameEnd) != whole {
			return broken
		}
	} else {
		for m.pos < len(m.in) && isWordByte(m.in[m.pos]) {
			m.pos++
		}
		if start == m.pos {
			return broken
		}
		m.write(string(m.in[start:m.pos]))
	}
	c := m.next()
	m.out = append(m.out, ':')
	switch {
	case c == ':':
		m.pos++
		return whole
	case c == 0 && !bytes.ContainsAny(m.in[start+1:m.pos], ",:{}[]\""):
		return ended
	case c == '{' || c == '[' || c != 0 && quoteAt(m.in, m.pos) != 0:
		return whole
	}
	return broken
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c == '$' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// value reads a value in an object or array.
func (m *mender) value(inObject bool) outcome {
	switch c := m.next(); {
	case c == 0:
		return ended
	case c == '{' || c == '[':
		return m.container()
	case inObject && (c == ',' || c == '}'):
		m.out = append(m.out, "null"...)
		return whole
	}
	if quote := quoteAt(m.in, m.pos); quote != 0 && inObject {
		return m.quoted(quote, isFieldEnd)
	} else if quote != 0 {
		return m.quoted(quote, isElementEnd)
	}
	return m.word()
}

// word reads a number, a keyword or a text without quotes.
func (m *mender) word() outcome {
	start := m.pos
	m.pos = wordEnd(m.in, start)
	text := strings.TrimSpace(string(m.in[start:m.pos]))
	if m.pos < len(m.in) && m.in[m.pos] == '"' && !isName(m.in, m.pos) { // only the quote that opens it is missing
		m.pos++
	}
	m.isCut = m.isCut || m.pos == len(m.in)
	number := strings.TrimRight(text, ".eE+-") // it may break off in a number
	switch keyword := strings.ToLower(text); {
	case text == "" || strings.ContainsAny(text, "{[(`"):
		return broken
	case keyword == "true" || keyword == "false" || keyword == "null":
		m.out = append(m.out, keyword...)
	case keyword == "none" || keyword == "undefined":
		m.out = append(m.out, "null"...)
	case json.Valid([]byte(text)):
		m.out = append(m.out, text...)
	case json.Valid([]byte(number)):
		m.out = append(m.out, number...)
	default:
		m.write(text)
	}
	return whole
}

// wordEnd returns where a text without quotes ends that begins at i.
func wordEnd(text []byte, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case ',', ']', '}', '\r', '\n', '"':
			return i
		case '/': // a comment, unless it is the address of a page
			if i+1 < len(text) && (text[i+1] == '*' || text[i+1] == '/' && text[i-1] != ':') {
				return i
			}
		}
	}
	return i
}

// write adds a text as a JSON string.
func (m *mender) write(text string) {
	data, _ := json.Marshal(text) // of a string it cannot fail
	m.out = append(m.out, data...)
}
