package store

import (
	"iter"
	"sync"
)

// A Page is some of the events of a log, in JSON as they are stored.
type Page struct {
	// Upto is the Number of the last of them.
	Upto int64

	text []byte
	ends []int // of each event in the text
}

// How much a page holds: fewer than that, where they are large.
const (
	pageEvents = 1024
	pageBytes  = 1 << 20
)

var pages = sync.Pool{New: func() any { return new(Page) }}

// NewPage returns a page that is empty.
func NewPage() *Page { return pages.Get().(*Page) }

// Release says that nobody looks at the page and what was in it any more: its memory is used
// for another. A page need not be released.
func (p *Page) Release() {
	if cap(p.text) <= 2*pageBytes {
		*p = Page{text: p.text[:0], ends: p.ends[:0]}
		pages.Put(p)
	}
}

// Add takes an event in, after those that are in the page.
func (p *Page) Add(number int64, event string) {
	p.Upto, p.text = number, append(p.text, event...)
	p.ends = append(p.ends, len(p.text))
}

// IsFull reports whether there is no more room.
func (p *Page) IsFull() bool { return len(p.ends) >= pageEvents || len(p.text) >= pageBytes }

// Len returns how many events are in the page.
func (p *Page) Len() int { return len(p.ends) }

// Events yields the events of the page.
func (p *Page) Events() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		begin := 0
		for _, end := range p.ends {
			if !yield(p.text[begin:end:end]) {
				return
			}
			begin = end
		}
	}
}
