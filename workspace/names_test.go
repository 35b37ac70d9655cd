package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestAgentsCreateOnlyPortableNames(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	for _, name := range []string{
		"report.md", "Q&A (draft) #2.md", "résumé.md", "日本語.md", "emoji-😀.md", ".memlog.md", "console.md", "com10.txt", "a.b.c", "null",
		"lpt.txt", strings.Repeat("x", 200),
	} {
		if _, err := write(ws, name, "x"); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{
		"tab\there", "line\nbreak", "esc\x1b[0m", "del\x7f", "c1\u0085", "bidi\u202etxt.md", "zero\u200bwidth", "joiner\u200d", "soft\u00adhyphen",
		"bom\ufeff", "tag\U000e0041", "filler\u3164", "variation\ufe0f", "nbsp\u00a0x", "separator\u2028x", "private\ue000", "replaced\ufffd", "bad\xff",
		"a:b", "a\\b", "a|b", "a?b", "a*b", `a"b`, "a<b", "a>b", "{\"left\"}", "dot.", "space ", " space", "...",
		"CON", "con.txt", "nul", "Aux.tar.gz", "COM1", "lpt9.txt", "com¹", "CONIN$", "nul .txt",
		tempPrefix + "x", strings.Repeat("x", 201), strings.Repeat("é", 101),
	} {
		for _, path := range []string{name, name + "/file.md", "dir/" + name} {
			if _, err := write(ws, path, "x"); !errors.Is(err, ErrBadName) {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(w.session, "tab\there")); err == nil {
		t.Error("a refused name was created")
	}
}

func TestANewNameDiffersFromOthersInMoreThanCaseAndForm(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	put(t, w.session, "Report.md", "old")
	put(t, w.session, "re\u0301sume\u0301.md", "old") // as macOS stores it
	put(t, w.session, "Docs/x.md", "old")
	for _, name := range []string{"report.md", "REPORT.md", "r\u00e9sum\u00e9.md", "R\u00c9SUM\u00c9.md", "docs/y.md", "report.md/below"} {
		if _, err := write(ws, name, "new"); !errors.Is(err, ErrBadName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"Report.md", "Docs/X-ray.md", "Report2.md"} {
		if _, err := write(ws, name, "new"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAFullDirectoryGetsNoNewNames(t *testing.T) {
	w := newWorld(t)
	ws := openWith(t, Config{
		Roots:  []Root{{Name: SessionFolder, Dir: w.session, Access: ReadWrite}},
		Limits: Limits{Entries: 5},
	})
	for i := range 5 {
		put(t, w.session, "file-"+strconv.Itoa(i), "x")
	}
	_, err := write(ws, "one-more", "x")
	wantRefusal(t, err, ErrTooLarge, w.dir)
	if _, err := write(ws, "file-3", "new"); err != nil {
		t.Errorf("an existing file cannot be replaced: %v", err)
	}
}
