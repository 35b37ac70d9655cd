package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Keys are hidden from commands wherever they are in the project, but for what is committed;
// and from the checks of deliveries what is kept for others.
func TestKeysAreHiddenFromCommandsUnlessTheyAreCommitted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte("agents: {clerk: {instructions: x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	put := func(name string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"testdata/server.pem", "main.go", ".aws/config"} {
		put(name)
	}
	p, err := Open(dir, Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	seen := func() []string {
		list, err := p.keysByName(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, file := range list {
			list[i], _ = filepath.Rel(p.dir, file)
		}
		slices.Sort(list)
		return list
	}
	if got, want := strings.Join(seen(), " "), ".aws testdata/server.pem"; got != want {
		t.Errorf("without a repository hidden are %s; want %s", got, want)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "testdata"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v", out, err)
		}
	}
	for _, name := range []string{"sub/.env", ".env.production", "id_rsa", "testdata/other.pem", "node_modules/a/b.pem", "data/x.pem"} {
		put(name)
	}
	if got, want := strings.Join(seen(), " "), ".aws .env.production id_rsa sub/.env testdata/other.pem"; got != want {
		t.Errorf("hidden are %s; want %s", got, want)
	}
	hidden := p.repository(Delivery{Repo: dir}).Hide
	for _, name := range []string{".env", "data", "data/troupe.db"} {
		if !slices.Contains(hidden, filepath.Join(p.dir, name)) {
			t.Errorf("checks of deliveries see %s", name)
		}
	}
}
