package terminal

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A Safe is a terminal that gets nothing but text, colours and the clearing of a line,
// whatever is written to it. It is the last wall: what is shown is to be cleaned before.
type Safe struct {
	File *os.File
	// IsJSON says that JSON is written: then what is left out of a text is written in the
	// way in which JSON can say it.
	IsJSON func() bool

	rest []byte // of a character that is not complete yet
}

// style is what of escape sequences the program writes itself.
var style = regexp.MustCompile(`^\x1b\[[0-9;]*[mK]`)

// Write implements [io.Writer].
func (s *Safe) Write(data []byte) (int, error) {
	text := append(s.rest, data...)
	s.rest = nil
	var b strings.Builder
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			s.rest = append([]byte(nil), text...)
			break
		}
		if found := style.Find(text); found != nil {
			b.Write(found)
			text = text[len(found):]
			continue
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\n' || r == '\t' || r == '\r' || !isUnsafe(r):
			b.WriteRune(r)
		case s.IsJSON != nil && s.IsJSON():
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	if _, err := s.File.WriteString(b.String()); err != nil {
		return 0, err
	}
	return len(data), nil
}
