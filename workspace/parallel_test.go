package workspace

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// Two workspaces, as two runs have them, never make two files of one name.
func TestNamesThatDifferOnlyInCaseAreMadeOnceAlsoInParallel(t *testing.T) {
	dir := t.TempDir()
	for round := range 20 {
		var wg sync.WaitGroup
		for _, name := range []string{"Report", "report", "REPORT", "rEport"} {
			ws := openWith(t, Config{Roots: []Root{{Name: SessionFolder, Dir: dir, Access: ReadWrite}}})
			wg.Go(func() {
				for _, at := range []string{fmt.Sprintf("{session-folder}/%s-%d.md", name, round), fmt.Sprintf("{session-folder}/%s-dir-%d/x.md", name, round)} {
					loc, _, err := ws.ResolveOutput(at)
					if err == nil {
						err = ws.Write(loc, []byte("x"))
					}
					if err != nil && !strings.Contains(err.Error(), "only in case") {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, e := range entries {
		folded := strings.ToLower(e.Name())
		if other, twice := seen[folded]; twice {
			t.Errorf("there are %s and %s", other, e.Name())
		}
		seen[folded] = e.Name()
	}
	if len(seen) != 40 {
		t.Errorf("%d names were made", len(seen))
	}
}

func TestTheManifestIsTroupesOwn(t *testing.T) {
	dir := t.TempDir()
	ws := openWith(t, Config{Roots: []Root{{Name: SessionFolder, Dir: dir, Access: ReadWrite}}})
	for name, refused := range map[string]bool{"{session-folder}/manifest.json": true, "manifest.json": true, "{session-folder}/MANIFEST.json": true, "x/../manifest.json": true,
		"sub/manifest.json": false, "my-manifest.json": false} {
		loc, _, err := ws.ResolveOutput(name)
		if err == nil {
			err = ws.Write(loc, []byte("{}"))
		}
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "another name") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
