package terminal

import (
	"strings"
	"testing"
)

func TestALineIsNeverTwo(t *testing.T) {
	for _, width := range []int{4, 40, 60, 80} {
		s := newScreen(width, 10)
		line := &Line{W: s, Width: func() int { return width }}
		for range 3 {
			line.Draw("  … step 1 of 2 · 漢字 run_check go test ./... with a good many words beside it · 12 s  1,234 tokens")
		}
		if shown := s.all(); strings.Contains(shown, "\n") || len([]rune(shown)) > width {
			t.Errorf("%d: %q", width, shown)
		}
		line.Clear()
		if shown := s.all(); shown != "" {
			t.Errorf("%d: %q is left", width, shown)
		}
	}
}
