package answer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/rawjson"
)

// A mender reads an object or array whose syntax is broken the ways models break it,
// and writes it as JSON. It reads every byte a bounded number of times.
//
// Some mends leave no choice, however many there are: comments, spare commas, other
// quotes, names without quotes, True and None, raw line breaks in strings. Others are
// only certain while little else is broken, and are counted; see judge. What can be
// read in two ways is a doubt, and the text is refused.
type mender struct {
	in   []byte
	pos  int
	out  []byte
	open []byte // what closes the objects and arrays around pos
	last byte   // how the value ended that was read last: '}', ']' or 0
	text []byte // that value, if it is a string

	isCut   bool // the text ends before all is closed
	doubt   string
	doubtAt int
	work    int // bytes looked at

	lacks  int // brackets, colons and quotes that are missing
	commas int // commas that are missing
	quotes int // strings with quotes in them that are not escaped
	words  int // texts that have no quotes at all
	// oddNames are names that hold what could also be structure.
	oddNames int
}

// An outcome says what came of reading a part.
type outcome int

const (
	whole  outcome = iota
	ended          // the text ends before there is anything to keep
	broken         // it makes no sense, or more than one
)

// mend returns a mender that has read the value that begins at the start of the text,
// and whether that value is whole and certain. Where the text breaks off, out is what
// there is of it, closed.
func mend(text []byte) (m *mender, ok bool) {
	m = &mender{in: text}
	if m.container() != whole {
		m.refuse(m.pos, "its syntax cannot be made sense of")
		return m, false
	}
	if m.isCut {
		return m, false
	}
	m.judge()
	return m, m.doubt == ""
}

// judge refuses a text in which so much is broken that its parts could also have been
// meant otherwise. A single quote too many or too few, for one, makes the number of
// quotes odd, so quotes within strings, which come in pairs, cannot explain it.
func (m *mender) judge() {
	switch {
	case m.lacks > 1,
		m.lacks == 1 && m.quotes+m.commas+m.words+m.oddNames > 0,
		m.quotes > 0 && m.commas > 0,
		m.words > 0 && m.oddNames > 0:
		m.refuse(0, "too many quotes, colons, commas or brackets are missing or not escaped")
	}
}

// refuse notes why the text cannot be mended. The first reason counts.
func (m *mender) refuse(at int, why string) outcome {
	if m.doubt == "" {
		m.doubt, m.doubtAt = why, at
	}
	return broken
}

// next passes over space and comments and returns the byte that follows, 0 at the
// end. A code block that ends there ends the text.
func (m *mender) next() byte {
	before := m.pos
	m.pos = blankEnd(m.in, m.pos)
	m.work += m.pos - before + 1
	if bytes.Count(m.in[before:m.pos], []byte(`"`))%2 != 0 {
		m.refuse(before, "what looks like a comment may be part of a string")
	}
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
	if len(m.open) == rawjson.MaxDepth {
		return m.refuse(m.pos, "it is nested too deep")
	}
	m.open = append(m.open, closer)
	m.out = append(m.out, m.in[m.pos])
	m.pos++
	m.last = 0
	isFirst, hasComma := true, true
	for {
		switch c := m.next(); {
		case c == ',':
			m.pos++
			if hasComma && !isObject {
				return m.refuse(m.pos, "a value of an array is missing before a comma")
			}
			hasComma = true
			continue
		case bytes.HasPrefix(m.in[m.pos:], []byte("...")) || bytes.HasPrefix(m.in[m.pos:], []byte("…")):
			return m.refuse(m.pos, `it leaves something out with "..."`)
		case c == closer:
			m.pos++
			return m.close()
		case c == '}' || c == ']':
			return m.closeBefore(c)
		case c == 0:
			m.isCut = true
			return m.close()
		}
		before := len(m.out)
		if !isFirst {
			m.out = append(m.out, ',')
		}
		if !hasComma {
			m.commas++
		}
		result := m.entry(isObject)
		if result == broken {
			return broken
		}
		if result == ended {
			m.isCut = true
			m.out = m.out[:before]
		}
		isFirst, hasComma = isFirst && result != whole, false
	}
}

// entry reads a field of an object or an element of an array.
func (m *mender) entry(isObject bool) outcome {
	if isObject {
		if result := m.name(); result != whole {
			return result
		}
	}
	return m.value(isObject)
}

func (m *mender) close() outcome {
	end := len(m.open) - 1
	m.out = append(m.out, m.open[end])
	m.last, m.text = m.open[end], nil
	m.open = m.open[:end]
	return whole
}

// closeBefore closes an object or array whose own bracket is missing before the one of
// what is around it. If what was read last ends with the same bracket, or is a string
// that has it, it could be that one.
func (m *mender) closeBefore(c byte) outcome {
	end := len(m.open) - 1
	if end == 0 || m.open[end-1] != c || m.last == m.open[end] || bytes.IndexByte(m.text, m.open[end]) >= 0 {
		return m.refuse(m.pos, "a bracket is missing or one too many")
	}
	m.lacks++
	return m.close()
}

