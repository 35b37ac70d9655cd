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
	for _, ignored := range []string{"node_modules/\n", "node_modules\n"} { // directories alone, or any file of that name
		isLinked(t, ignored)
	}
}

func isLinked(t *testing.T, ignored string) {
	t.Helper()
	y := newYard(t, map[string]string{"Makefile": "test:\n\t@grep -q here node_modules/dep/index.js && cat *.ok\n\t@echo key=sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789\n", ".gitignore": ignored, "base.ok": "good\n"})
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

// The node_modules of a workspace lead to the packages of the worktree, not to those of the
// checkout: what is checked is the change. A check cannot lead them elsewhere.
func TestPackagesOfAWorkspaceAreThoseOfTheWorktree(t *testing.T) {
	for name, ignore := range map[string]string{"directories are ignored": "node_modules/\n", "the name is ignored": "node_modules\n"} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, map[string]string{"package.json": "{}", ".gitignore": ignore, "packages/lib/value": "old\n", "packages/app/value": "x\n", "base.ok": "good\n"})
			y.write("node_modules/dep/value", "dep\n")
			y.write("packages/app/node_modules/own/value", "own\n")
			y.sh("mkdir -p node_modules/@x && ln -s ../../packages/lib node_modules/@x/lib && ln -s ../../lib packages/app/node_modules/lib && ln -s ../../../node_modules/dep packages/app/node_modules/dep")
			y.config.Repository.Checks = []pipeline.Check{{Name: "test", Run: `cat node_modules/dep/value packages/app/node_modules/own/value packages/app/node_modules/dep/value >/dev/null || exit 9
				cmp node_modules/@x/lib/value packages/lib/value && cmp packages/app/node_modules/lib/value packages/lib/value || exit 8
				rm -f node_modules/@x/lib 2>/dev/null && exit 7; test ! -e packages/lib/new || grep -q new node_modules/@x/lib/value; echo "# tests 1"`}}
			y.answer = func(phase, step, _ string, _ int) string { return y.usual(phase, step) }
			y.with("implementation", func(step, _ string, _ int) string {
				return built(edited("packages/lib/value", "old\n", "new\n"), fileOf("packages/lib/new", step+"\n"))
			})
			y.with("planning", func(_, _ string, _ int) string {
				return thought("planning", yardStep("1", "Another value", object{"files": []string{"packages/lib/value"}}))
			})
			r := y.mustRun(pipeline.OutcomeDelivered)
			if got := y.sh("git ls-tree -r --name-only " + r.Branch); strings.Contains(got, "node_modules") {
				t.Errorf("links were committed: %s", got)
			}
			if got := y.sh("git status --porcelain; readlink node_modules/@x/lib"); got != "../../packages/lib\n" {
				t.Errorf("the checkout was touched: %s", got)
			}
		})
	}
}
