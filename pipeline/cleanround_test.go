package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/pipeline"
)

// builtYard is a project as most are: dependencies are fetched, then it is built, and what
// was built is tested. Git ignores both. Each check says which folder it ran in.
func builtYard(t testing.TB) *yard {
	y := newYard(t, map[string]string{"base.ok": "good\n", "notes.txt": "one\n", "install.sh": "mkdir -p deps && echo dep > deps/one\n", ".gitignore": "/out/\n/deps/\n"})
	y.config.Repository.Setup = []string{"sh install.sh"}
	y.config.Repository.Checks = []pipeline.Check{
		{Name: "build", Run: `stat -c 'folder %i' . && cat deps/one && rm -rf out && mkdir out && cat *.ok > out/all && echo left > left.txt && echo spoilt > base.ok`},
		{Name: "test", Run: `stat -c 'folder %i' . && cat deps/one && test ! -e left.txt && ! grep -vx good out/all base.ok && echo "# tests $(wc -l < out/all)"`},
	}
	y.answer = func(phase, step, _ string, _ int) string { return y.usual(phase, step) }
	return y
}

// outputOf is what a check printed.
func (y *yard) outputOf(name string) string {
	y.t.Helper()
	data, err := os.ReadFile(filepath.Join(y.data, y.session, "checks", name+".txt"))
	if err != nil {
		y.t.Fatal(err)
	}
	return string(data)
}

// The checks of a round run one after the other in one clean checkout, which was set up: a
// test finds what the build before it made, and the files of the commit as they are there.
func TestChecksOfARoundShareACleanCheckout(t *testing.T) {
	y := builtYard(t)
	r := y.mustRun(pipeline.OutcomeDelivered)
	for _, o := range r.Checks {
		if !o.OK || o.Name == "test" && o.Tests != 3 {
			t.Errorf("at the end: %+v", o)
		}
	}
	folder := func(name string) string { first, _, _ := strings.Cut(y.outputOf(name), "\n"); return first }
	for _, round := range []string{"baseline", "verify"} {
		if build, test := folder(round+"-build"), folder(round+"-test"); build != test || !strings.HasPrefix(build, "folder ") {
			t.Errorf("%s: built in %q, tested in %q", round, build, test)
		}
	}
	if !strings.Contains(y.outputOf("baseline-test"), "# tests 1") {
		t.Errorf("the base was tested as %s", y.outputOf("baseline-test"))
	}
}

// A diesAt is a store of a process that is killed once an event is stored: at once, or late,
// when what comes of the event was done and is not on record.
type diesAt struct {
	troupe.Store
	event  func(troupe.Body) bool
	isLate bool
	isDead bool
}

func (d *diesAt) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if d.isDead {
		return errDead
	}
	for i, e := range events {
		if d.event(e.Body) {
			d.isDead = true
			if err := d.Store.Append(ctx, session, events[:i+1]...); err != nil || d.isLate {
				return err
			}
			return errDead
		}
	}
	return d.Store.Append(ctx, session, events...)
}

