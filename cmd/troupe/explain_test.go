package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/explain"
)

// A run whose process was killed has no end on record: that is why it stopped.
func TestAnInterruptedRunIsExplained(t *testing.T) {
	for status, want := range map[string]string{"interrupted": "'troupe sessions resume 0123abcd' goes on", "running": "it is under way", "completed": "WHAT CAME OF IT\n"} {
		var out bytes.Buffer
		p := &program{out: &out, err: &bytes.Buffer{}}
		if err := p.writeTurns(&explain.Session{Session: "0123abcd-0000"}, status); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", status, out.String())
		}
	}
}
