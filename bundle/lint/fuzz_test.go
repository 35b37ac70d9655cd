package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever files hold, linting ends with findings that point into them.
func FuzzLint(f *testing.F) {
	for _, name := range archives(f) {
		dir, _ := extract(f, name)
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			src, err := os.ReadFile(path)
			f.Add(string(src))
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add("---\nnextStepFile: '{nextStepFile}'\n---\n<invoke-workflow path=''/><invoke-task>{x} ./a.md ||</invoke-task>")
	f.Fuzz(func(t *testing.T, src string) {
		dir := t.TempDir()
		for _, name := range []string{
			"agents/a.md", "agents/b.agent.yaml", "workflows/w/workflow.yaml", "workflows/w/instructions.md", "workflows/s/workflow.md",
			"workflows/s/steps/step-01-a.md", "tasks/t.xml", "config.yaml", "skills/k/SKILL.md", "skills/k/customize.toml",
		} {
			put(t, dir, "bmad/bmm/"+name, src)
		}
		put(t, dir, "bmad/custom/bundles/x/bundle.yaml", src)
		lines := strings.Count(src, "\n") + 2 // YAML tells of an unexpected end after it
		for _, f := range lint(t, dir, Options{}).Findings {
			if f.Line < 1 || f.Line > lines || f.Code == "" || f.Message == "" || strings.Contains(f.File, "{") {
				t.Errorf("%+v", f)
			}
		}
	})
}
