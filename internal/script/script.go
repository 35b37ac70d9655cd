// Package script makes text of scripts that are written without spaces searchable.
package script

import (
	"strings"
	"unicode"
)

// Spread makes words of the characters of such scripts, which would else be found in
// whole sentences only.
func Spread(text string) string {
	if !strings.ContainsFunc(text, isWord) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isWord(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isWord(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}
