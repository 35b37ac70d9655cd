package main

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
)

// listener returns what shows the events of a conversation that is not interactive, and
// what ends it.
func (p *program) listener() (show func(*troupe.Event), end func()) {
	if p.flags.json {
		return p.writeEvent, func() {}
	}
	l := &plainListener{program: p, isLive: p.isTerminal(p.out), drawsWait: p.isTerminal(p.err), line: terminal.Line{W: p.err}}
	if p.usesColour(p.err) {
		l.dim = [2]string{"\x1b[2m", "\x1b[0m"}
	}
	if p.flags.quiet {
		return l.show, func() {}
	}
	return l.show, l.watch()
}

// writeEvent writes an event on a line of its own.
func (p *program) writeEvent(e *troupe.Event) {
	line, err := e.MarshalJSON()
	if err != nil {
		p.complain(err)
		return
	}
	p.out.Write(append(line, '\n'))
}

// A plainListener writes answers to standard output and everything else to standard
// error. A person sees an answer grow; a program gets it when it is complete, because
// one that is begun anew cannot be taken back.
type plainListener struct {
	*program
	isLive    bool
	drawsWait bool      // in a line that is overwritten
	dim       [2]string // what makes text faint, and what ends that

	mu      sync.Mutex
	wait    terminal.Wait
	line    terminal.Line
	calls   terminal.Calls
	pieces  terminal.Pieces
	attempt int // of the answer that is being written, 0 for none
}

// watch shows how long the model has been waited for: a person sees the seconds pass, a
// log gets a line a minute. What it returns ends that.
func (l *plainListener) watch() (end func()) {
	over := make(chan struct{})
	var ticking sync.WaitGroup
	l.wait.Begin()
	ticking.Go(func() {
		each := time.NewTicker(time.Second)
		defer each.Stop()
		for n := 1; ; n++ {
			select {
			case <-over:
				return
			case <-each.C:
				l.tellWait(n%60 == 0)
			}
		}
	})
	return func() {
		close(over)
		ticking.Wait()
		l.line.Clear()
	}
}

func (l *plainListener) tellWait(isMinute bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.wait.For()
	if calls := l.calls.Open(); len(calls) > 0 && !l.wait.IsOver() {
		text, ok = strings.Join(calls, ", "), true
	}
	switch {
	case !ok || l.attempt != 0: // the line belongs to the answer
	case l.drawsWait:
		l.line.Draw(l.dim[0] + "  … " + text + l.dim[1])
	case isMinute:
		l.tell("  … %s", text)
	}
}

func (l *plainListener) show(e *troupe.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.Clear()
	l.wait.Note(e)
	if line, ended := l.calls.Note(e); ended {
		l.aside("  " + line)
	}
	for _, say := range []func(*troupe.Event) (string, bool){terminal.Warning, terminal.Hop} {
		if line, ok := say(e); ok {
			l.aside("  " + line)
		}
	}
	if e.Parent != "" {
		return
	}
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		l.grow(b)
	case *troupe.ModelReplied:
		l.reply(b)
	case *troupe.RunFinished:
		l.finish(b.Output.Summary)
	case *troupe.RunFailed, *troupe.RunCancelled:
		if kept := l.pieces.Rest(); !l.isLive {
			l.answer(kept)
		}
		l.breakOff()
	}
}

// reply shows a reply. A program gets an answer that comes in several of them in one
// piece, a person has seen each grow.
func (l *plainListener) reply(b *troupe.ModelReplied) {
	now := l.pieces.Reply(b)
	if l.isLive {
		now = cmp.Or(b.Message.Text, b.Message.Refusal)
	}
	l.answer(now)
}

// finish shows a run's result, unless that was said last.
func (l *plainListener) finish(result string) {
	isSaid := l.pieces.HasSaid(result)
	if l.isLive {
		l.pieces.Rest() // the pieces are on the screen
	}
	if text := l.pieces.Finish(result); text != "" && !(l.isLive && isSaid) {
		l.answer(text)
	}
}

// grow shows a piece of an answer to a person.
func (l *plainListener) grow(d *troupe.TextDelta) {
	if !l.isLive {
		return
	}
	if l.attempt != 0 && l.attempt != d.Attempt {
		l.breakOff()
		if d.Attempt < 0 {
			l.aside("  ! so far the model was thinking: its answer follows")
		} else {
			l.aside("  ! the answer broke off and begins again")
		}
	}
	l.attempt = d.Attempt
	fmt.Fprint(l.out, terminal.Clean(d.Text))
}

// answer writes a complete answer, or ends the line of one that was shown as it grew.
func (l *plainListener) answer(text string) {
	if l.attempt != 0 {
		l.breakOff()
	} else if text != "" {
		fmt.Fprintln(l.out, terminal.Clean(text))
	}
}

func (l *plainListener) breakOff() {
	if l.attempt != 0 {
		fmt.Fprintln(l.out)
		l.attempt = 0
	}
}

func (l *plainListener) aside(line string) { l.tell("%s%s%s", l.dim[0], line, l.dim[1]) }
