package bundle

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite golden files")

// generations are the small trees of testdata, one of each generation, each with an
// agent that is found as pm.
var generations = []string{"v4", "alpha", "compiled", "manifest", "toml"}

// unpackTree writes the tree of a generation below a new directory.
func unpackTree(t testing.TB, generation string) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/generations/" + generation + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		put(t, dir, f.Name, string(f.Data))
	}
	return dir
}

// All that a model is told before the user speaks, for one agent of each generation.
func TestPromptsOfAllGenerations(t *testing.T) {
	for _, generation := range append(slices.Clone(generations), "web-v4", "web-alpha", "coach") {
		t.Run(generation, func(t *testing.T) {
			c := find(t, unpackTree(t, generation), Config{})
			d := define(t, c, "pm")
			parts, err := c.Prompt(d.ID)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, p := range parts {
				fmt.Fprintf(&b, "-- %s %s\n%s\n", p.Name, p.Source, p.Text)
			}
			for _, left := range []string{"{user_name}", "{communication_language}", "{agent.", "{{user_name}}"} {
				if strings.Contains(strings.ReplaceAll(b.String(), "Store ALL fields as session variables: {user_name}", ""), left) && generation != "v4" {
					t.Errorf("%s is left in the prompt", left)
				}
			}
			golden := filepath.Join("testdata", "generations", generation+".prompt")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Among thousands of texts, bundles are found where they are published, and the others
// are not opened to look for more.
func TestAWebBundleAmongManyTexts(t *testing.T) {
	dir := unpackTree(t, "web-v4")
	for i := range maxWebSearch + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("note%d.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	define(t, find(t, dir, Config{}), "pm")
}
