package sqlite

import (
	"strings"
)

// needs are the letters and digits that must be in an event's JSON for a text to be
// found in it, in lower case. They say quickly of most events that they are not the
// ones: what they leave over is looked at in full.
type needs []string

// needed returns what a text that is searched for needs. Of words that are not ASCII
// nothing is known: the index does not tell é from e.
func needed(text string) (n needs) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isLetterOrDigit(byte(r)) }) {
		if isPlain(word) {
			n = append(n, strings.ToLower(word))
		}
	}
	return n
}

// mayBeIn reports whether the text may be in an event.
func (n needs) mayBeIn(event string) bool {
	if len(n) == 0 || !isPlain(event) || strings.Contains(event, `\u`) {
		return true
	}
	for _, word := range n {
		if !containsFold(event, word) {
			return false
		}
	}
	return true
}

// isPlain reports whether a text is ASCII.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// containsFold reports whether a word in lower case is in a text in any case.
func containsFold(text, word string) bool {
	first := word[:1]
	upper := strings.ToUpper(first)
	for at := 0; at+len(word) <= len(text); at++ {
		rest := text[at : len(text)-len(word)+1]
		next := strings.IndexByte(rest, first[0])
		if upper != first {
			if other := strings.IndexByte(rest[:max(next, 0)], upper[0]); next < 0 {
				next = strings.IndexByte(rest, upper[0])
			} else if other >= 0 {
				next = other
			}
		}
		if next < 0 {
			return false
		}
		at += next
		if strings.EqualFold(text[at:at+len(word)], word) {
			return true
		}
	}
	return false
}
