package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/git"
)

// folderOf makes a directory of files; what ends with a slash is a directory, and what has
// an arrow a link.
func folderOf(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, target, isLink := strings.Cut(name, "->")
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case isLink:
			err = os.Symlink(target, full)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = os.WriteFile(full, []byte(name+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// siteOf is a site whose checkout is a directory.
func siteOf(dir string, r Repository) *openSite {
	return &openSite{Site: &Site{Repo: dir}, workshop: &workshop{Repository: r}}
}

func TestOnlyLinksToPackagesOfTheRepositoryAreMembers(t *testing.T) {
	dir := folderOf(t, "packages/lib/a", "node_modules/dep/a", "node_modules/@x/own/a", "node_modules/lib->../packages/lib", "node_modules/out->/usr",
		"node_modules/gone->../nothing", "node_modules/other->dep", "node_modules/.bin/a", "elsewhere/node_modules/@s/lib->../../../packages/lib", "plain/node_modules/dep/a", "plain/node_modules/scope/lib->../../../packages/lib")
	o := siteOf(dir, Repository{})
	for link, want := range map[string]string{"node_modules/lib": "packages/lib", "node_modules/dep": "", "node_modules/out": "", "node_modules/gone": "", "node_modules/other": "", "nothing": ""} {
		if got, ok := o.member(filepath.Join(dir, link)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", link, got, ok)
		}
	}
	for folder, want := range map[string]bool{"node_modules": true, "elsewhere/node_modules": true, "plain/node_modules": false, "nothing": false} {
		if got := o.leadsToMembers(filepath.Join(dir, folder)); got != want {
			t.Errorf("%s: %t", folder, got)
		}
	}
}

func TestAMirrorLeadsToThePackagesOfTheWorktree(t *testing.T) {
	dir := folderOf(t, "packages/lib/a", "node_modules/dep/a", "node_modules/@x/lib->../../packages/lib", "node_modules/@x/own/a", "venv/a")
	o := siteOf(dir, Repository{})
	worktree := t.TempDir()
	if err := o.link(filepath.Join(dir, "node_modules"), filepath.Join(worktree, "node_modules"), worktree); err != nil {
		t.Fatal(err)
	}
	if err := o.link(filepath.Join(dir, "venv"), filepath.Join(worktree, "venv"), worktree); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"node_modules/@x/lib": filepath.Join(worktree, "packages/lib"), "node_modules/@x/own": filepath.Join(dir, "node_modules/@x/own"),
		"node_modules/dep": filepath.Join(dir, "node_modules/dep"), "venv": filepath.Join(dir, "venv"),
	} {
		if got, err := os.Readlink(filepath.Join(worktree, name)); got != want {
			t.Errorf("%s leads to %q: %v", name, got, err)
		}
	}
	if !isMirror(filepath.Join(worktree, "node_modules")) || isMirror(filepath.Join(worktree, "venv")) {
		t.Error("a mirror is not known by its mark")
	}
	if got := o.linked(worktree); !slices.Equal(got, []string{"node_modules", "venv"}) {
		t.Errorf("linked are %q", got)
	}
	if err := os.Symlink("/usr", filepath.Join(worktree, ".venv")); err != nil {
		t.Fatal(err)
	}
	if got := o.linked(worktree); !slices.Equal(got, []string{"node_modules", "venv"}) {
		t.Errorf("a link of somebody else is ours: %q", got)
	}
}

func TestDirectoriesThatMayBeShown(t *testing.T) {
	dir := folderOf(t, "packages/a/node_modules/x", "web/node_modules/x", ".hidden/node_modules/x", "a/b/c/node_modules/x")
	usual := []string{".venv", "node_modules", "vendor", "venv"}
	for name, c := range map[string]struct {
		r      Repository
		checks []checks.Check
		want   []string
	}{
		"the usual ones":     {Repository{}, nil, append(slices.Clone(usual), "packages/a/node_modules", "web/node_modules")},
		"of checks, too":     {Repository{}, []checks.Check{{Dir: "web"}, {}}, append(slices.Clone(usual), "packages/a/node_modules", "web/.venv", "web/node_modules", "web/vendor", "web/venv")},
		"those that are set": {Repository{Link: []string{"deps"}}, nil, []string{"deps"}},
		"none":               {Repository{Link: []string{}}, nil, nil},
		"a setup makes them": {Repository{Setup: []string{"npm ci"}}, nil, nil},
		"both":               {Repository{Setup: []string{"npm ci"}, Link: []string{"deps"}}, nil, []string{"deps"}},
	} {
		o := siteOf(dir, c.r)
		o.Checks = c.checks
		slices.Sort(c.want)
		if got := o.linkable(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	o := siteOf(dir, Repository{})
	first := o.packageFolders()
	if err := os.RemoveAll(filepath.Join(dir, "web")); err != nil {
		t.Fatal(err)
	}
	if again := o.packageFolders(); !slices.Equal(first, again) || len(first) != 2 {
		t.Errorf("%q, and then %q", first, again)
	}
}

func TestOnlyDirectoriesAreLinked(t *testing.T) {
	dir := folderOf(t, "deps/a", "file")
	o := siteOf(dir, Repository{Link: []string{"deps", "file", "gone", "../out", ".git"}})
	if got := o.links(t.Context()); !slices.Equal(got, []string{"deps"}) {
		t.Errorf("got %q", got)
	}
}

func TestFilesAreCopiedThatAreNamed(t *testing.T) {
	dir := folderOf(t, ".env", "config/a.local", "config/b.local", "config/link.local->a.local", "config/c.other", "dir/x")
	if err := os.WriteFile(filepath.Join(dir, ".worktreeinclude"), []byte("# a comment\n\n  config/*.local \nnothing\ndir\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := siteOf(dir, Repository{Copy: []string{".env", "gone", "../out"}, Link: []string{}})
	if got, want := o.copies(), []string{".env", "config/a.local", "config/b.local"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	worktree := t.TempDir()
	if err := o.furnish(t.Context(), worktree); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(worktree, "config/b.local")); string(data) != "config/b.local\n" {
		t.Errorf("got %q: %v", data, err)
	}
	if absolute("/repo", "/usr") != "/usr" || absolute("/repo", "deps") != "/repo/deps" {
		t.Error("a path is taken for another")
	}
}

func TestAFileIsReplacedAsAWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "below", "file")
	for _, text := range []string{"first", "second"} {
		if err := replaceFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(name); string(data) != text {
			t.Errorf("got %q: %v", data, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
	if err := replaceFile(filepath.Join(name, "below"), nil); err == nil {
		t.Error("a file is a directory")
	}
}

func TestOnlyWhatIsOldAndHalfWrittenIsSwept(t *testing.T) {
	dir := folderOf(t, ".new-1", "documents/.troupe-tmp-2", "documents/kept.md", ".new-dir/x")
	sweepFolder(dir, time.Now().Add(-time.Hour))
	if _, err := os.Stat(filepath.Join(dir, ".new-1")); err != nil {
		t.Error("what somebody still writes is gone")
	}
	s := &workshop{Repository: Repository{Data: filepath.Dir(dir)}, opened: time.Now().Add(time.Hour)}
	s.sweepOnce(filepath.Base(dir))
	for name, stays := range map[string]bool{".new-1": false, "documents/.troupe-tmp-2": false, "documents/kept.md": true, ".new-dir/x": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".new-3"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.sweepOnce(filepath.Base(dir))
	if _, err := os.Stat(filepath.Join(dir, ".new-3")); err != nil {
		t.Error("it was swept twice")
	}
}

func TestASiteIsOnFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadSite(dir); !os.IsNotExist(err) {
		t.Error(err)
	}
	if err := (&Site{ID: "x", Brought: []git.Part{{Before: "a", After: "b"}}}).Save(dir); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSite(dir); err != nil || s.ID != "x" || len(s.Brought) != 1 || s.Brought[0].After != "b" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, SiteFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSite(dir); err == nil || !strings.Contains(err.Error(), SiteFile) {
		t.Error(err)
	}
}

// What a conversation has seen whole is known after a restart, by path and content.
func TestWhatWasShownIsOnFile(t *testing.T) {
	s := &workshop{Repository: Repository{Data: t.TempDir()}}
	for _, name := range []string{"a.go", "b.go"} {
		if err := s.noteShown("session", "run-1", name, "text"); err != nil {
			t.Fatal(err)
		}
	}
	o := &openSite{folder: s.folder("session")}
	if got, want := o.shown([]string{"run-0", "run-1"}), []string{"a.go " + hashOf("text"), "b.go " + hashOf("text")}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := o.shown([]string{"run-2"}); got != nil {
		t.Errorf("got %q", got)
	}
}

func TestDocumentsAndOutputsAreFoundByName(t *testing.T) {
	dir := folderOf(t, "documents/specs/user-stories/2026-01-01-a.md", "documents/specs/user-stories/2026-01-02-b.md", "documents/specs/plans/p.md", "documents/specs/qa/q.md", "checks/unit-test.txt")
	s := &workshop{Repository: Repository{Data: filepath.Dir(dir)}}
	session := filepath.Base(dir)
	for phase, want := range map[string]string{"requirements": "2026-01-02-b.md", "planning": "plans/p.md", "qa": "qa/q.md", "architecture": ""} {
		got, err := s.documentOf(t.Context(), session, phase)
		if !strings.HasSuffix(strings.TrimSpace(got), want) || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", phase, got, err)
		}
	}
	if got, err := s.outputOf(t.Context(), session, "Unit Test"); got != "checks/unit-test.txt\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := s.outputOf(t.Context(), session, "lint"); err == nil || !strings.Contains(err.Error(), `the check "lint" was not run`) {
		t.Error(err)
	}
}
