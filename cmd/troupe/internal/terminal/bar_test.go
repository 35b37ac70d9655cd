package terminal

import (
	"strings"
	"testing"
	"time"
)

func TestABarShowsHowFarItHasCome(t *testing.T) {
	b := &Bar{total: 4, done: 1, failed: 1}
	if got, want := b.text(10*time.Second), "[██████··················] 1 of 4, 1 failed, about 30s left"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.done = 4
	if got := b.text(time.Minute); strings.Contains(got, "left") || !strings.Contains(got, "4 of 4") {
		t.Error(got)
	}
}

func TestABarIsDrawnForPeopleOnly(t *testing.T) {
	var screen, pipe strings.Builder
	for _, b := range []*Bar{NewBar(&screen, 2, true), NewBar(&pipe, 2, false)} {
		b.Step(false)
		b.Clear()
	}
	if pipe.Len() > 0 || !strings.HasSuffix(screen.String(), "\r\x1b[K") {
		t.Errorf("%q, %q", screen.String(), pipe.String())
	}
}
