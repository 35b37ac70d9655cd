package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean drops what could make a terminal do something: control characters, among
// them those that begin escape sequences, and marks that reverse the direction of
// text. Line feeds stay and tabs become blanks. It works on pieces of a text as on
// the whole.
func Clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case !isUnsafe(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isClean(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return r != '\n' && isUnsafe(r) }) < 0
}

func isUnsafe(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f: // C0, DEL and C1
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c: // direction
		return true
	case r == 0x2028, r == 0x2029, r == 0xfeff:
		return true
	}
	return false
}

// OneLine is a text on one line of at most width cells, cleaned.
func OneLine(text string, width int) string {
	text = strings.Join(strings.Fields(Clean(text)), " ")
	return ansi.Truncate(text, width, "…")
}
