package project

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A process that is killed while it writes a document leaves nothing for good.
func TestHalfWrittenDocumentsAreSwept(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, age time.Duration) string {
		file := filepath.Join(dir, "data", "documents", name)
		at := time.Now().Add(-age)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte("agents: {clerk: {instructions: x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{
		put(".troupe-tmp-1", time.Hour): false, put(".troupe-owners/ann/docs/.troupe-tmp-2", time.Hour): false,
		put(".troupe-tmp-3", 0): true, put(".troupe-owners/ann/docs/prd.md", time.Hour): true,
	}
	p, err := Open(dir, Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.stage(t.Context()); err != nil {
		t.Fatal(err)
	}
	for file, want := range there {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%s: %v", file, err)
		}
	}
}
