package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestOutputsGoToTheSessionFolderUnlessAnotherRootIsGranted(t *testing.T) {
	w := newWorld(t)
	config := map[string]string{"output_folder": "{project-root}/docs"}
	for _, c := range []struct {
		name, want string
		moved      bool
	}{
		{"report.md", "{session-folder}/report.md", false},
		{"./a/../b/report.md", "{session-folder}/b/report.md", false},
		{"{session_folder}/report.md", "{session-folder}/report.md", false},
		{"{{SESSION_FOLDER}}/report-{date}.md", "{session-folder}/report-2026-11-15.md", false},
		{"{project-root}/data/agent-outputs/one/report.md", "{session-folder}/report.md", false},
		{"data/agent-outputs/one/report.md", "{session-folder}/report.md", false},
		{"{output_folder}/report.md", "{session-folder}/docs/report.md", true},
		{"{bundle-root}/config.yaml", "{session-folder}/config.yaml", true},
		{"{project-root}/data/agent-outputs/two/x.md", "{session-folder}/data/agent-outputs/two/x.md", true},
		{"re\u0301sume\u0301.md", "{session-folder}/r\u00e9sum\u00e9.md", false},
	} {
		ws := w.open(t)
		ws = ws.With(ws.Vars().WithConfig(config))
		loc, moved, err := ws.ResolveOutput(c.name)
		if err != nil || loc.String() != c.want || moved != c.moved {
			t.Errorf("%s goes to %v, %v, %v; want %s, %v", c.name, loc, moved, err, c.want, c.moved)
			continue
		}
		if err := ws.Write(loc, []byte("content")); err != nil {
			t.Error(err)
		}
		wantRead(t, ws, loc.String(), "content")
	}
	wantRead(t, w.open(t), "{bundle-root}/config.yaml", "user_name: Ada\n")
	if _, err := os.Stat(filepath.Join(w.project, "docs/report.md")); err == nil {
		t.Error("written to the project without a grant")
	}

	granted := w.open(t, Root{Name: ProjectRoot, Dir: w.project, Access: ReadWrite})
	granted = granted.With(granted.Vars().WithConfig(config))
	if loc, err := write(granted, "{output_folder}/report.md", "granted"); err != nil || loc.String() != "{project-root}/docs/report.md" {
		t.Errorf("written to %v, %v", loc, err)
	}
	if loc, err := write(granted, "report.md", "plain"); err != nil || loc.Root() != SessionFolder {
		t.Errorf("a plain name is written to %v, %v", loc, err)
	}
}

func TestWithoutASessionFolderNothingIsWritten(t *testing.T) {
	w := newWorld(t)
	ws := openWith(t, Config{Roots: []Root{{Name: BundleRoot, Dir: w.bundle, Access: ReadOnly}}})
	_, _, err := ws.ResolveOutput("x.md")
	wantRefusal(t, err, ErrDenied, w.dir)
}

func TestWritesAreRefusedWhereReadingIsAllTheyMay(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	for _, name := range []string{"{bundle-root}/new.md", "{core-root}/new.md", "{project-root}/new.md"} {
		loc, err := ws.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, ws.Write(loc, []byte("x")), ErrDenied, w.dir)
	}
}

func TestWriteCreatesPrivateFilesAndKeepsModesOfOthers(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t, Root{Name: ProjectRoot, Dir: w.project, Access: ReadWrite})
	put(t, w.project, "script.sh", "old")
	if err := os.Chmod(filepath.Join(w.project, "script.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/b/private.md", "{project-root}/script.sh"} {
		if _, err := write(ws, name, "new"); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]fs.FileMode{
		w.session + "/a": 0o700, w.session + "/a/b/private.md": 0o600, w.project + "/script.sh": 0o755,
	} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", filepath.Base(file), info.Mode(), err, want)
		}
	}
}

func TestWriteRefusesDirectoriesLargeContentsAndDeepNames(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	put(t, w.session, "dir/file", "x")
	for name, want := range map[string]error{
		"dir": ErrNotRegular, "{session-folder}": ErrNotRegular, ".": ErrNotRegular,
		strings.Repeat("d/", 32) + "x": ErrTooLarge,
	} {
		_, err := write(ws, name, "content")
		wantRefusal(t, err, want, w.dir)
	}
	_, err := write(ws, "big", strings.Repeat("x", 10<<20+1))
	wantRefusal(t, err, ErrTooLarge, w.dir)
	if _, err := write(ws, strings.Repeat("d/", 31)+"x", "content"); err != nil {
		t.Error(err)
	}
}

func TestWriteReplacesALinkAndFollowsOneToADirectoryInside(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	put(t, w.session, "real/x", "x")
	put(t, w.session, "other/x", "x")
	link(t, filepath.Join(w.outside, "canary.txt"), w.session, "out")
	link(t, "notes.md", w.session, "in")
	link(t, "../real", filepath.Join(w.session, "other"), "dir")
	link(t, w.outside, w.session, "dir-out")
	for _, name := range []string{"out", "in", "other/dir/new.md"} {
		if _, err := write(ws, name, "replaced"); err != nil {
			t.Error(err)
		}
		wantRead(t, ws, "{session-folder}/"+name, "replaced")
	}
	wantRead(t, ws, "{session-folder}/notes.md", "notes")
	wantRead(t, ws, "{session-folder}/real/new.md", "replaced")
	_, err := write(ws, "dir-out/canary.txt", "replaced")
	wantRefusal(t, err, ErrDenied, w.dir)
	if content, _ := os.ReadFile(filepath.Join(w.outside, "canary.txt")); string(content) != canary {
		t.Errorf("outside there is %q", content)
	}
}

