package observe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns text with everything that cannot be seen written as an escape:
// control characters, those that begin escape sequences among them, marks of
// direction, characters without width and bytes that are not UTF-8.
func visible(text string) string {
	if strings.IndexFunc(text, isInvisible) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case isInvisible(r):
			escape := strconv.QuoteRuneToASCII(r)
			b.WriteString(escape[1 : len(escape)-1])
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// isInvisible goes beyond what Go does not count as printable: some letters and
// marks have no shape either.
func isInvisible(r rune) bool {
	return !strconv.IsPrint(r) ||
		unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// quoted returns text as one word: in quotes if it would not be one otherwise.
func quoted(text string) string {
	if text != "" && !strings.ContainsAny(text, ` "=`) && visible(text) == text {
		return text
	}
	text = strings.ReplaceAll(text, `\`, `\\`)
	return `"` + visible(strings.ReplaceAll(text, `"`, `\"`)) + `"`
}
