package pipeline

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/checks"
)

// run runs a line of shell in a directory.
func run(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := replaceFile(filepath.Join(dir, name), []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
}

// openedSite is the site of a delivery into a repository of files, and the state it begins with.
func openedSite(t *testing.T, files map[string]string, r Repository) (*openSite, state) {
	t.Helper()
	t.Parallel() // most of its time it waits for git
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "repo")
	write(t, repo, files)
	run(t, repo, "git init -q -b main . && git config gc.auto 0 && git config maintenance.auto false && git add -Af && git commit -qm begin")
	r.Data, r.Worktrees = filepath.Join(dir, "data"), filepath.Join(dir, "worktrees")
	s := &workshop{Repository: r, opened: time.Now()}
	site := &Site{Session: "session", ID: "id", Repo: repo, Worktree: filepath.Join(r.Worktrees, "id"), Branch: "troupe/x", Base: run(t, repo, "git rev-parse HEAD")}
	if err := site.Save(s.folder("session")); err != nil {
		t.Fatal(err)
	}
	o, err := s.openSite(t.Context(), "session")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := o.worktree.TreeOf(t.Context(), o.Base)
	if err != nil {
		t.Fatal(err)
	}
	return o, state{Head: o.Base, Tree: tree}
}

// filled is openedSite with the files in the worktree.
func filled(t *testing.T, files map[string]string, r Repository) (*openSite, state) {
	t.Helper()
	o, at := openedSite(t, files, r)
	if err := o.become(t.Context(), at.Tree); err != nil {
		t.Fatal(err)
	}
	return o, at
}

