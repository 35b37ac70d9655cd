//go:build unix

package skill

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestAPipeIsRefusedWithoutWaiting(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "good/SKILL.md", text("good", "Works.", ""))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	l := open(t, dir)
	if got := names(l.List()); got != "good" || summary(l.Findings(), dir) != "error unreadable pipe.md:1\n" {
		t.Errorf("%s, %v", got, l.Findings())
	}
}
