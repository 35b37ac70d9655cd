package terminal

import (
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// A Line is the last one of a terminal, which is drawn again and again. It never takes
// more than one, whatever the width: of two, only the second could be taken away.
type Line struct {
	W     io.Writer
	Width func() int // nil for that of W

	isDrawn bool
}

// Draw replaces what the line shows.
func (l *Line) Draw(text string) {
	width := 0
	if l.Width != nil {
		width = l.Width()
	} else {
		width = WidthOf(l.W)
	}
	fmt.Fprint(l.W, "\r\x1b[K"+ansi.Truncate(text, max(1, width-1), "…"))
	l.isDrawn = true
}

// Clear takes the line away, for what is to be written in its place.
func (l *Line) Clear() {
	if l.isDrawn {
		fmt.Fprint(l.W, "\r\x1b[K")
		l.isDrawn = false
	}
}

// WidthOf is how many characters fit beside each other on a terminal, 80 where that
// cannot be known.
func WidthOf(w any) int {
	if shielded, ok := w.(*Safe); ok {
		w = shielded.File
	}
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