func TestMakeDirMakesWhatIsMissingAndKeepsWhatIsThere(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	put(t, w.session, "real/x", "x")
	link(t, "real", w.session, "in")
	link(t, w.outside, w.session, "out")
	for name, want := range map[string]error{
		"a/b/c": nil, "a/b": nil, "{session-folder}": nil, "real": nil, "in/new": nil, strings.Repeat("d/", 31): nil,
		"out/new": ErrDenied, "out": ErrDenied, "../new": ErrDenied, "notes.md": syscall.ENOTDIR, "notes.md/new": syscall.ENOTDIR,
		"REAL": ErrBadName, "con": ErrBadName, "a\u202eb": ErrBadName, strings.Repeat("d/", 32): ErrTooLarge,
	} {
		for range 2 { // the second time changes nothing
			loc, _, err := ws.ResolveOutput(name)
			if err == nil {
				err = ws.MakeDir(loc)
			}
			wantRefusal(t, err, want, w.dir)
		}
	}
	wantOnly(t, filepath.Join(w.session, "real"), "new", "x")
	wantOnly(t, w.session, "a", "d", "in", "notes.md", "out", "real")
	wantOnly(t, w.outside, "canary.txt")
	if info, err := os.Stat(filepath.Join(w.session, "a/b/c")); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("made %v, %v", info, err)
	}
	closed, err := ws.Resolve("{bundle-root}/new")
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, ws.MakeDir(closed), ErrDenied, w.dir)
	wantRefusal(t, ws.MakeDir(Location{}), ErrDenied, w.dir)
}

func TestReadersSeeTheOldFileOrTheNewOne(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	version := func(i int) string { return strings.Repeat(fmt.Sprintf("version %03d\n", i), 5000) }
	if _, err := write(ws, "report.md", version(0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for i := range 50 {
			if _, err := write(ws, "report.md", version(i)); err != nil {
				t.Error(err)
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		content, err := os.ReadFile(filepath.Join(w.session, "report.md"))
		if err != nil || len(content) != len(version(0)) || strings.Count(string(content), string(content[:12])) != 5000 {
			t.Fatalf("a reader saw %d bytes, %v", len(content), err)
		}
	}
	wg.Wait()
	wantOnly(t, w.session, "notes.md", "report.md")
}

// wantOnly checks that a directory holds these entries and no other, such as
// temporary ones.
func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %v; want %v", filepath.Base(dir), got, want)
	}
}

func TestAFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	w := newWorld(t)
	dir, err := os.OpenRoot(w.session)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	put(t, w.session, "in-the-way/file", "x")
	if err := new(Workspace).replaceFile(dir, "in-the-way", []byte("new"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	wantOnly(t, w.session, "in-the-way", "notes.md")
}

func TestConcurrentWritesDoNotMixNamesThatDifferInCase(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			name := []byte("reports/abcd.md")
			for bit := range 4 {
				if i>>bit&1 == 1 {
					name[8+bit] -= 'a' - 'A'
				}
			}
			_, errs[i] = write(ws, string(name), "content")
		})
	}
	wg.Wait()
	written := 0
	for _, err := range errs {
		if err == nil {
			written++
		} else if !errors.Is(err, ErrBadName) {
			t.Error(err)
		}
	}
	if written != 1 {
		t.Errorf("%d of 16 spellings were written", written)
	}
}

func TestSweepRemovesWhatInterruptedWritesLeft(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t, Root{Name: ProjectRoot, Dir: w.project, Access: ReadWrite})
	started := time.Now().Add(time.Minute)
	left := []string{
		put(t, w.session, "a/b/"+tempPrefix+"1", "half"),
		put(t, w.project, "docs/"+tempPrefix+"2", "half"),
	}
	young := put(t, w.session, tempPrefix+"young", "being written")
	if err := os.Chtimes(young, started, started); err != nil {
		t.Fatal(err)
	}
	foreign := put(t, w.bundle, tempPrefix+"3", "not ours to remove")
	link(t, "../notes.md", filepath.Join(w.session, "a"), tempPrefix+"link")

	if entries, _ := listed(t, ws, "{session-folder}", 9); strings.Contains(fmt.Sprint(entries), tempPrefix) {
		t.Errorf("temporary files are listed: %v", entries)
	}
	removed, err := ws.Sweep(started)
	if err != nil || removed != 2 {
		t.Errorf("Sweep removed %d, %v", removed, err)
	}
	for _, file := range left {
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("%s is still there", filepath.Base(file))
		}
	}
	for _, file := range []string{young, foreign, filepath.Join(w.session, "notes.md")} {
		if _, err := os.Lstat(file); err != nil {
			t.Errorf("%s is gone", filepath.Base(file))
		}
	}
}
