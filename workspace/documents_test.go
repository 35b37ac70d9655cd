package workspace

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// papers is a project with documents: opened as often as a test likes.
type papers struct {
	project, kept, sessions string
}

func newPapers(t *testing.T) papers {
	t.Helper()
	dir := t.TempDir()
	p := papers{filepath.Join(dir, "project"), filepath.Join(dir, "project/data/documents"), filepath.Join(dir, "project/data/agent-outputs")}
	for _, sub := range []string{"_bmad/bmm", "_bmad/_memory/w-sidecar", "docs", "data/documents", "data/agent-outputs/one", "data/agent-outputs/two"} {
		if err := os.MkdirAll(filepath.Join(p.project, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.put(t, "docs/old.md", "old")
	p.put(t, "_bmad/bmm/config.yaml", "a: b")
	p.put(t, "_bmad/_memory/w-sidecar/standards.md", "standards")
	p.put(t, "data/agent-outputs/two/secret.md", "of another session")
	return p
}

func (p papers) put(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(p.project, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p papers) open(t *testing.T, session string, project Access, inPlace bool) *Workspace {
	t.Helper()
	ws, err := Open(Config{
		Roots: []Root{
			{Name: ProjectRoot, Dir: p.project, Access: project},
			{Name: BundleRoot, Dir: filepath.Join(p.project, "_bmad/bmm"), Access: ReadOnly},
			{Name: "bmad-root", Dir: filepath.Join(p.project, "_bmad"), Access: ReadOnly},
			{Name: "outputs", Dir: p.sessions},
			{Name: SessionFolder, Dir: filepath.Join(p.sessions, session), Access: ReadWrite},
		},
		Documents: Documents{Dir: p.kept, InPlace: inPlace, Folders: []string{"docs", "_bmad-output"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws.With(ws.Vars().With(map[string]string{
		"planning_artifacts": "{project-root}/_bmad-output/planning", "output_folder": "_bmad-output",
	}))
}

func (p papers) save(t *testing.T, ws *Workspace, name, content string) Location {
	t.Helper()
	loc, moved, err := ws.ResolveOutput(name)
	if err != nil || moved {
		t.Fatalf("%s: moved %v, %v", name, moved, err)
	}
	if err := ws.Write(loc, []byte(content)); err != nil {
		t.Fatal(err)
	}
	return loc
}

func readName(ws *Workspace, name string) (string, error) {
	loc, err := ws.Resolve(name)
	if err != nil {
		return "", err
	}
	return ws.ReadFile(loc)
}

// A document is one thing under one name, whoever names it, in whichever session.
func TestADocumentIsReadByTheNameItWasWrittenBy(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		for _, access := range []Access{NoAccess, ReadOnly} {
			p := newPapers(t)
			first := p.open(t, "one", access, inPlace)
			for name, content := range map[string]string{
				"{planning_artifacts}/prd.md": "PRD", "{output_folder}/brief.md": "Brief", "docs/stories/1.1.md": "Story",
				"{project-root}/docs/architecture.md": "Architecture", "_bmad-output/x/.memlog.md": "- (note) n",
			} {
				if loc := p.save(t, first, name, content); !strings.HasPrefix(loc.String(), "{project-root}/") {
					t.Errorf("%s is shown as %s", name, loc)
				}
				second := p.open(t, "two", access, inPlace)
				if got, err := readName(second, name); err != nil || got != content {
					t.Errorf("in place %v, access %v: %s is %q, %v", inPlace, access, name, got, err)
				}
			}
			if got, err := readName(first, "{project-root}/_bmad-output/planning/prd.md"); err != nil || got != "PRD" {
				t.Errorf("by its full name: %q, %v", got, err)
			}
			home := p.kept
			if inPlace {
				home = p.project
			}
			if data, err := os.ReadFile(filepath.Join(home, "_bmad-output/planning/prd.md")); err != nil || string(data) != "PRD" {
				t.Errorf("in place %v: on disk is %q, %v", inPlace, data, err)
			}
		}
	}
}

func TestWhatIsNoDocumentStaysInTheSession(t *testing.T) {
	p := newPapers(t)
	ws := p.open(t, "one", ReadOnly, false)
	if loc := p.save(t, ws, "notes.md", "n"); loc.String() != "{session-folder}/notes.md" {
		t.Errorf("notes.md went to %s", loc)
	}
	if loc := p.save(t, ws, "work/notes.md", "n"); loc.String() != "{session-folder}/work/notes.md" {
		t.Errorf("work/notes.md went to %s", loc)
	}
	for _, name := range []string{"{bundle-root}/config.yaml", "{project-root}/_bmad/bmm/config.yaml", "{project-root}/data/agent-outputs/two/x.md"} {
		if _, _, err := ws.ResolveOutput(name); !errors.Is(err, ErrDenied) {
			t.Errorf("%s may be written: %v", name, err)
		}
	}
	for _, name := range []string{"{project-root}/data/agent-outputs/two/secret.md", "{project-root}/.env", "{project-root}/.git/config"} {
		if got, err := readName(ws, name); err == nil {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if _, _, err := p.open(t, "one", ReadOnly, true).ResolveOutput("{project-root}/src/main.go"); !errors.Is(err, ErrDenied) {
		t.Errorf("in place, sources may be written: %v", err)
	}
}

// What agents remember lies over what the installation brought.
func TestMemoriesAreDocuments(t *testing.T) {
	p := newPapers(t)
	ws := p.open(t, "one", NoAccess, false)
	const name = "{project-root}/_bmad/_memory/w-sidecar/standards.md"
	if got, err := readName(ws, name); err != nil || got != "standards" {
		t.Errorf("%q, %v", got, err)
	}
	p.save(t, ws, name, "my own")
	p.save(t, ws, "_bmad/_memory/w-sidecar/memories.md", "remembered")
	again := p.open(t, "two", NoAccess, false)
	for file, want := range map[string]string{name: "my own", "{project-root}/_bmad/_memory/w-sidecar/memories.md": "remembered"} {
		if got, err := readName(again, file); err != nil || got != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(p.project, "_bmad/_memory/w-sidecar/standards.md")); err != nil || string(data) != "standards" {
		t.Errorf("the installation holds %q, %v", data, err)
	}
}

func TestAnEarlierVersionCanBeRead(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		p := newPapers(t)
		ws := p.open(t, "one", NoAccess, inPlace)
		var loc Location
		for n := range maxVersions + 3 {
			loc = p.save(t, ws, "{planning_artifacts}/prd.md", strings.Repeat("x", n+1))
		}
		p.save(t, ws, "{planning_artifacts}/prd.md", strings.Repeat("x", maxVersions+3)) // the same again is no version
		versions, err := ws.Versions(loc)
		if err != nil || len(versions) != maxVersions || versions[0].Size != 3 {
			t.Fatalf("%d versions, %v: %v", len(versions), err, versions)
		}
		last := versions[len(versions)-1]
		if got, err := ws.ReadVersion(loc, last.Number); err != nil || len(got) != maxVersions+2 {
			t.Errorf("the last version has %d bytes, %v", len(got), err)
		}
		if _, err := ws.ReadVersion(loc, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("version 1: %v", err)
		}
		root, err := ws.Resolve("{project-root}/_bmad-output")
		if err != nil {
			t.Fatal(err)
		}
		if list, err := ws.List(root, 9); err != nil || len(list.Entries) != 2 {
			t.Errorf("versions are listed: %v, %v", list.Entries, err)
		}
	}
}

// A version that an editor, or git, has replaced in place is not lost with that.
func TestAVersionThatSomebodyReplacedInPlaceIsKept(t *testing.T) {
	p := newPapers(t)
	ws := p.open(t, "one", NoAccess, true)
	p.save(t, ws, "{planning_artifacts}/prd.md", "first")
	loc := p.save(t, ws, "{planning_artifacts}/prd.md", "second")
	file := filepath.Join(p.project, "_bmad-output/planning/prd.md")
	holds := func(want ...string) {
		t.Helper()
		versions, err := ws.Versions(loc)
		if err != nil || len(versions) != len(want) {
			t.Fatalf("versions %v, %v, want %q", versions, err, want)
		}
		for i, v := range versions {
			if got, err := ws.ReadVersion(loc, v.Number); err != nil || got != want[i] || v.Number != i+1 || v.Size != int64(len(got)) {
				t.Errorf("version %+v holds %q, %v, want %q", v, got, err, want[i])
			}
		}
	}
	replace := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds("first")
	replace("by an editor")
	holds("first", "second")
	replace("by an editor again")
	holds("first", "second")
	p.save(t, ws, "{planning_artifacts}/prd.md", "third")
	holds("first", "second", "by an editor again")
	replace("second")
	p.save(t, ws, "{planning_artifacts}/prd.md", "second") // which is what it holds
	holds("first", "second", "by an editor again", "third")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.save(t, ws, "{planning_artifacts}/prd.md", "fourth")
	holds("first", "second", "by an editor again", "third", "second")
}

// unwritable is an editor that has a file open and keeps it from being written while it is asked.
type unwritable struct{ t *testing.T }

func (u *unwritable) Read(string) (string, bool) { return "", false }

func (u *unwritable) Write(file, _ string) bool {
	if err := errors.Join(os.Rename(file, file+".away"), os.Mkdir(file, 0o755)); err != nil {
		u.t.Error(err)
	}
	return false
}

// write writes a document in vain.
func (u *unwritable) write(ws *Workspace, loc Location, file, content string) {
	u.t.Helper()
	broken := *ws
	broken.buffers = u
	if err := broken.Write(loc, []byte(content)); err == nil {
		u.t.Error("it was written")
	}
	if err := errors.Join(os.Remove(file), os.Rename(file+".away", file)); err != nil {
		u.t.Fatal(err)
	}
}

// What a write keeps that fails then is kept once, however often it is tried: tried again and again, it
// would push the real versions out.
func TestAWriteThatFailsAddsNoVersionsByBeingTriedAgain(t *testing.T) {
	p := newPapers(t)
	ws := p.open(t, "one", NoAccess, true)
	p.save(t, ws, "{planning_artifacts}/prd.md", "first")
	loc := p.save(t, ws, "{planning_artifacts}/prd.md", "second")
	file, u := filepath.Join(p.project, "_bmad-output/planning/prd.md"), &unwritable{t}
	holds := func(want ...string) {
		t.Helper()
		var got []string
		versions, err := ws.Versions(loc)
		for _, v := range versions {
			text, err := ws.ReadVersion(loc, v.Number)
			if err != nil {
				t.Error(err)
			}
			got = append(got, text)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("versions are %q, %v; want %q", got, err, want)
		}
	}
	for range 3 {
		u.write(ws, loc, file, "third")
		holds("first")
	}
	p.save(t, ws, "{planning_artifacts}/prd.md", "third")
	holds("first", "second")
	if err := os.WriteFile(file, []byte("by an editor"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		u.write(ws, loc, file, "fourth")
		holds("first", "second", "third")
	}
	if err := os.WriteFile(file, []byte("by an editor again"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.save(t, ws, "{planning_artifacts}/prd.md", "fourth")
	p.save(t, ws, "{planning_artifacts}/prd.md", "fifth")
	versions, err := ws.Versions(loc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"by an editor", "by an editor again", "fourth"} {
		if !slices.ContainsFunc(versions, func(v Version) bool { got, _ := ws.ReadVersion(loc, v.Number); return got == want }) {
			t.Errorf("%q is not among the versions", want)
		}
	}
	if len(versions) > 7 {
		t.Errorf("there are %v", versions)
	}
}

// What was written is written, also where the copy of it could not be made by which a version survives an
// editor: that is logged, and the next write makes one again.
func TestAWriteDoesNotFailForTheCopyOfIt(t *testing.T) {
	p := newPapers(t)
	ws := p.open(t, "one", NoAccess, true)
	var log strings.Builder
	ws.log = slog.New(slog.NewTextHandler(&log, nil))
	loc := p.save(t, ws, "{planning_artifacts}/prd.md", "first")
	latest, err := filepath.Glob(filepath.Join(p.kept, versionsDir, "*/*/*", latestName))
	if err != nil || len(latest) != 1 || log.Len() > 0 {
		t.Fatal(latest, err, log.String())
	}
	if err := errors.Join(os.Remove(latest[0]), os.Mkdir(latest[0], 0o755)); err != nil {
		t.Fatal(err)
	}
	p.save(t, ws, "{planning_artifacts}/prd.md", "second")
	if got, err := ws.ReadFile(loc); got != "second" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "prd.md") {
		t.Errorf("logged is %q", got)
	}
	if _, err := os.Lstat(latest[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a copy of something else: %v", err)
	}
	p.save(t, ws, "{planning_artifacts}/prd.md", "third")
	versions, err := ws.Versions(loc)
	if _, kept := os.ReadFile(latest[0]); kept != nil || err != nil || len(versions) != 2 {
		t.Errorf("%v, versions %v, %v", kept, versions, err)
	}
}

func TestListsAndPatternsSeeDocumentsOfBothPlaces(t *testing.T) {
	p := newPapers(t)
	ws := p.open(t, "one", ReadOnly, false)
	p.save(t, ws, "docs/new.md", "new")
	p.save(t, ws, "docs/prd/index.md", "index")
	p.save(t, ws, "docs/prd/epic-1.md", "epic")
	p.save(t, ws, "docs/old.md", "newer")
	for pattern, want := range map[string][]string{
		"docs/*.md":                      {"{project-root}/docs/new.md", "{project-root}/docs/old.md"},
		"{project-root}/docs/*prd*/*.md": {"{project-root}/docs/prd/epic-1.md", "{project-root}/docs/prd/index.md"},
		"docs/**/epic-?.md":              {"{project-root}/docs/prd/epic-1.md"},
		"docs/prd/index.md":              {"{project-root}/docs/prd/index.md"},
		"{bundle-root}/*.yaml":           {"{bundle-root}/config.yaml"},
		"docs/*.txt":                     nil,
	} {
		locs, _ := ws.Glob(pattern)
		var got []string
		for _, loc := range locs {
			got = append(got, loc.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s matches %q", pattern, got)
		}
	}
	if got, err := readName(ws, "docs/old.md"); err != nil || got != "newer" {
		t.Errorf("docs/old.md is %q, %v", got, err)
	}
}

func TestATemporaryWorkspaceKeepsNoVersions(t *testing.T) {
	kept, project := t.TempDir(), t.TempDir()
	ws, err := Open(Config{Roots: []Root{{Name: ProjectRoot, Dir: project}}, Documents: Documents{Dir: kept}, Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, content := range []string{"first", "second"} {
		loc, _, err := ws.ResolveOutput("{project-root}/docs/prd.md")
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(loc, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := ws.WrittenByAgent(loc); err != nil {
			t.Fatal(err)
		}
		if person, err := ws.ByPerson(loc); person != "" || err != nil {
			t.Errorf("a person wrote it: %q, %v", person, err)
		}
	}
	loc, err := ws.Resolve("{project-root}/docs/prd.md")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := ws.ReadFile(loc); text != "second" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if found, _ := os.ReadDir(filepath.Join(kept, versionsDir)); len(found) > 0 {
		t.Errorf("versions are kept: %v", found)
	}
}
