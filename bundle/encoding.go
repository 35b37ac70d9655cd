package bundle

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// textOf returns the text of a file as its author saw it, with lines that end in line
// feeds: editors on Windows write UTF-16 and Windows-1252, and very old ones end lines
// with carriage returns alone.
func textOf(content string) string {
	if text, ok := fromUTF16(content); ok {
		content = text
	}
	if !utf8.ValidString(content) {
		content = fromWindows(content)
	}
	if strings.Contains(content, "\r") && !strings.Contains(content, "\n") {
		content = strings.ReplaceAll(content, "\r", "\n")
	}
	return content
}

// fromUTF16 decodes a text that begins with the byte order mark of UTF-16.
func fromUTF16(content string) (string, bool) {
	low, high := 0, 1
	switch {
	case strings.HasPrefix(content, "\xff\xfe"):
	case strings.HasPrefix(content, "\xfe\xff"):
		low, high = 1, 0
	default:
		return "", false
	}
	units := make([]uint16, 0, len(content)/2)
	for i := 2; i+1 < len(content); i += 2 {
		units = append(units, uint16(content[i+low])|uint16(content[i+high])<<8)
	}
	return string(utf16.Decode(units)), true
}

// fromWindows reads the bytes that are no UTF-8 as Windows-1252, and leaves the others.
func fromWindows(content string) string {
	var b strings.Builder
	b.Grow(len(content) + len(content)/8)
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRuneInString(content[i:])
		if r == utf8.RuneError && size == 1 {
			r = charmap.Windows1252.DecodeByte(content[i])
		}
		b.WriteRune(r)
		i += size
	}
	return b.String()
}
