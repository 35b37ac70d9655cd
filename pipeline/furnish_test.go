package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// What git ignores and checks need is there in the worktree of the steps and on the
// clean checkout, also where the checks were found. What a check prints is kept without
// what looks like a secret.
func TestIgnoredDirectoriesAreLinkedAndSecretsLeftOut(t *testing.T) {
	y := newYard(t, map[string]string{"Makefile": "test:\n\t@grep -q here node_modules/dep/index.js && cat *.ok\n\t@echo key=sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789\n", ".gitignore": "node_modules/\n", "base.ok": "good\n"})
	y.write("node_modules/dep/index.js", "here\n")
	y.answer = func(phase, step, _ string, _ int) string { return y.usual(phase, step) }
	r := y.mustRun(pipeline.OutcomeDelivered)
	if len(r.Checks) != 1 || !r.Checks[0].OK {
		t.Errorf("%+v", r.Checks)
	}
	output, err := os.ReadFile(filepath.Join(y.data, y.session, pipeline.OutputFile("test")))
	if err != nil || !strings.Contains(string(output), "good") || strings.Contains(string(output), "0123456789abcdefghij") {
		t.Errorf("%s %v", output, err)
	}
	for _, e := range y.events() {
		if data, err := e.MarshalJSON(); err != nil || strings.Contains(string(data), "0123456789abcdefghij") {
			t.Errorf("event %d has it: %v", e.Seq, err)
		}
	}
	site, err := pipeline.ReadSite(filepath.Join(y.data, y.session))
	if err != nil || site.Sandbox == "" {
		t.Errorf("%+v %v", site, err)
	}
}
