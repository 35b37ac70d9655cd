package answer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A stringMend is what was odd about one string.
type stringMend struct {
	start   int
	quote   rune
	inner   int   // quotes in it that could have closed it and are not escaped
	places  []int // where those are, as far as they matter
	slashes int   // backslashes that begin no escape of JSON
	escapes int   // escapes that could also be a backslash and a letter
	// Single quotes that are escaped as JavaScript has it, and others: in code such as
	// 'it\'s' the backslash has to stay.
	escapedSingle, single int
	escapedBook           int // quotes of books that are escaped
}

const (
	maybeQuote = "a quote in a string is not escaped, or missing where the string ends"
	maybeSlash = `a string has backslashes that are not escaped: each must be written as \\`
)

// A role is what a string is.
type role int

const (
	asName    role = iota // the name of a field
	asField               // its value
	asElement             // a value of an array
	asInTuple             // a value of a tuple
)

// isEnd reports whether a string may end before i.
func (r role) isEnd(text []byte, i int) bool {
	if rest := text[i:]; bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("#")) {
		return false // a comment would have a space before it
	}
	switch r {
	case asName:
		return isNameEnd(text, i)
	case asField:
		return isFieldEnd(text, i)
	case asInTuple:
		return isTupleEnd.Match(text[i:min(len(text), i+ahead)]) || isElementEnd(text, i)
	}
	return isElementEnd(text, i)
}

// quoted reads the string that begins here up to the first quote after which something
// comes that may follow a string here. All other quotes are part of it. A string that
// does not end is cut.
func (m *mender) quoted(as role) outcome {
	s := stringMend{start: m.pos, quote: quoteAt(m.in, m.pos)}
	m.pos += utf8.RuneLen(s.quote)
	m.out = append(m.out, '"')
	comma, commaOut := -1, 0 // the last comma that only space follows so far
	for m.pos < len(m.in) {
		r, size := utf8.DecodeRune(m.in[m.pos:])
		m.work += size
		if closes(s.quote, r) {
			m.work += ahead
			switch {
			case as.isEnd(m.in, m.pos+size):
				m.pos += size
				m.out = append(m.out, '"')
				return m.judgeString(s, m.pos-size, r, as)
			case as == asField && comma >= 0 && isName(m.in, m.pos): // it was not closed before the comma
				inside := bytes.TrimSpace(m.in[s.start+utf8.RuneLen(s.quote) : comma])
				if len(inside) == 0 || bytes.HasSuffix(inside, []byte(`\"`)) || bytes.ContainsAny(inside, "}]\n") { // or it was closed elsewhere
					return m.refuse(s.start, maybeQuote)
				}
				m.pos, m.out = comma, append(m.out[:commaOut], '"')
				m.lacks++
				return m.judgeString(s, m.pos, s.quote, as)
			case !m.isApostrophe(s.quote, size):
				s.inner++
				s.places = append(s.places, m.pos)
			}
		} else if r == '"' {
			s.places = append(s.places, m.pos)
		}
		if r == '\n' && as >= asElement && comma >= 0 { // two elements that have lost the quotes between them
			return m.refuse(s.start, maybeQuote)
		}
		if r == ',' {
			comma, commaOut = m.pos, len(m.out)
		} else if !unicode.IsSpace(r) {
			comma = -1
		}
		if !m.character(&s, r, size) {
			return m.refuse(m.pos, maybeSlash)
		}
	}
	m.isCut = true
	m.out = append(m.out, '"')
	return whole
}

// isApostrophe reports whether the single quote here is one, as in 'it's'.
func (m *mender) isApostrophe(quote rune, size int) bool {
	if quote == '"' || strings.ContainsRune(doubleQuotes, quote) {
		return false
	}
	before, _ := utf8.DecodeLastRune(m.in[:m.pos])
	after, _ := utf8.DecodeRune(m.in[m.pos+size:])
	return unicode.IsLetter(before) && unicode.IsLetter(after)
}

