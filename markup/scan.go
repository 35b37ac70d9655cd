package markup

import (
	"html"
	"strings"
)

const (
	cdataStart = "<![CDATA["
	cdataEnd   = "]]>"
)

// A scanner reads single tags. It remembers searches that ran far ahead, so that all of them together read the
// source once.
type scanner struct {
	src    string
	absent map[string]bool // delimiters known not to occur any more
	quotes map[byte]quoteSearch
}

// A quoteSearch found that a value starting anywhere between from and to stops at to.
type quoteSearch struct {
	from, to int
	closed   bool
}

// A tag is one start tag. Of a tag that is none, end is where scanning goes on.
type tag struct {
	name         string
	attrs        []Attr
	end          int
	selfClosing  bool
	unterminated bool
}

// seek returns the offset of delim at or after pos, or -1. Callers move forward and never come back before a find.
func (s *scanner) seek(pos int, delim string) int {
	if s.absent[delim] {
		return -1
	}
	i := strings.Index(s.src[pos:], delim)
	if i < 0 {
		if s.absent == nil {
			s.absent = map[string]bool{}
		}
		s.absent[delim] = true
		return -1
	}
	return pos + i
}

// scanEnd reads </name> at pos. Without a name, it is none.
func (s *scanner) scanEnd(pos int) (name string, end int) {
	name = s.nameAt(pos + 2)
	end = s.skipBlanks(pos + 2 + len(name))
	if name == "" || s.at(end) != '>' {
		return "", end
	}
	return name, end + 1
}

// scanStart reads <name attr="value" ...> at pos.
func (s *scanner) scanStart(pos int, known func(string) bool) (t tag, ok bool) {
	t.name = s.nameAt(pos + 1)
	t.end = pos + 1 + len(t.name)
	if t.name == "" || !isTagBreak(s.at(t.end)) || !known(t.name) {
		return t, false
	}
	valued := 0
	for {
		t.end = s.skipBlanks(t.end)
		if n := s.tagEnd(t.end); n > 0 {
			t.selfClosing = n == 2
			t.end += n
			return t, len(t.attrs) == 0 || valued > 0
		}
		a, end, ok := s.scanAttr(t.end)
		t.end = end
		if !ok {
			t.unterminated = a.Name != ""
			return t, false
		}
		if !a.bare {
			valued++
		}
		if len(t.attrs) <= MaxAttrs {
			t.attrs = append(t.attrs, a)
		}
	}
}

// scanAttr reads one attribute at pos. If there is none, end is the offending byte; if its value does not end, the
// attribute has a name and end is where the value starts.
func (s *scanner) scanAttr(pos int) (a Attr, end int, ok bool) {
	a.Name = s.nameAt(pos)
	end = pos + len(a.Name)
	if a.Name == "" {
		return a, end, false
	}
	eq := s.skipBlanks(end)
	if s.at(eq) != '=' {
		a.bare = true
		return a, end, true
	}
	from := s.skipBlanks(eq + 1)
	if q := s.at(from); q == '"' || q == '\'' {
		to, closed := s.closingQuote(from+1, q)
		if !closed {
			return a, from + 1, false
		}
		a.Raw, end = s.src[from+1:to], to+1
	} else {
		end = from
		for end < len(s.src) && strings.IndexByte(" \t\r\n<>\"'`", s.src[end]) < 0 && s.tagEnd(end) == 0 {
			end++
		}
		if end == from {
			return Attr{}, end, false
		}
		a.Raw, a.unquoted = s.src[from:end], true
	}
	a.Value = unescape(a.Raw)
	return a, end, true
}

// closingQuote finds the end of a value that starts at pos. A quote within the value is told from the one that ends
// it by what follows. A line that starts with a tag means that the author forgot the closing quote.
func (s *scanner) closingQuote(pos int, quote byte) (end int, closed bool) {
	if past, ok := s.quotes[quote]; ok && past.from <= pos && pos <= past.to {
		return past.to, past.closed
	}
	found := quoteSearch{from: pos, to: pos}
	for ; found.to < len(s.src); found.to++ {
		c := s.src[found.to]
		if found.closed = c == quote && s.endsValue(found.to+1); found.closed {
			break
		}
		if c == '\n' && s.tagStarts(s.skipIndent(found.to+1)) {
			break
		}
	}
	if s.quotes == nil {
		s.quotes = map[byte]quoteSearch{}
	}
	s.quotes[quote] = found
	return found.to, found.closed
}

// endsValue tells whether a quote just before pos ends its value: the tag ends there, or another attribute follows.
// Bare words count only after a blank and before the end of the tag or an attribute.
func (s *scanner) endsValue(pos int) bool {
	next := s.skipBlanks(pos)
	spaced := next > pos
	for {
		if s.tagEnd(next) > 0 {
			return true
		}
		name := s.nameAt(next)
		if name == "" {
			return false
		}
		next = s.skipBlanks(next + len(name))
		if s.at(next) == '=' {
			return true
		}
		if !spaced {
			return false
		}
	}
}

// tagEnd returns the length of the > or /> at pos, or 0.
func (s *scanner) tagEnd(pos int) int {
	switch {
	case s.at(pos) == '>':
		return 1
	case s.at(pos) == '/' && s.at(pos+1) == '>':
		return 2
	}
	return 0
}

func (s *scanner) tagStarts(pos int) bool {
	return s.at(pos) == '<' && (s.at(pos+1) == '/' || isLetter(s.at(pos+1)))
}

func (s *scanner) nameAt(pos int) string { return nameAt(s.src, pos) }

func nameAt(src string, pos int) string {
	end := pos
	for end < len(src) && (isLetter(src[end]) || end > pos && isNameByte(src[end])) {
		end++
	}
	return src[pos:end]
}

// at returns the byte at pos, or 0 past the end.
func (s *scanner) at(pos int) byte {
	if pos < len(s.src) {
		return s.src[pos]
	}
	return 0
}

func (s *scanner) skipBlanks(pos int) int {
	for pos < len(s.src) && isBlank(s.src[pos]) {
		pos++
	}
	return pos
}

func (s *scanner) skipIndent(pos int) int {
	for pos < len(s.src) && (s.src[pos] == ' ' || s.src[pos] == '\t') {
		pos++
	}
	return pos
}

func isLetter(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isNameByte(c byte) bool { return '0' <= c && c <= '9' || c == '-' || c == '.' || c == ':' }
func isBlank(c byte) bool    { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isTagBreak(c byte) bool { return isBlank(c) || c == '>' || c == '/' }

// unescape replaces the character references of HTML, named and numeric, that end in a semicolon. Any other & is left
// as it stands: addresses such as "?a=1&copy=2" are common.
func unescape(s string) string {
	amp := strings.IndexByte(s, '&')
	if amp < 0 {
		return s
	}
	var b strings.Builder
	for amp >= 0 {
		end := amp + 1
		for end < len(s) && (isLetter(s[end]) || '0' <= s[end] && s[end] <= '9' || s[end] == '#') {
			end++
		}
		b.WriteString(s[:amp])
		if end < len(s) && s[end] == ';' {
			end++
			b.WriteString(html.UnescapeString(s[amp:end]))
		} else {
			b.WriteString(s[amp:end])
		}
		s = s[end:]
		amp = strings.IndexByte(s, '&')
	}
	b.WriteString(s)
	return b.String()
}
