package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestHistoryIsKeptInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "history")
	h, err := openHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two\nlines", "two\nlines"} {
		if err := h.add(text); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := again.older("draft"); !ok || text != "two\nlines" || len(again.entries) != 2 {
		t.Errorf("older: %q of %q", text, again.entries)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestHistoryIsCutToItsNewestEntries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var text []byte
	for i := range 2 * maxHistory {
		text = fmt.Appendf(text, "%q\n", fmt.Sprint(i))
	}
	text = append(text, "not JSON\n"...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := openHistory(file)
		if err != nil || len(h.entries) != maxHistory || h.entries[maxHistory-1] != fmt.Sprint(2*maxHistory-1) {
			t.Fatalf("%d entries, %v", len(h.entries), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".history-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestAHistoryThatCannotBeReadIsNoHistory(t *testing.T) {
	h, err := openHistory(t.TempDir())
	if err == nil || h == nil {
		t.Fatalf("a directory: %v, %v", h, err)
	}
	if err := h.add("still works"); err != nil {
		t.Error(err)
	}
	if text, ok := h.older(""); !ok || text != "still works" {
		t.Errorf("older: %q", text)
	}
}