// judgeString refuses a string, whose text ends before end, that could have been meant
// otherwise.
func (m *mender) judgeString(s stringMend, end int, closing rune, as role) outcome {
	if s.escapedBook > 0 && s.slashes+s.escapes+s.escapedSingle > 0 ||
		s.slashes > 0 && (s.escapes+s.escapedSingle > 0 || s.quote != '"') || s.escapedSingle > 0 && s.single > 0 && s.quote != '\'' {
		return m.refuse(s.start, maybeSlash)
	}
	if s.quote >= utf8.RuneSelf && closing < utf8.RuneSelf {
		m.lacks++
	}
	if s.inner == 0 && len(s.places) == 0 {
		return whole
	}
	if s.inner > 0 {
		m.quotes++
	}
	text := m.in[:end]
	if s.inner == 1 && as == asField && s.quote == '"' && loneQuote.Match(text[max(s.start, s.places[0]-utf8.UTFMax):min(len(text), s.places[0]+ahead)]) {
		m.lone++
		return whole
	}
	isBetweenQuotes := s.inner > 1 && s.places[0] == s.start+1 && s.places[len(s.places)-1] == len(text)-1
	if s.inner%2 != 0 || isBetweenQuotes || slices.ContainsFunc(s.places, func(i int) bool { return isStructure(text, i, as) }) {
		return m.refuse(s.start, maybeQuote)
	}
	return whole
}

// loneQuote is the only quote in the value of a field that is not escaped, where no quote
// can begin or end anything: within a word, or after one and before the next.
var loneQuote = regexp.MustCompile(`[\pL\pN]"(?:[\pL\pN]| \pL|\))`)

// isStructure reports whether the quote at i looks like one that begins a name or an
// element, after a comma, or that ends a name or a value: a colon follows, or a comma and another value,
// or another quote, or a bracket at which the next name or value begins.
func isStructure(text []byte, i int, as role) bool {
	if before := bytes.TrimRight(text[max(0, i-ahead):i], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
		name, _, _ := bytes.Cut(text[i+1:min(len(text), i+ahead)], []byte(`"`))
		if as != asField || bytes.IndexByte(name, ':') >= 0 {
			return true
		}
	}
	if i+1 < len(text) && quoteAt(text, i+1) != 0 {
		return true
	}
	rest := follow(text, i+1)
	if len(rest) == 0 {
		return false
	}
	if plainScalar.Match(rest) {
		return true
	}
	switch rest[0] {
	case ':', '+': // a plus joins strings in programs
		return true
	case ',':
		for len(rest) > 0 && rest[0] == ',' {
			rest = follow(rest, 1)
		}
		return as != asField || len(rest) > 0 && (rest[0] == ':' || rest[0] == '}' || valueStart.Match(rest) || isName(rest, 0))
	case '}', ']':
		rest = bytes.TrimLeft(rest, "]} \t\r\n,")
		return len(rest) > 0 && (quoteAt(rest, 0) != 0 || rest[0] == '{')
	}
	return false
}

// character reads one character of a string. It returns false for an escape that
// means nothing.
func (m *mender) character(s *stringMend, r rune, size int) bool {
	switch {
	case r == '\\':
		return m.escape(s)
	case r == '"':
		m.out = append(m.out, `\"`...)
	case r == '\'':
		s.single++
		m.out = append(m.out, '\'')
	case r < ' ' || r == utf8.RuneError:
		data, _ := json.Marshal(string(r)) // of a string it cannot fail
		m.out = append(m.out, data[1:len(data)-1]...)
	default:
		m.out = append(m.out, m.in[m.pos:m.pos+size]...)
	}
	m.pos += size
	return true
}

// escape reads a backslash and what belongs to it. One before a letter that begins no
// escape of JSON stands for itself.
func (m *mender) escape(s *stringMend) bool {
	rest := m.in[m.pos+1:]
	switch {
	case len(rest) == 0 || rest[0] == 'u' && len(rest) < len("u0000"): // it breaks off
		m.pos = len(m.in)
	case rest[0] == 'u':
		if !json.Valid(slices.Concat([]byte(`"\`), rest[:5], []byte(`"`))) {
			return false
		}
		s.escapes++
		m.out = append(append(m.out, '\\'), rest[:5]...)
		m.pos += len(`\u0000`)
	case rest[0] == '"' || rest[0] == '/':
		m.out = append(m.out, '\\', rest[0])
		m.pos += 2
	case strings.IndexByte(`\bfnrt`, rest[0]) >= 0:
		s.escapes++
		m.out = append(m.out, '\\', rest[0])
		m.pos += 2
	case rest[0] == '\'':
		s.escapedSingle++
		m.out = append(m.out, '\'')
		m.pos += 2
	case strings.ContainsRune(bookQuotes, runeAt(rest)) && m.pos > s.start+1 && m.in[m.pos-1] == ' ':
		// Nobody writes a backslash before it for another reason, unless the string has others.
		s.escapedBook++
		m.pos++
	case !isWordByte(rest[0]) || rest[0] >= utf8.RuneSelf || rest[0] == '-': // it may be there to escape what needs no escape
		return false
	default:
		s.slashes++
		m.out = append(m.out, `\\`...)
		m.pos++
	}
	return true
}
