package argcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxNumber bounds a number's characters and its exponent, because exact arithmetic
// with 1e999999999 would never end.
const maxNumber = 400

// A scanner reads JSON tokens. Its methods that return a bool return false when the
// text cannot be read on, after they have set bad.
type scanner struct {
	text []byte
	pos  int
	bad  *Malformed
}

// peek skips white space and returns the byte that follows, 0 at the end of the text.
func (s *scanner) peek() byte {
	for s.pos < len(s.text) {
		switch b := s.text[s.pos]; b {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return b
		}
	}
	return 0
}

// quoted reads a string.
func (s *scanner) quoted() bool {
	for i := s.pos + 1; i < len(s.text); i++ {
		switch b := s.text[i]; {
		case b == '"':
			s.pos = i + 1
			return true
		case b == '\\':
			size := escapeSize(s.text[i:])
			if size == 0 {
				return s.fail(i, "a string has an escape that JSON does not know")
			}
			i += size - 1
		case b < ' ':
			return s.fail(i, fmt.Sprintf("a string has the raw control character %q, which must be escaped", b))
		}
	}
	return s.endsIn(fmt.Sprintf("a string that began at byte %d", s.pos))
}

// escapeSize returns the length of the escape that text begins with, as far as the
// text goes, or 0 if it is none.
func escapeSize(text []byte) int {
	if len(text) < 2 {
		return len(text)
	}
	if text[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, text[1]) < 0 {
			return 0
		}
		return 2
	}
	for i := 2; i < 6; i++ {
		if i == len(text) {
			return i
		}
		if !isHexDigit(text[i]) {
			return 0
		}
	}
	return 6
}

// number reads a number.
func (s *scanner) number() bool {
	start := s.pos
	if s.text[s.pos] == '-' {
		s.pos++
	}
	whole := s.pos
	if !s.digits() {
		return false
	}
	if s.text[whole] == '0' && s.pos > whole+1 {
		return s.fail(start, "a number must not begin with 0")
	}
	if s.pos < len(s.text) && s.text[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if s.pos < len(s.text) && (s.text[s.pos] == 'e' || s.text[s.pos] == 'E') {
		s.pos++
		exponent, size := readExponent(s.text[s.pos:])
		s.pos += size
		if size == 0 || !isDigit(s.text[s.pos-1]) {
			return s.unexpected("a digit of an exponent", "a number")
		}
		if exponent > maxNumber || exponent < -maxNumber {
			return s.fail(start, fmt.Sprintf("a number's exponent is beyond %d", maxNumber))
		}
	}
	if s.pos-start > maxNumber {
		return s.fail(start, fmt.Sprintf("a number has more than %d characters", maxNumber))
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
		s.pos++
	}
	return s.pos > start || s.unexpected("a digit", "a number")
}

// word reads true, false or null.
func (s *scanner) word(want string) bool {
	rest := s.text[s.pos:]
	if len(rest) >= len(want) && string(rest[:len(want)]) == want {
		s.pos += len(want)
		return true
	}
	if len(rest) < len(want) && string(rest) == want[:len(rest)] {
		return s.endsIn("the word " + want)
	}
	return s.unexpected("a value", "the word "+want)
}

func (s *scanner) endsIn(what string) bool {
	return s.fail(len(s.text), "the text ends in the middle of "+what)
}

// unexpected fails with what was wanted at the current position inside of what.
func (s *scanner) unexpected(wanted, inside string) bool {
	if s.pos >= len(s.text) {
		return s.endsIn(inside + ", where " + wanted + " was expected")
	}
	r, _ := utf8.DecodeRune(s.text[s.pos:])
	return s.fail(s.pos, fmt.Sprintf("expected %s, found %q", wanted, r))
}

func (s *scanner) fail(offset int, reason string) bool {
	s.bad = &Malformed{Offset: offset, Reason: reason, Near: excerpt(s.text, offset)}
	return false
}

// meaning returns what a string says, given as it is written with its quotes. Half a
// surrogate pair means U+FFFD, as in encoding/json.
func meaning(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return inner
	}
	return []byte(text)
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isHexDigit(b byte) bool {
	return isDigit(b) || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}
