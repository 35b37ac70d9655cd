package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project"
)

// repositoryAt makes a git repository of a directory.
func repositoryAt(t *testing.T, dir string) (git func(args ...string) string) {
	t.Helper()
	git = func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return string(out)
	}
	git("init", "--quiet")
	return git
}

// A file with keys that everybody can read, or that git would commit, is warned of; what
// init writes keeps it out of git.
func TestFilesWithKeysAreWarnedOf(t *testing.T) {
	warnings := func(dir string) string {
		var all []string
		for _, check := range project.Diagnose(t.Context(), dir, project.Options{LookupEnv: func(string) (string, bool) { return "", false }}) {
			if check.Name == "keys" && check.Status == project.Warning {
				all = append(all, check.Message+" → "+check.Fix)
			}
		}
		return strings.Join(all, "; ")
	}
	put := func(dir, name string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("OPENAI_API_KEY=k\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	bare := filepath.Join(write(t, ""), "below")
	if err := os.Mkdir(bare, 0o755); err != nil {
		t.Fatal(err)
	}
	repositoryAt(t, filepath.Dir(bare))
	put(bare, ".env", 0o600)
	put(bare, ".env.local", 0o644)
	got := warnings(bare)
	for _, want := range []string{"git does not ignore .env:", "git does not ignore .env.local:", ".env.local can be read by everybody"} {
		if !strings.Contains(got, want) && !(runtime.GOOS == "windows" && strings.Contains(want, "everybody")) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, ".env can be read") {
		t.Error(got)
	}
	begun := t.TempDir()
	if _, _, err := project.Init(begun); err != nil {
		t.Fatal(err)
	}
	repositoryAt(t, begun)
	put(begun, ".env", 0o600)
	put(begun, ".env.local", 0o600)
	if got := warnings(begun); got != "" {
		t.Errorf("after init: %s", got)
	}
}

// Git does not see what Troupe keeps, from its first write on. A directory that holds other
// things is left alone, and so is one that the project is in.
func TestGitDoesNotSeeTheData(t *testing.T) {
	for data, wantIgnored := range map[string]bool{"data": true, "used": false, ".": false} {
		dir := write(t, "data: "+data+"\nagents: {clerk: {instructions: You answer.}}\n")
		git := repositoryAt(t, dir)
		if err := os.Mkdir(filepath.Join(dir, "used"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "used", "figures.csv"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		p := open(t, dir, project.Options{Model: "rehearsal"})
		if _, err := p.Engine(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen := git("status", "--porcelain", "--untracked-files=all"); strings.Contains(seen, "troupe.db") == wantIgnored || !strings.Contains(seen, "figures.csv") {
			t.Errorf("data: %s: git sees\n%s", data, seen)
		}
	}
}
