package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
)

// A busy line says what is being done, and for how long, once that takes two seconds: a
// person sees the seconds pass, a log gets a line now and then.
type busy struct {
	p       *program
	draws   bool
	over    chan struct{}
	ticking sync.WaitGroup

	mu    sync.Mutex
	line  terminal.Line
	what  string
	since time.Time
}

// busyFrom is how long something may take before it is said.
const busyFrom = 2 * time.Second

// busy begins to say what is being done, until it is ended.
func (p *program) busy(what string) *busy {
	b := &busy{p: p, draws: p.isTerminal(p.err), over: make(chan struct{}), line: terminal.Line{W: p.err}, what: what, since: time.Now()}
	if !p.flags.quiet {
		b.ticking.Go(b.tick)
	}
	return b
}

func (b *busy) tick() {
	each, said := time.NewTicker(time.Second), time.Now()
	defer each.Stop()
	for {
		select {
		case <-b.over:
			return
		case now := <-each.C:
			b.mu.Lock()
			text := fmt.Sprintf("  … %s, %s", b.what, terminal.Seconds(now.Sub(b.since)))
			switch {
			case now.Sub(b.since) < busyFrom:
			case b.draws:
				b.line.Draw(text)
			case now.Sub(said) >= quietTime:
				b.p.tell("%s", text)
				said = now
			}
			b.mu.Unlock()
		}
	}
}

// doing says what is being done from now on.
func (b *busy) doing(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what = fmt.Sprintf(format, args...)
}

// tell writes a line that stays.
func (b *busy) tell(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line.Clear()
	b.p.tell(format, args...)
}

func (b *busy) end() {
	close(b.over)
	b.ticking.Wait()
	b.line.Clear()
}