func TestARepositoryIsDescribed(t *testing.T) {
	o, at := openedSite(t, map[string]string{
		"README.md": "# First\n", "readme.txt": "second\n", "AGENTS.md": "agents\n", "CLAUDE.md": strings.Repeat("x", 9000), "docs/contributing.md": "not at the top\n",
		"main.go": "package main\n", "a.go": "package main\n", "Makefile": "all:\n", "x.sevenff": "", "x.eightfff": "", ".env": "KEY=1\n", "binary.dat": "\x00",
	}, Repository{})
	o.Checks = []checks.Check{{Name: "test", Shell: "make test"}}
	p, err := o.profile(t.Context(), at.Tree)
	if err != nil {
		t.Fatal(err)
	}
	if p.Files != 11 || fmt.Sprint(p.Languages) != "map[dat:1 go:2 md:4 sevenff:1 txt:1]" || p.Readme != "# First\n" || !slices.Equal(p.Checks, []string{"test: make test"}) || !strings.Contains(p.Outline, "README.md:1: # First") {
		t.Errorf("got %d files, %v, %q, %q, %q", p.Files, p.Languages, p.Readme, p.Checks, p.Outline)
	}
	if !strings.HasPrefix(p.Guides, "agents\nxxx") || len(p.Guides) != 8<<10 {
		t.Errorf("%d bytes of guides", len(p.Guides))
	}
	v, err := o.view(t.Context(), at.Tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := v.Read(".env"); ok || err != nil {
		t.Errorf("a key is shown: %v", err)
	}
	if text, ok, err := v.Read("main.go"); text != "package main\n" || !ok || err != nil {
		t.Errorf("%q, %t, %v", text, ok, err)
	}
	for name, want := range map[string]string{"main.go": "pack", "binary.dat": "", "gone": ""} {
		if got := v.beginning(name, 4); got != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := v.beginning("main.go", 0); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestRareLanguagesAreLeftOutWhereThereAreMany(t *testing.T) {
	files := map[string]string{"a.go": "", "b.go": "", "c.go": "", "a.ts": "", "b.ts": ""}
	for i := range 11 {
		files[fmt.Sprintf("x.e%d", i)] = ""
	}
	o, at := openedSite(t, files, Repository{})
	if p, err := o.profile(t.Context(), at.Tree); err != nil || fmt.Sprint(p.Languages) != "map[go:3]" {
		t.Errorf("%v, %v", p.Languages, err)
	}
}

func TestNamesOfTestsAreLookedForInAllFiles(t *testing.T) {
	o, at := openedSite(t, map[string]string{"a_test.go": "func TestA() {}\n", "b.go": "// TestB\n", "z/c_test.go": "func TestC() {}\n"}, Repository{})
	v, err := o.view(t.Context(), at.Tree)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"TestA", "TestX", "TestB", "TestC", "TestY"}
	if got, err := missingTests(v, names); err != nil || !slices.Equal(got, []string{"TestX", "TestY"}) || names[1] != "TestX" {
		t.Errorf("%q, %v", got, err)
	}
	v.paths = make([]string, maxSearched+1)
	if got, err := missingTests(v, names); err != nil || got != nil {
		t.Errorf("of too many files: %q, %v", got, err)
	}
}

// What a person changes in the worktree is found, kept and said; what we have put there is not.
func TestAWorktreeIsFoundAsItWasLeft(t *testing.T) {
	o, at := filled(t, map[string]string{"a": "1\n", "b": "1\n"}, Repository{})
	ctx := t.Context()
	if got, err := o.find(ctx, at, time.Unix(0, 0)); err != nil || got.Tree != at.Tree || got.Head != at.Head || got.ByHand != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(o.pending()); err == nil {
		t.Error("it is still being changed")
	}
	write(t, o.Worktree, map[string]string{"a": "by hand\n"})
	if got, err := o.ChangedByHand(ctx, o.folder); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q, %v", got, err)
	}
	by, err := o.find(ctx, at, time.Unix(0, 0))
	if err != nil || !slices.Equal(by.ByHand, []string{"a"}) || by.Head == at.Head || by.Tree == at.Tree {
		t.Fatalf("%+v, %v", by, err)
	}
	if got := run(t, o.Worktree, "git log --format=%s%n%b -1; git status --porcelain; cat a"); !strings.HasPrefix(got, "By hand\nDelivered-by: Troupe , delivery id, step by hand") || !strings.HasSuffix(got, "by hand") || strings.Contains(got, "M ") {
		t.Errorf("got %s", got)
	}
	if got, err := o.ChangedByHand(ctx, o.folder); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
	o.mark() // as if it had been killed
	write(t, o.Worktree, map[string]string{"a": "half\n"})
	if got, err := o.ChangedByHand(ctx, o.folder); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
	again, err := o.find(ctx, by, time.Unix(0, 0))
	if err != nil || again.ByHand != nil || again.Tree != by.Tree || run(t, o.Worktree, "cat a") != "by hand" {
		t.Errorf("%+v, %v", again, err)
	}
}

// A commit that a person makes is the new head, with what was not committed yet on top of it.
func TestACommitByHandIsBuiltOn(t *testing.T) {
	o, at := filled(t, map[string]string{"a": "1\n", "b": "1\n"}, Repository{})
	run(t, o.Worktree, "echo 2 >a && git commit -qam mine")
	got, err := o.find(t.Context(), at, time.Unix(0, 0))
	if err != nil || !slices.Equal(got.ByHand, []string{"a"}) || got.Head != run(t, o.Worktree, "git rev-parse HEAD") || got.Tree != run(t, o.Worktree, "git rev-parse HEAD^{tree}") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A link of ours to what git ignores is no change by hand.
func TestLinksOfOursAreNoChangeByHand(t *testing.T) {
	o, _ := filled(t, map[string]string{"a": "1\n"}, Repository{})
	write(t, o.Repo, map[string]string{"deps/x": "x"})
	for name, target := range map[string]string{"deps": filepath.Join(o.Repo, "deps"), "other": "/usr"} {
		if err := os.Symlink(target, filepath.Join(o.Worktree, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := o.ChangedByHand(t.Context(), o.folder); err != nil || !slices.Equal(got, []string{"other"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := o.ChangedByHand(t.Context(), t.TempDir()); err != nil || got != nil {
		t.Errorf("of one that never worked: %q, %v", got, err)
	}
}

// The setup runs on the base with the manifests of the change, and with nothing else of it.
func TestASetupRunsOnTheManifestsOfTheChange(t *testing.T) {
	o, at := filled(t, map[string]string{"package.json": `{"dependencies": {"a": "1"}}`, "index.js": "1\n", "go.mod": "module x\n"}, Repository{Setup: []string{"npm ci"}})
	change := func(files map[string]string) state {
		write(t, o.Worktree, files)
		tree, err := o.worktree.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return state{Head: at.Head, Tree: tree}
	}
	look := func(at state) dependencyChange {
		t.Helper()
		got, err := o.dependencies(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := look(change(map[string]string{"index.js": "2\n", "package.json": `{"name": "x", "dependencies": {"a": "1"}}`})); got.Setup != "" || got.Paths != nil || got.Diff != "" {
		t.Errorf("nothing else is wanted: %+v", got)
	}
	wanted := change(map[string]string{"package.json": `{"dependencies": {"a": "2"}}`})
	got := look(wanted)
	if !slices.Equal(got.Paths, []string{"package.json"}) || got.Setup == "" || !strings.Contains(got.Diff, `+{"dependencies": {"a": "2"}}`) || strings.Contains(got.Diff, "index.js") {
		t.Errorf("another version is wanted: %+v", got)
	}
	if text := run(t, o.Worktree, "git show "+got.Setup+":index.js "+got.Setup+":package.json"); !strings.HasPrefix(text, "1\n{") || !strings.Contains(text, `"a": "2"`) {
		t.Errorf("the setup would run on %s", text)
	}
	wanted.Setup = got.Setup
	if done := look(wanted); done.Paths != nil || done.Setup != got.Setup {
		t.Errorf("it ran on that already: %+v", done)
	}
	for trees, want := range map[string]string{"": "", "other": "", got.Setup: got.Setup} {
		if o.SetupTrees = nil; trees != "" {
			o.SetupTrees = []string{"x", trees}
		}
		if allowed, err := o.allowedSetup(t.Context(), wanted.Tree); err != nil || allowed != want {
			t.Errorf("of %q: %q, %v", trees, allowed, err)
		}
	}
	run(t, o.Worktree, "rm go.mod")
	if gone := look(change(nil)); !slices.Equal(gone.Paths, []string{"go.mod", "package.json"}) {
		t.Errorf("a manifest is gone: %+v", gone)
	}
}

func TestABranchIsNamedSoThatGitCanHaveIt(t *testing.T) {
	o, _ := openedSite(t, map[string]string{"a": ""}, Repository{})
	run(t, o.Repo, "git branch top && git branch taken/one && git branch deep/in")
	for pattern, want := range map[string]string{"free/<feature>-<id>": "free/todo-id", "top/<id>": "", "taken/one": "", "taken/two": "taken/two", "deep/in/it": ""} {
		o.workshop.Branch = pattern
		got, err := o.freeBranch(t.Context(), o.repo, strings.NewReplacer("<feature>", "todo", "<id>", "id"))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	o.workshop.Branch = defaultBranch
	run(t, o.Repo, "git worktree remove -f "+o.Worktree+" && git branch -D troupe/x && git branch troupe")
	if got, err := o.freeBranch(t.Context(), o.repo, strings.NewReplacer("<feature>", "todo", "<id>", "id")); got != "troupe-todo-id" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAPlanAndDocumentsAreTakenOver(t *testing.T) {
	s := &workshop{Repository: Repository{Data: t.TempDir()}}
	if err := s.takeOver("nobody", "new"); err != nil {
		t.Error(err)
	}
	write(t, s.folder("old"), map[string]string{"documents/specs/a.md": "A", PlanFile: "steps: []\n"})
	for range 2 { // as after a kill
		if err := s.takeOver("old", "new"); err != nil {
			t.Error(err)
		}
	}
	if text, err := s.readDocument("new", "specs/a.md"); text != "A" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if data, err := os.ReadFile(s.planFile("new")); string(data) != "steps: []\n" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := s.readDocument("new", "../"+PlanFile); err == nil {
		t.Error("a document is outside of its folder")
	}
}

// The checks of a round find what those before them left; another round does not.
func TestARoundIsKnownByItsCommitSetupAndChecks(t *testing.T) {
	o, _ := filled(t, map[string]string{"a": ""}, Repository{})
	round := cleanRound{Commit: "c", Setup: "s", Checks: []string{"build"}}
	if round.isOf(o.worktree) {
		t.Error("there was none")
	}
	if err := round.save(o.worktree); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		round cleanRound
		want  bool
	}{
		{round, true}, {cleanRound{"d", "s", []string{"build"}}, false}, {cleanRound{"c", "t", []string{"build"}}, false}, {cleanRound{"c", "s", []string{"build", "test"}}, false},
	} {
		if got := c.round.isOf(o.worktree); got != c.want {
			t.Errorf("%+v: %t", c.round, got)
		}
	}
	if err := os.WriteFile(cleanRoundFile(o.worktree), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if round.isOf(o.worktree) {
		t.Error("what cannot be read is of a round")
	}
}

func TestWhatFormattersDoToOtherFilesIsUndone(t *testing.T) {
	o, at := filled(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"}, Repository{})
	since := at.Tree
	write(t, o.Worktree, map[string]string{"a": "TWO\n", "c": "TWO\n"})
	var err error
	if at.Tree, err = o.worktree.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, o.Worktree, map[string]string{"a": "two\n", "b": "one\n", "c": "\x00", "new": "x\n"})
	got, err := o.keepFormatted(t.Context(), at, since)
	if err != nil || got.Tree == at.Tree {
		t.Fatalf("%+v, %v", got, err)
	}
	if text := run(t, o.Worktree, "cat a b c; ls; git show "+got.Tree+":a"); text != "two\n1\nTWO\na\nb\nc\ntwo" {
		t.Errorf("got %q", text)
	}
	if same, err := o.keepFormatted(t.Context(), got, since); err != nil || same.Tree != got.Tree {
		t.Errorf("%+v, %v", same, err)
	}
}

// An agent sees what was changed so far, or by one step, as a whole or in one file.
func TestAnAgentSeesWhatWasChanged(t *testing.T) {
	o, at := filled(t, map[string]string{"a": "1\n", "b": "1\n"}, Repository{})
	commit := func(files map[string]string) string {
		write(t, o.Worktree, files)
		run(t, o.Worktree, "git add -A && git commit -qm step")
		return run(t, o.Worktree, "git rev-parse HEAD")
	}
	first := commit(map[string]string{"a": "first\n"})
	commit(map[string]string{"b": "second\n"})
	write(t, o.Worktree, map[string]string{"c": "third\n"})
	if _, err := o.diffFor(t.Context(), "session", "", "1"); err == nil {
		t.Error("there is no plan")
	}
	plan := planOfSteps(PlanStep{ID: "1", Status: StepDone, Commit: first}, PlanStep{ID: "2"})
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	write(t, o.folder, map[string]string{PlanFile: string(plan.YAML())})
	for _, c := range []struct {
		path, step string
		want       []string
	}{
		{"", "", []string{"+first", "+second", "+third"}}, {"b", "", []string{"+second"}}, {"", "1", []string{"+first"}}, {"b", "1", nil},
	} {
		got, err := o.diffFor(t.Context(), "session", c.path, c.step)
		var lines []string
		for line := range strings.Lines(got) {
			if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		if err != nil || !slices.Equal(lines, c.want) {
			t.Errorf("%q of step %q: %q, %v", c.path, c.step, lines, err)
		}
	}
	for _, step := range []string{"2", "3"} {
		if _, err := o.diffFor(t.Context(), "session", "", step); err == nil || !strings.Contains(err.Error(), "is not done") {
			t.Errorf("step %s: %v", step, err)
		}
	}
	if at.Head != o.Base {
		t.Errorf("the base is %s", o.Base)
	}
}

// Hosts are let through on the level full alone; documents are kept where nobody says where.
func TestAWorkshopIsMadeOfItsRepository(t *testing.T) {
	dir := t.TempDir()
	c := Config{Repository: &Repository{Dir: dir, Data: filepath.Join(dir, "data"), Worktrees: dir, Cache: dir, Sandbox: Sandbox{Level: "off"}, Network: []string{"example.org"}}}
	s, err := newWorkshop(&c)
	if err != nil || s == nil || c.Output == nil || c.Repository.Rounds != 4 {
		t.Fatalf("%+v, %v", s, err)
	}
	first, err := c.Output("one")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	again, err := c.Output("one")
	if err != nil || again != first {
		t.Errorf("the folder of documents is opened twice: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "one", DocumentsDir)); err != nil {
		t.Error(err)
	}
	if s, err := newWorkshop(&Config{}); s != nil || err != nil {
		t.Errorf("without a repository: %+v, %v", s, err)
	}
	if _, err := newWorkshop(&Config{Repository: &Repository{}}); err == nil {
		t.Error("a repository without a folder")
	}
}
