package main

import (
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe/project"
)

// Reports, lists and notes are folded between words where the terminal ends.
func TestReportsFitTheTerminal(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	folded := 0
	for _, args := range [][]string{{"doctor"}, {"models"}, {"agents"}, {"init"}} {
		shown := inTerminal(t, dir, "", args...)
		for line := range strings.Lines(shown) {
			if width := xansi.StringWidth(strings.TrimRight(line, "\r\n")); width > 80 {
				t.Errorf("troupe %s: %d characters: %q", args[0], width, line)
			} else if width > 60 {
				folded++
			}
		}
		if strings.TrimSpace(shown) == "" {
			t.Errorf("troupe %s says nothing", args[0])
		}
	}
	if folded == 0 {
		t.Error("nothing was long enough to be folded")
	}
}
