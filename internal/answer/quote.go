package answer

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The quotes other than those of ASCII that open a string. Any of the same sort closes it.
const (
	doubleQuotes = "“”"
	singleQuotes = "‘’´`"
	// bookQuotes are those that no program has a meaning for.
	bookQuotes = "“”„‟‘’‚‛«»"
)

func runeAt(text []byte) rune {
	r, _ := utf8.DecodeRune(text)
	return r
}

// quoteAt returns the quote that opens a string at i, 0 if none does.
func quoteAt(text []byte, i int) rune {
	r, _ := utf8.DecodeRune(text[i:])
	if r == '"' || r == '\'' || strings.ContainsRune(doubleQuotes+singleQuotes, r) {
		return r
	}
	return 0
}

// closes reports whether r may close what the quote has opened.
func closes(quote, r rune) bool {
	switch {
	case quote == '`' && r == '´':
		return true
	case r == quote || quote < utf8.RuneSelf:
		return r == quote
	case strings.ContainsRune(doubleQuotes, quote):
		return strings.ContainsRune(`"`+doubleQuotes, r)
	}
	return strings.ContainsRune(`'`+singleQuotes, r)
}

// ahead is how far a quote is followed to find out what it is. It bounds the time
// that a text full of quotes takes.
const ahead = 256

// follow returns what comes after i, space and comments aside. It is empty at the end
// of the text, and where a code block ends.
func follow(text []byte, i int) []byte {
	rest := text[i:min(len(text), i+ahead)]
	if rest = rest[blankEnd(rest, 0):]; bytes.HasPrefix(rest, []byte("```")) {
		return nil
	}
	return rest
}

// isNameEnd reports whether a name may end before i.
func isNameEnd(text []byte, i int) bool {
	rest := follow(text, i)
	return len(rest) == 0 || strings.IndexByte(":{[", rest[0]) >= 0 || quoteAt(rest, 0) != 0 || plainScalar.Match(rest)
}

// isFieldEnd reports whether the text value of a field may end before i: the object
// ends, or another name follows.
func isFieldEnd(text []byte, i int) bool {
	if i < len(text) && isWordByte(text[i]) { // the quote that begins a string
		return false
	}
	rest := follow(text, i)
	for len(rest) > 0 && rest[0] == ',' {
		rest = follow(rest, 1)
	}
	return len(rest) == 0 || rest[0] == '}' || rest[0] == ']' || isName(rest, 0) || bytes.HasPrefix(rest, []byte("..."))
}

// isElementEnd reports whether a text in an array may end before i: the array ends,
// or another value follows.
func isElementEnd(text []byte, i int) bool {
	rest := follow(text, i)
	if len(rest) > 0 && rest[0] == ',' {
		for len(rest) > 0 && rest[0] == ',' {
			rest = follow(rest, 1)
		}
		return len(rest) == 0 || valueStart.Match(rest)
	}
	return len(rest) == 0 || strings.IndexByte("]}", rest[0]) >= 0 ||
		text[i] <= ' ' && (strings.IndexByte("{[", rest[0]) >= 0 || quoteAt(rest, 0) != 0 || plainScalar.Match(rest))
}

var (
	valueStart = regexp.MustCompile("^(?:\\.\\.\\.|…|[\\]{\\[\"'`“‘\\d-]|(?i:true|false|null|none)\\b)")
	isTupleEnd = regexp.MustCompile(`^\s*,?\s*\)\s*(?:[,\]})]|$)`)
	plainField = regexp.MustCompile(`^[\w$-]+\s*:`)
)

// isName reports whether a name and its colon begin at i.
func isName(text []byte, i int) bool {
	rest := text[i:min(len(text), i+ahead)]
	quote := quoteAt(rest, 0)
	if quote == 0 {
		return plainField.Match(rest)
	}
	for end := utf8.RuneLen(quote); end < len(rest) && rest[end] != '\n'; {
		r, size := utf8.DecodeRune(rest[end:])
		if r == '\\' {
			size = min(2, len(rest)-end)
		}
		if end += size; closes(quote, r) {
			rest = follow(rest, end)
			return len(rest) > 0 && rest[0] == ':'
		}
	}
	return false
}
