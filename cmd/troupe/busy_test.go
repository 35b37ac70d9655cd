package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatTakesLongIsSaidWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e bytes.Buffer
		p := &program{err: &e}
		b := p.busy("beginning")
		b.mu.Lock()
		b.draws = true
		b.mu.Unlock()
		time.Sleep(2500 * time.Millisecond) // of which it says nothing for two seconds
		b.doing("%d of 9 runs", 1)
		b.tell("one is done")
		time.Sleep(time.Second)
		b.end()
		time.Sleep(time.Hour)
		if want := "\r\x1b[K  … beginning, 2 s\r\x1b[Kone is done\n\r\x1b[K  … 1 of 9 runs, 3 s\r\x1b[K"; e.String() != want {
			t.Errorf("it says %q", e.String())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var e bytes.Buffer
		b := (&program{err: &e}).busy("copying")
		time.Sleep(61 * time.Second)
		b.end()
		if want := "  … copying, 30 s\n  … copying, 60 s\n"; e.String() != want {
			t.Errorf("a log gets %q", e.String())
		}
		e.Reset()
		quiet := &program{err: &e}
		quiet.flags.quiet = true
		b = quiet.busy("copying")
		time.Sleep(time.Hour)
		b.tell("done")
		b.end()
		if got := strings.TrimSpace(e.String()); got != "" {
			t.Errorf("asked to be quiet it says %q", got)
		}
	})
}
