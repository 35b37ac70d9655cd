package skill

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestChangesAreSeenWithoutARestart(t *testing.T) {
	t.Attr("FR", "FR-016")
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, filepath.Join(dir, "later"), dir)
		step := func(want string) {
			t.Helper()
			time.Sleep(moment)
			if got := names(l.List()); got != want {
				t.Errorf("skills are %q, want %q", got, want)
			}
		}
		step("")
		put(t, dir, "a/SKILL.md", text("a", "First.", ""))
		if got := l.List(); len(got) > 0 {
			t.Errorf("looked again at once: %v", got)
		}
		step("a")
		put(t, dir, "b.md", "label: b\ndescription: x\n")
		put(t, dir, "later/c/SKILL.md", text("c", "In a root that is new.", ""))
		step("a b c")
		put(t, dir, "a/SKILL.md", text("aa", "Renamed.", ""))
		if err := os.Remove(filepath.Join(dir, "b.md")); err != nil {
			t.Fatal(err)
		}
		step("aa c")
		if err := os.RemoveAll(filepath.Join(dir, "later")); err != nil {
			t.Fatal(err)
		}
		step("aa")
	})
}

func TestLoadReadsTheFileAsItIsNow(t *testing.T) {
	t.Attr("FR", "FR-016")
	dir := t.TempDir()
	put(t, dir, "a/SKILL.md", text("a", "First.", "one"))
	l := open(t, dir)
	one := load(t, l, "a")
	put(t, dir, "a/SKILL.md", text("a", "First.", "two"))
	if two := load(t, l, "a"); two.Content != "two" || two.Version == one.Version || len(two.Version) != 64 {
		t.Errorf("%+v after %+v", two, one)
	}
	put(t, dir, "a/SKILL.md", text("a", "First.", "one"))
	if again := load(t, l, "a"); again.Version != one.Version {
		t.Error("the same file has another version")
	}
	put(t, dir, "new/SKILL.md", text("new", "Just made.", "three"))
	if three := load(t, l, "new"); three.Content != "three" {
		t.Errorf("%+v", three)
	}
}

func TestAHalfWrittenFileNeverReplacesAGoodOne(t *testing.T) {
	t.Attr("FR", "FR-016")
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		write := func(content string) { putAt(t, dir, "a/SKILL.md", content, time.Now()) }
		put(t, dir, "a/SKILL.md", text("a", "First.", "one"))
		l := open(t, dir)
		load(t, l, "a")

		// The header is whole, the body is not.
		write(text("a", "Second.", "tw"))
		var writing sync.WaitGroup
		writing.Go(func() {
			time.Sleep(moment / 2)
			write(text("a", "Second.", "two"))
		})
		start := time.Now()
		if doc := load(t, l, "a"); doc.Content != "one" || time.Since(start) != moment {
			t.Errorf("while it is written: %q after %v", doc.Content, time.Since(start))
		}
		writing.Wait()
		if s, _ := l.Find("a"); s.Description != "First." {
			t.Errorf("while it is written: %+v", s)
		}
		if got := summary(l.Findings(), dir); got != "warning stale-skill a/SKILL.md:1\n" {
			t.Errorf("while it is written:\n%s", got)
		}
		if doc := load(t, l, "a"); doc.Content != "two" || time.Since(start) != moment+moment/2 {
			t.Errorf("when it is written: %q after %v", doc.Content, time.Since(start))
		}
		time.Sleep(moment)
		if s, _ := l.Find("a"); s.Description != "Second." || len(l.Findings()) > 0 {
			t.Errorf("when it is written: %+v, %v", s, l.Findings())
		}
	})
}

func TestABrokenFileLeavesTheLastGoodVersion(t *testing.T) {
	t.Attr("FR", "FR-016")
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "a/SKILL.md", text("a", "First.", "one"))
		put(t, dir, "b/SKILL.md", text("b", "Never loaded.", "one"))
		l := open(t, dir)
		good := load(t, l, "a")
		for _, broken := range []string{"", "---\nname: a\n", text("a", "", ""), "\x00", text("a", "x", "\x00"), text("a", "x", strings.Repeat("x", maxFile))} {
			put(t, dir, "a/SKILL.md", broken)
			put(t, dir, "b/SKILL.md", broken)
			if doc := load(t, l, "a"); doc.Version != good.Version {
				t.Errorf("%.20q took its place: %+v", broken, doc)
			}
			if doc, err := l.Load(t.Context(), "b"); err == nil || strings.Contains(err.Error(), dir) {
				t.Errorf("%.20q was loaded as %+v, %v", broken, doc, err)
			}
		}
		put(t, dir, "a/SKILL.md", "---\nname: a\n")
		time.Sleep(moment)
		if got := summary(l.Findings(), dir); !strings.HasPrefix(got, "error skill-front-matter a/SKILL.md:1\nwarning stale-skill a/SKILL.md:1\n") {
			t.Errorf("findings\n%s", got)
		}
		put(t, dir, "a/SKILL.md", text("a", "Mended.", "two"))
		if doc := load(t, l, "a"); doc.Content != "two" {
			t.Errorf("%+v", doc)
		}
	})
}

func TestAYoungFileIsUsedWhereThereIsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		putAt(t, dir, "a/SKILL.md", text("a", "Just made.", "one"), time.Now())
		l := open(t, dir)
		if got := names(l.List()); got != "a" || len(l.Findings()) > 0 {
			t.Errorf("%s, %v", got, l.Findings())
		}
		ctx, cancel := context.WithTimeout(t.Context(), moment/2)
		defer cancel()
		if _, err := l.Load(ctx, "a"); err != context.DeadlineExceeded {
			t.Errorf("Load did not heed its context: %v", err)
		}
		if doc := load(t, l, "a"); doc.Content != "one" {
			t.Errorf("%+v", doc)
		}
	})
}

func TestAnUnreadableRootKeepsItsSkills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "skills")
		put(t, dir, "a/SKILL.md", text("a", "First.", "one"))
		l := open(t, dir)
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Dir(dir), "skills", "a file")
		time.Sleep(moment)
		if got := names(l.List()); got != "a" || codes(l.Findings()) != CodeUnreadable {
			t.Errorf("%s, %v", got, l.Findings())
		}
	})
}

func TestFindingsAreLoggedAsTheyComeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var log bytes.Buffer
		l, err := Open(Config{Roots: []string{dir}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, "bare.md", "no header")
		for range 3 {
			time.Sleep(moment)
			l.List()
		}
		if n := strings.Count(log.String(), CodeFrontMatter); n != 1 {
			t.Errorf("logged %d times:\n%s", n, &log)
		}
	})
}

func TestALibraryServesManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a/SKILL.md", text("a", "First.", "one"))
	l := open(t, dir)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				l.List()
				l.Search("first", "")
				l.Overview(0)
				l.Lint(nil)
				if doc, err := l.Load(context.Background(), "a"); err != nil || doc.Content != "one" && doc.Content != "two" {
					t.Errorf("%+v, %v", doc, err)
				}
				if i == 0 {
					// A rename, as editors do it: the file is never half there.
					put(t, dir, "a/new", text("a", "First.", "two"))
					if err := os.Rename(filepath.Join(dir, "a/new"), filepath.Join(dir, "a/SKILL.md")); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}
