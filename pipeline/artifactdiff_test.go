package pipeline

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"os"

	"pgregory.net/rapid"
)

func TestADiffIsWhatDiffSays(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"a line":         {"a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		"all new":        {"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		"no last line":   {"a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"far apart":      {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n", "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n"},
		"six in between": {"1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n", "@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n"},
		"in the middle":  {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n6\n7\n8\n9\n", "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n"},
		"all gone":       {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"the shortest":   {"a\nb\nc\nd\n", "b\nx\nd\ny\n", "@@ -1,4 +1,4 @@\n-a\n b\n-c\n+x\n d\n+y\n"},
		"a line twice":   {"a\nb\n", "a\na\nb\n", "@@ -1,2 +1,3 @@\n a\n+a\n b\n"},
		"nothing":        {"a\n", "a\n", ""},
		"close together": {"1\n2\n3\n4\n", "x\n2\n3\ny\n", "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n-4\n+y\n"},
	} {
		if got := unifiedDiff("f", c.before, c.after); got != "--- a/f\n+++ b/f\n"+c.want {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

// A diff, applied to what was there, gives what is there: patch(1) says so.
func TestADiffCanBeApplied(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("patch is not installed")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "\n"}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		before, after := strings.Join(lines.Draw(t, "before"), ""), strings.Join(lines.Draw(t, "after"), "")
		if before == after || before == "" || after == "" {
			return
		}
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.Command(patch, "-s", "-p1", "--posix")
		command.Dir, command.Stdin = dir, strings.NewReader(unifiedDiff("f", before, after))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, unifiedDiff("f", before, after))
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != after {
			t.Fatalf("got %q, want %q: %v", got, after, err)
		}
	})
}

func TestALargeDiffIsCut(t *testing.T) {
	var before, after strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&before, "old %d\n", i)
		fmt.Fprintf(&after, "new %d\n", i)
	}
	got := unifiedDiff("f", before.String(), after.String())
	whole := len("--- a/f\n+++ b/f\n@@ -1,3000 +1,3000 @@\n") + before.Len() + after.Len() + 6000
	shown, note, ok := strings.Cut(got, "[cut here: ")
	if !ok || len(shown) > maxDiff || len(shown) < maxDiff-20 || !strings.HasSuffix(shown, "\n") || note != fmt.Sprintf("%d of %d bytes of the diff shown]\n", len(shown), whole) {
		t.Errorf("got %d bytes: %q", len(got), note)
	}
	if !strings.Contains(shown, "\n-old 0\n-old 1\n") {
		t.Errorf("got %.200s", shown)
	}
	room := maxDiff - len("--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+\n")
	if got := unifiedDiff("f", "", strings.Repeat("x", room)+"\n"); len(got) != maxDiff || strings.Contains(got, "[cut") {
		t.Errorf("what fits is cut: %d bytes", len(got))
	}
	if got := unifiedDiff("f", "", strings.Repeat("x", room+1)+"\n"); !strings.Contains(got, "[cut") {
		t.Errorf("what does not fit is not cut: %d bytes", len(got))
	}
}
