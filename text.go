package troupe

import (
	"strings"
	"unicode/utf8"
)

// shorten returns the first line of text, at most n runes of it.
func shorten(text string, n int) string {
	text = strings.TrimSpace(text)
	text, _, cut := strings.Cut(text, "\n")
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	if cut {
		return text + " …"
	}
	return text
}

// clip returns at most n bytes of text, cut between runes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