// name reads the name of a field and its colon.
func (m *mender) name() outcome {
	start := m.pos
	isQuoted := quoteAt(m.in, m.pos) != 0
	if isQuoted {
		quotes := m.quotes
		if result := m.quoted(asName); result != whole {
			return result
		}
		if m.quotes > quotes || bytes.IndexByte(m.in[start:m.pos], '\n') >= 0 {
			return m.refuse(start, "a quote after the name of a field is missing, or one too many")
		}
		if bytes.ContainsAny(m.in[start:m.pos], ":,{}[]") {
			m.oddNames++
		}
	} else if result := m.plainName(); result != whole {
		return result
	}
	c := m.next()
	m.out = append(m.out, ':')
	switch {
	case c == ':':
		m.pos++
		return whole
	case c == 0:
		return ended
	case isQuoted && (c == '{' || c == '[' || quoteAt(m.in, m.pos) != 0 || plainScalar.Match(m.in[m.pos:min(len(m.in), m.pos+maxWord)])):
		m.lacks++
		return whole
	}
	return m.refuse(start, "a colon after the name of a field is missing")
}

// plainName reads a name without quotes, or with only the quote that ends it.
func (m *mender) plainName() outcome {
	start := m.pos
	for m.pos < len(m.in) && isWordByte(m.in[m.pos]) {
		m.pos++
	}
	if start == m.pos {
		return m.refuse(start, "the name of a field was expected")
	}
	m.write(string(m.in[start:m.pos]))
	if m.pos < len(m.in) && m.in[m.pos] == '"' {
		if rest := follow(m.in, m.pos+1); len(rest) == 0 || rest[0] != ':' {
			return m.refuse(start, "a quote is missing or not escaped")
		}
		m.pos++
		m.lacks++
	}
	return whole
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
	case inObject && (c == ',' || c == '}' || c == ']'):
		return m.refuse(m.pos, "a field has no value")
	}
	m.last, m.text = 0, nil
	if quoteAt(m.in, m.pos) == 0 {
		return m.word()
	}
	start, as := m.pos, asElement
	if inObject {
		as = asField
	}
	result := m.quoted(as)
	m.text = m.in[start:m.pos]
	return result
}

// maxWord is how long a number or keyword can be.
const maxWord = 512

var (
	plainScalar = regexp.MustCompile(`^(?:-?\d[\d.eE+-]*|true|false|null)\s*[,}\]\n]`)
	// plainText is what may be a text without quotes: nothing that could be a number, or
	// two values without a comma.
	plainText = regexp.MustCompile(`^(?:[\pL_$][^\\"'\x60{}\[\](),]*|\d{4}-\d\d-\d\d[\w.:+-]*|\d+(?:\.\d+){2,})$`)
	keywords  = regexp.MustCompile(`(?i)^(?:true|false|null|none|nan|infinity)`)
)

// word reads a number, a keyword or a text without quotes.
func (m *mender) word() outcome {
	start := m.pos
	m.pos = wordEnd(m.in, start)
	m.work += m.pos - start
	text := strings.TrimSpace(string(m.in[start:m.pos]))
	if m.pos == len(m.in) {
		m.isCut = true
	}
	isQuote := m.pos < len(m.in) && m.in[m.pos] == '"'
	switch keyword := strings.ToLower(text); {
	case keyword == "true" || keyword == "false" || keyword == "null":
		m.out = append(m.out, keyword...)
	case keyword == "none" || keyword == "undefined":
		m.out = append(m.out, "null"...)
	case json.Valid([]byte(text)):
		m.out = append(m.out, text...)
	case strings.HasSuffix(text, ".") && json.Valid([]byte(text[:len(text)-1])) && !m.isCut:
		m.out = append(m.out, text[:len(text)-1]...)
	case m.isCut && json.Valid([]byte(strings.TrimRight(text, ".eE+-"))):
		m.out = append(m.out, strings.TrimRight(text, ".eE+-")...)
	case !plainText.MatchString(text) || keywords.MatchString(text):
		return m.refuse(start, "a value was expected")
	default:
		m.write(text)
		if isQuote && !isName(m.in, m.pos) {
			return m.closeWord(start)
		}
		m.words++
	}
	return whole
}

// closeWord reads the quote that ends a text whose first quote is missing. Space before
// it could be part of it.
func (m *mender) closeWord(start int) outcome {
	hasSpace := strings.IndexByte(":[,", m.in[start-1]) < 0 || unicode.IsSpace(rune(m.in[m.pos-1]))
	if rest := follow(m.in, m.pos+1); hasSpace || len(rest) > 0 && strings.IndexByte(",}]", rest[0]) < 0 {
		return m.refuse(start, "a quote is missing or not escaped")
	}
	m.pos++
	m.lacks++
	return whole
}

// wordEnd returns where a text without quotes ends that begins at i.
func wordEnd(text []byte, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case ',', ']', '}', '\r', '\n', '"':
			return i
		case '/': // a comment, unless it is part of the address of a page
			if i+1 < len(text) && (text[i+1] == '*' || text[i+1] == '/' && text[i-1] <= ' ') {
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
