package answer

import (
	"bytes"
	"cmp"
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

	isCut  bool // the text ends before all is closed
	leaves bool // something is left out with "..."
	// closesWrong says that a bracket that does not fit the one it closes is taken for
	// the one that does; otherwise that one is taken to be missing before it.
	closesWrong bool
	hasMisfit   bool // there is such a bracket
	isEither    bool // all that there is is an empty object or array, nobody can tell which
	doubt       string
	doubtAt     int
	work        int // bytes looked at

	lacks  int // brackets, colons and quotes that are missing
	commas int // commas that are missing
	quotes int // strings with quotes in them that are not escaped
	words  int // texts that have no quotes at all
	lone   int // strings with one such quote, and names with a pair of them
	// isUneven says that a field whose text has quotes is set otherwise than those before
	// it, so that it may be part of a text.
	isUneven          bool
	colon, firstColon int // the kind of space after the colon of the last field, and of the first
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
	return m, m.all()
}

// all reads the value and reports whether it is whole and certain.
func (m *mender) all() bool {
	if m.container() != whole {
		m.refuse(m.pos, "its syntax cannot be made sense of")
		return false
	}
	if m.isCut {
		return false
	}
	m.judge()
	if m.leaves {
		m.refuse(m.pos, leavesOut)
	}
	return m.doubt == ""
}

const leavesOut = `it leaves something out with "..."`

