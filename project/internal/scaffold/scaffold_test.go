package scaffold_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/internal/scaffold"
)

func TestAFileThatIsThereIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "project")
	first, err := scaffold.Write(dir)
	if err != nil || len(first.Made) < 8 || len(first.Kept) != 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	changed := filepath.Join(dir, "troupe.yaml")
	missing := filepath.Join(dir, "skills", "decision-records", "SKILL.md")
	if err := os.WriteFile(changed, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(missing); err != nil {
		t.Fatal(err)
	}
	second, err := scaffold.Write(dir)
	if err != nil || !slices.Equal(second.Made, []string{"skills/decision-records/SKILL.md"}) || len(second.Kept) != len(first.Made)-1 {
		t.Errorf("%+v, %v", second, err)
	}
	if content, _ := os.ReadFile(changed); string(content) != "mine" {
		t.Errorf("troupe.yaml was overwritten with %q", content)
	}
}

func TestALinkOutOfTheDirectoryIsNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "skills")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if _, err := scaffold.Write(dir); err == nil {
		t.Error("it was followed")
	}
	if found, _ := os.ReadDir(outside); len(found) != 0 {
		t.Errorf("written outside: %v", found)
	}
}

func TestTheProjectHasNothingWrongWithIt(t *testing.T) {
	dir := t.TempDir()
	if _, err := scaffold.Write(dir); err != nil {
		t.Fatal(err)
	}
	if opened, err := project.Open(dir, project.Options{}); err != nil {
		t.Error(err)
	} else if err := opened.Close(); err != nil {
		t.Error(err)
	}
	catalog, err := bundle.Find(dir, bundle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer catalog.Close()
	agents, findings := catalog.Definitions()
	if len(agents) != 2 || len(findings) != 0 {
		t.Errorf("%d agents, findings %+v", len(agents), findings)
	}
	for _, agent := range agents {
		for _, ref := range agent.References() {
			if _, err := agent.Parent().Locate(ref); err != nil {
				t.Errorf("%s:%d: %v", ref.File, ref.Line, err)
			}
		}
	}
}
