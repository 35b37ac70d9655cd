package bundle

import "testing"

func TestStepFilesAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"./step-02.md": true, "steps/step-01-init.md": true, "{project-root}/_bmad/bmm/workflows/prd/steps-c/step-11-polish.md": true,
		"step2.xml": true, "docs/prd.md": false, "steps.md": false, "stepping-stones.md": false, "config.yaml": false,
	} {
		if got := stepFile.MatchString(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
