package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A Bar shows how far many runs have come. It belongs to one goroutine at a time.
type Bar struct {
	line         *Line // nil where nobody looks
	total        int
	done, failed int
	began        time.Time
}

// barWidth is how many characters a full bar has.
const barWidth = 24

// NewBar returns a bar for a number of runs. It is drawn only for a person.
func NewBar(w io.Writer, total int, isTerminal bool) *Bar {
	b := &Bar{total: total, began: time.Now()}
	if isTerminal {
		b.line = &Line{W: w}
	}
	b.draw()
	return b
}

// Step counts one more run, and draws the bar.
func (b *Bar) Step(failed bool) {
	b.done++
	if failed {
		b.failed++
	}
	b.draw()
}

// Clear takes the bar away, for what is to be written in its place.
func (b *Bar) Clear() {
	if b.line != nil {
		b.line.Clear()
	}
}

func (b *Bar) draw() {
	if b.line != nil {
		b.line.Draw(b.text(time.Since(b.began)))
	}
}

// text is the bar after some time.
func (b *Bar) text(elapsed time.Duration) string {
	full := barWidth * b.done / max(b.total, 1)
	text := fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("█", full), strings.Repeat("·", barWidth-full), b.done, b.total)
	if b.failed > 0 {
		text += fmt.Sprintf(", %d failed", b.failed)
	}
	if b.done > 0 && b.done < b.total {
		left := elapsed / time.Duration(b.done) * time.Duration(b.total-b.done)
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text
}