// judge refuses a text in which so much is broken that its parts could also have been
// meant otherwise. A single quote too many or too few, for one, makes the number of
// quotes odd, so quotes within strings, which come in pairs, cannot explain it.
func (m *mender) judge() {
	switch {
	case m.lacks > 1, m.lone > 1,
		m.lone == 1 && m.quotes+m.commas+m.words+m.oddNames+m.lacks > 1,
		m.lacks == 1 && m.quotes+m.commas+m.words+m.oddNames > 0,
		m.quotes > 0 && m.commas > 0,
		m.isUneven,
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
	opener := m.in[m.pos]
	isObject, closer := opener == '{', closers[opener]
	if len(m.open) == rawjson.MaxDepth {
		return m.refuse(m.pos, "it is nested too deep")
	}
	m.open = append(m.open, closer)
	if opener == '(' {
		opener = '['
	}
	m.out = append(m.out, opener)
	m.pos++
	m.last = 0
	words, entries := m.words, 0
	isFirst, hasComma := true, true
	comma, spacing := 0, 0
	for {
		switch c := m.next(); {
		case c == ',':
			m.pos++
			comma = m.pos
			if hasComma && !isObject {
				return m.refuse(m.pos, "a value of an array is missing before a comma")
			}
			hasComma = true
			continue
		case bytes.HasPrefix(m.in[m.pos:], []byte("...")) || bytes.HasPrefix(m.in[m.pos:], []byte("…")):
			m.leaves, hasComma = true, false
			m.pos += len("...") // as long as …
			continue
		case c == closer:
			m.pos++
			if c == ')' && (m.words > words || entries == 1 && !hasComma) {
				return m.refuse(m.pos, "brackets may be part of a text")
			}
			return m.close()
		case c == '}' || c == ']':
			return m.closeOther(c, isFirst)
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
			if m.last == 0 && !isApart(m.in, m.pos) { // something may be lost with the comma
				return m.refuse(m.pos, "a comma is missing between two values")
			}
		}
		quotes, isOdd := m.quotes, false
		if hasComma && isObject && !isFirst {
			kind := spaceKind(m.in[comma:m.pos])
			isOdd = spacing != 0 && spacing != kind
			spacing = kind
		}
		result := m.entry(isObject)
		isOdd = isOdd || isObject && m.colon != m.firstColon
		m.isUneven = m.isUneven || isOdd && m.last == 0 && m.quotes > quotes
		if result == broken {
			return broken
		}
		if result == ended {
			m.isCut = true
			m.out = m.out[:before]
		}
		isFirst, hasComma = isFirst && result != whole, false
		entries++
	}
}

// spaceKind tells apart how fields are set: in lines of their own, after a space, or close.
func spaceKind(space []byte) int {
	switch {
	case bytes.IndexByte(space, '\n') >= 0:
		return 1
	case len(space) > 0:
		return 2
	}
	return 3
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
	if m.last = m.open[end]; m.last == ')' {
		m.last = ']'
	}
	m.out = append(m.out, m.last)
	m.text = nil
	m.open = m.open[:end]
	return whole
}

const maybeBracket = "a bracket is missing or one too many"

// closers are the brackets that close what others open. Those of a tuple, as programs
// in Python write them, are read for an array.
var closers = [...]byte{'{': '}', '[': ']', '(': ')'}

// closeOther closes an object or array at a bracket of the other kind. Either its own
// is missing before that of what is around it: if what was read last ends with the same
// bracket, or is a string that has it, it could be that one. Or the bracket is the wrong
// one: then an empty one could be either.
func (m *mender) closeOther(c byte, isEmpty bool) outcome {
	end := len(m.open) - 1
	m.hasMisfit = true
	if m.lacks++; m.closesWrong {
		m.isEither = isEmpty && end == 0
		if isEmpty && !m.isEither || bytes.ContainsAny(m.text, "]}") || m.open[end] == ')' {
			return m.refuse(m.pos, maybeBracket)
		}
		m.pos++
		return m.close()
	}
	if end == 0 || m.open[end-1] != c || m.last == m.open[end] || bytes.IndexByte(m.text, m.open[end]) >= 0 {
		return m.refuse(m.pos, maybeBracket)
	}
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
		name := m.in[start:m.pos]
		if m.quotes > quotes && (!quotesInName.Match(name) || keywordInName.Match(name)) || bytes.IndexByte(name, '\n') >= 0 {
			return m.refuse(start, "a quote after the name of a field is missing, or one too many")
		}
		if m.quotes > quotes {
			m.lone++
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
		m.colon = spaceKind(m.in[m.pos:blankEnd(m.in, m.pos)])
		m.firstColon = cmp.Or(m.firstColon, m.colon)
		return whole
	case c == 0:
		return ended
	case !isQuoted && quoteAt(m.in, m.pos) != 0 && m.in[m.pos-1] == ' ' && !isName(m.in, m.pos),
		isQuoted && (c == '{' || c == '[' || quoteAt(m.in, m.pos) != 0 && !isColonInside(m.in, m.pos) || m.isScalar()):
		m.lacks++
		return whole
	}
	return m.refuse(start, "a colon after the name of a field is missing")
}

// isScalar reports whether a number or a keyword is here to which a colon is missing. Side
// by side with the name, more than the colon may be lost, unless it is all that there is.
func (m *mender) isScalar() bool {
	scalar := plainScalar.Find(m.in[m.pos:min(len(m.in), m.pos+maxWord)])
	return scalar != nil && (isApart(m.in, m.pos) || scalar[len(scalar)-1] == '}')
}

// isApart reports whether there is space before i: what stands side by side may have lost
// more than the mark between it.
func isApart(text []byte, i int) bool { return i > 0 && unicode.IsSpace(rune(text[i-1])) }

// isColonInside reports whether the string at i begins with a colon, which may be the one
// that is missing before it.
func isColonInside(text []byte, i int) bool {
	rest := bytes.TrimLeft(text[i+utf8.RuneLen(quoteAt(text, i)):], " ")
	return bytes.HasPrefix(rest, []byte(":"))
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
	case c == '{' || c == '[' || c == '(' && tuple.Match(m.in[m.pos:min(len(m.in), m.pos+ahead)]):
		return m.container()
	case inObject && (c == ',' || c == '}' || c == ']'):
		return m.refuse(m.pos, "a field has no value")
	}
	m.last, m.text = 0, nil
	if quoteAt(m.in, m.pos) == 0 {
		return m.word(inObject)
	}
	start, as := m.pos, asElement
	switch {
	case inObject:
		as = asField
	case m.open[len(m.open)-1] == ')':
		as = asInTuple
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
	// fieldText is what may be one as the value of a field, where two values without a
	// comma cannot be: a range, a fraction, a number with a unit, a path. It is no number
	// of any language.
	fieldText = regexp.MustCompile(`^(?:\d+(?:[-/]\d+)+|[1-9]\d*[A-Za-z]{2,}\w*|/[\w.][\w./-]*)$`)
	endsOdd   = regexp.MustCompile(`(?i)(?:true|false|null|none)$`)
	// quotesInName is a name with a pair of quotes within a word.
	quotesInName  = regexp.MustCompile(`^"[\pL\pN]+"[\pL\pN]+"[\pL\pN]+"$`)
	keywordInName = regexp.MustCompile(`(?i)"(?:true|false|null|none|\d+)"`)
	// tuple is how a list of numbers, texts or other values begins in Python.
	tuple = regexp.MustCompile(`^\(\s*(?:-?\d[\d.]*\s*,|["'{\[(]|(?:True|False|None)\s*,)`)
)

// word reads a number, a keyword or a text without quotes.
func (m *mender) word(inObject bool) outcome {
	start := m.pos
	m.pos = wordEnd(m.in, start, m.open[len(m.open)-1] == ')')
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
	case strings.HasSuffix(text, ".") && json.Valid([]byte(text[:len(text)-1])) && !m.isCut && m.in[m.pos] != ',':
		m.out = append(m.out, text[:len(text)-1]...) // before a comma a digit may be lost with it
	case m.isCut && text == "-":
		return ended
	case m.isCut && json.Valid([]byte(strings.TrimRight(text, ".eE+-"))):
		m.out = append(m.out, strings.TrimRight(text, ".eE+-")...)
	case inObject && fieldText.MatchString(text) && !endsOdd.MatchString(text) && !m.isCut && !isQuote:
		m.write(text)
		m.words++
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
func wordEnd(text []byte, i int, inTuple bool) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case ',', ']', '}', '\r', '\n', '"':
			return i
		case ')':
			if inTuple {
				return i
			}
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