// Killed between two checks of a round, or in the second one, it comes to the same,
// whatever has become of the checkout in the meantime.
func TestARoundOfChecksIsKilled(t *testing.T) {
	whole := builtYard(t)
	want := whole.result(whole.mustRun(pipeline.OutcomeDelivered))
	for name, damage := range map[string]string{
		"nothing happened":      "true",
		"the checkout is gone":  "rm -rf *-clean",
		"a check is cut off":    "for d in *-clean; do rm -rf $d/out $d/deps; done; rm -f $G/worktrees/*-clean/checked",
		"it is of another tree": `sed -i 's/"commit":"[^"]*"/"commit":"x"/' $G/worktrees/*-clean/checked; rm -rf *-clean/out`,
	} {
		for _, label := range []string{"baseline", "verify"} {
			for _, isLate := range []bool{false, true} {
				y := builtYard(t)
				y.die(&diesAt{Store: y.store, isLate: isLate, event: func(b troupe.Body) bool {
					called, ok := b.(*troupe.ToolCalled)
					return ok && called.Tool == "run_check" && strings.Contains(string(called.Arguments), `"check":"test"`) && strings.Contains(string(called.Arguments), `"label":"`+label+`"`)
				}})
				y.sh("G=$PWD/.git; cd ../worktrees && " + damage)
				got, end, err := y.resume()
				if err != nil || got == nil || got.Outcome != pipeline.OutcomeDelivered || y.result(got) != want || slices.ContainsFunc(got.Checks, func(o checks.Outcome) bool { return !o.OK }) {
					t.Errorf("%s, killed in %s, late %t: %v %+v %+v", name, label, isLate, err, got, end)
				}
				if base := y.outputOf("baseline-test"); !strings.Contains(base, "# tests 1") {
					t.Errorf("%s, killed in %s, late %t: the base was tested as %s", name, label, isLate, base)
				}
			}
		}
	}
}

// A setup has the network. What an agent has written of it is not run, and what it makes
// does not go into directories of the checkout.
func TestASetupIsThatOfTheBase(t *testing.T) {
	y := builtYard(t)
	y.write(".gitignore", "/out/\n/deps/\n/node_modules/\n")
	y.write("install.sh", "mkdir -p deps node_modules && echo dep > deps/one && echo new > node_modules/index.js\n")
	y.sh("git commit -qam modules")
	y.write("node_modules/index.js", "old\n")
	y.config.Repository.Checks[1].Run += "; cat deps/one node_modules/index.js"
	y.with("implementation", func(step, _ string, _ int) string {
		return built(fileOf("step"+step+".ok", "good\n"), edited("install.sh", "echo dep", "echo evil"+step))
	}).with("planning", func(_, _ string, _ int) string {
		return thought("planning", yardStep("1", "First", object{"files": []string{"install.sh"}}))
	})
	y.mustRun(pipeline.OutcomeDelivered)
	for _, round := range []string{"baseline-test", "verify-test"} {
		if got := y.outputOf(round); !strings.HasSuffix(got, "dep\nnew\n") {
			t.Errorf("%s: %s", round, got)
		}
	}
	if got := y.sh("cat node_modules/index.js"); got != "old\n" {
		t.Errorf("the checkout has %s", got)
	}
}

// A setup that does not work on the clean checkout is a question, not the change's fault.
func TestASetupThatFailsOnTheCleanCheckoutIsAQuestion(t *testing.T) {
	y := builtYard(t)
	y.config.Repository.Setup = append(y.config.Repository.Setup, "case $PWD in *-clean) echo no registry; exit 7;; esac")
	_, end, err := y.run(nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "exit code 7") || !strings.Contains(end.Output.Summary, "no registry") {
		t.Fatalf("%+v %v", end, err)
	}
}

// Where something failed before, a finding is not proven by that: its own test has to fail.
func TestAFindingIsNotProvenByWhatFailedBefore(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		proven  bool
	}{"its test passes": {"good\n", false}, "its test fails": {"bad\n", true}} {
		t.Run(name, func(t *testing.T) {
			y := shellYard(t)
			y.config.Repository.Checks[0].Run = `echo "not ok 1 - old"; for f in *.ok; do grep -qx good "$f" || echo "not ok 2 - $f"; done; exit 1`
			y.with("qa", func(_, _ string, n int) string {
				if n > 0 {
					return y.usual("qa", "")
				}
				return reviewed("changes_required", []object{}, []object{{"id": "F1", "severity": "blocker", "path": "notes.txt", "problem": "it is wrong", "reproduce": []object{fileOf("finding.ok", c.content)}}})
			})
			y.mustRun(pipeline.OutcomeDelivered)
			if fixes := len(y.prompts("BMAD implementation", `"id": "fix-1"`)); (fixes > 0) != c.proven {
				t.Errorf("%d fixes were asked for", fixes)
			}
		})
	}
}
