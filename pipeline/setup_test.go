package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// installer is a package manager: it fetches what requirements.txt names into deps, says
// what it saw, and writes a lock file.
const installer = `echo "files: $(ls -x | tr '\n' ' ') deps: $(ls deps 2>/dev/null) scripts: $npm_config_ignore_scripts" >> "$XDG_CACHE_HOME/setups"
mkdir -p deps "$XDG_CACHE_HOME"
while read -r name; do
  case $name in none) echo "no such package: $name"; exit 1;; esac
  echo "$name" > "deps/$name"
done < requirements.txt
sort requirements.txt > poetry.lock
`

// setupYard is a project with dependencies: its check wants those that uses.txt names, and
// leaves something behind where they are.
func setupYard(t testing.TB) *yard {
	y := newYard(t, map[string]string{
		"base.ok": "good\n", "notes.txt": "one\n", "install.sh": installer, "requirements.txt": "one\n", "poetry.lock": "one\n", "uses.txt": "one\n", ".gitignore": "/deps/\n",
		"package.json": `{"scripts": {"test": "true"}, "dependencies": {"a": "1"}}` + "\n",
	})
	y.config.Repository.Cache = filepath.Join(t.TempDir(), "cache")
	if err := os.MkdirAll(filepath.Join(y.config.Repository.Cache, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	y.config.Repository.Setup = []string{"sh install.sh"}
	y.config.Repository.Checks = []pipeline.Check{{Name: "test", Run: `while read -r name; do test -e "deps/$name" || { echo "ModuleNotFoundError: No module named '$name'"; exit 1; }; done < uses.txt; echo evil > deps/poison; echo "# tests 1"`}}
	y.answer = func(phase, step, _ string, _ int) string { return y.usual(phase, step) }
	return y.with("planning", func(_, _ string, _ int) string {
		return thought("planning", yardStep("1", "Use two", object{"files": []string{"uses.txt", "requirements.txt", "install.sh"}}))
	})
}

// wants is a builder's answer that adds a dependency, and tries to have itself run.
func wants(name string) string {
	return built(edited("uses.txt", "one\n", "one\n"+name+"\n"), edited("requirements.txt", "one\n", "one\n"+name+"\n"),
		edited("install.sh", "mkdir -p deps", "echo owned; mkdir -p deps"), fileOf("sneaky.sh", "echo owned\n"))
}

// setups is what the installer saw, run by run.
func (y *yard) setups() []string {
	data, _ := os.ReadFile(filepath.Join(y.config.Repository.Cache, "cache", "setups"))
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// Where a step adds a dependency, a person is shown it, and the setup runs again: on the
// base's files and the manifests alone, with nothing that a check left behind.
func TestASetupRunsAgainForADependency(t *testing.T) {
	y := setupYard(t)
	y.with("implementation", func(string, string, int) string { return wants("two") })
	_, end, err := y.run(nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "+two\n") || !strings.Contains(end.Output.Summary, "requirements.txt") || strings.Contains(end.Output.Summary, "owned") {
		t.Fatalf("%+v %v", end, err)
	}
	before := len(y.setups())
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || len(r.Notes) != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	again := y.setups()[before:]
	if len(again) != 2 { // in the worktree, and on the clean checkout
		t.Errorf("the setup ran again %d times: %q", len(again), again)
	}
	for _, saw := range again {
		if strings.Contains(saw, "sneaky") || strings.Contains(saw, "poison") || !strings.HasSuffix(saw, "scripts: true") {
			t.Errorf("the setup saw %s", saw)
		}
	}
	if all := strings.Join(y.setups(), "\n"); strings.Contains(all, "owned") {
		t.Errorf("what an agent wrote was run: %s", all)
	}
	if got := y.sh("git show " + r.Branch + ":poetry.lock"); got != "one\ntwo\n" {
		t.Errorf("the lock file says %q", got)
	}
	if got := y.sh("git show " + r.Branch + ":install.sh"); !strings.Contains(got, "owned") {
		t.Error("the change itself is not on the branch")
	}

	// Something else is wanted of it later: what was allowed stays allowed.
	y.with("implementation", func(step, _ string, _ int) string { return built(fileOf(step+".ok", "good\n")) })
	y.config.Repository.SetupAgain = pipeline.SetupNever
	r, end, err = y.again("One more file, please")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || len(r.Notes) != 0 {
		t.Fatalf("%+v %+v %v", r, end, err)
	}
}

// What a setup would fetch is shown whole: what a person wrote or an agent before what a
// tool writes, however long that is, and nothing in it ends the block that it is shown in.
func TestAllThatASetupWouldFetchIsShown(t *testing.T) {
	y := setupYard(t)
	y.sh("printf 'one\\n```\\nend\\n' > poetry.lock && git commit -qam lock")
	var lock strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lock, "package-%d\n", i)
	}
	y.with("implementation", func(string, string, int) string {
		return built(edited("uses.txt", "one\n", "one\ntwo\n"), edited("requirements.txt", "one\n", "one\ntwo\n"), edited("poetry.lock", "one\n", "one\n"+lock.String()))
	})
	_, end, err := y.run(nil)
	if err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v %v", end, err)
	}
	asked := end.Output.Summary
	if before, after, ok := strings.Cut(asked, "+two\n"); !ok || strings.Contains(before, "+package-") || strings.Count(after, "+package-") != 4000 {
		t.Errorf("of %d bytes, %d lines of the lock file are shown", len(asked), strings.Count(asked, "+package-"))
	}
	if !strings.Contains(asked, "\n````diff\n") || strings.Count(asked, "\n````") != 2 || !strings.Contains(asked, "\n ```\n") {
		t.Errorf("the question begins with %.300s", asked)
	}
}

// again goes on with a delivery that came to its end.
func (y *yard) again(text string) (*pipeline.Report, *troupe.RunFinished, error) {
	y.t.Helper()
	end, err := y.gather(y.engine.Run(y.t.Context(), deliver(y.t, y.config), troupe.Input{Session: y.session, Text: "Add a median to the stats package", Custom: map[string]any{
		"phases": pipeline.Results(y.events()), "extras": map[string]any{"continue": true, "guidance": text}}}))
	return pipeline.ReportOf(y.events()), end, err
}

// What a setup may do, and what is said where it did not run.
func TestWhetherASetupRunsAgain(t *testing.T) {
	without := func(_, prompt string, n int) string {
		if strings.Contains(prompt, "A dependency is not installed") || strings.Contains(prompt, "and says: do without") || strings.Contains(prompt, "could not be set up") {
			return built(edited("uses.txt", "one\ntwo\n", "one\n"), edited("requirements.txt", "one\ntwo\n", "one\n"))
		}
		return wants("two")
	}
	bumps := func(string, string, int) string { return built(edited("requirements.txt", "one\n", "one\nthree\n")) }
	for name, c := range map[string]struct {
		mode, answer string
		build        func(step, prompt string, n int) string
		note         string
		asked        bool
	}{
		"always":                       {mode: pipeline.SetupAlways, build: func(string, string, int) string { return wants("two") }},
		"never, and it is missing":     {mode: pipeline.SetupNever, build: without},
		"never, and nothing misses it": {mode: pipeline.SetupNever, build: bumps, note: "requirements.txt changed, because it is set to be run once only"},
		"no, and it is missing":        {answer: "no", build: without, asked: true},
		"no, and nothing misses it":    {answer: "No.", build: bumps, asked: true, note: "requirements.txt changed, because a person did not want it"},
		"something else is wanted":     {answer: "do without", build: without, asked: true},
		"it is not to be had":          {mode: pipeline.SetupAlways, build: func(s, p string, n int) string { return strings.ReplaceAll(without(s, p, n), "two", "none") }},
		"other commands in package.json": {build: func(string, string, int) string {
			return built(withReason(edited("package.json", `"true"`, `"false"`)))
		}},
		"a program that names dependencies": {build: func(string, string, int) string { return built(fileOf("Gemfile", "gem 'two'\n")) }, note: "Gemfile changed, because that is a program of its own"},
		"no setup at all":                   {mode: "none", build: bumps, note: "requirements.txt changed, because no command is set that fetches dependencies"},
	} {
		t.Run(name, func(t *testing.T) {
			y := setupYard(t)
			y.config.Repository.SetupAgain = c.mode
			if c.mode == "none" {
				y.config.Repository.SetupAgain, y.config.Repository.Setup = "", nil
				y.config.Repository.Checks[0].Run = "true"
			}
			y.with("implementation", c.build)
			r, end, err := y.run(nil)
			if asked := r == nil && err == nil && end.Stop == "input_requested"; asked != c.asked {
				t.Fatalf("asked: %t; %+v %v", asked, end, err)
			}
			if c.asked {
				r, end, err = y.say(c.answer)
			}
			if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered {
				t.Fatalf("%+v %+v %v", r, end, err)
			}
			if notes := strings.Join(r.Notes, "\n"); c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
				t.Errorf("the report says %q", notes)
			}
		})
	}
	y := setupYard(t)
	y.with("implementation", func(string, string, int) string { return wants("two") })
	if _, _, err := y.run(nil); err != nil {
		t.Fatal(err)
	}
	if r, end, err := y.say("stop"); err != nil || r == nil || r.Outcome != pipeline.OutcomeFailed {
		t.Errorf("stopped: %+v %+v %v", r, end, err)
	}
}

func withReason(o object) object { o["metadata"] = object{"reason": "it must be"}; return o }

// Killed at the setup, or with the worktree gone, it comes to the same.
func TestASetupThatRunsAgainIsKilled(t *testing.T) {
	whole := setupYard(t)
	whole.config.Repository.SetupAgain = pipeline.SetupAlways
	whole.with("implementation", func(string, string, int) string { return wants("two") })
	want := whole.result(whole.mustRun(pipeline.OutcomeDelivered))
	for name, damage := range map[string]string{"nothing happened": "true", "the worktree is gone": "rm -rf *"} {
		for _, tool := range []string{"run_setup", "run_setup_again", "run_check", "commit_step"} {
			for _, isLate := range []bool{false, true} {
				y := setupYard(t)
				y.config.Repository.SetupAgain = pipeline.SetupAlways
				y.with("implementation", func(string, string, int) string { return wants("two") })
				y.die(&diesAt{Store: y.store, isLate: isLate, event: func(b troupe.Body) bool {
					called, ok := b.(*troupe.ToolCalled)
					return ok && called.Tool == tool && (tool != "run_check" || strings.Contains(string(called.Arguments), `"label":"step 1 round 1"`))
				}})
				y.sh("cd ../worktrees && " + damage)
				r, end, err := y.resume()
				if err != nil || r == nil || y.result(r) != want || slices.ContainsFunc(y.setups(), func(s string) bool { return strings.Contains(s, "sneaky") }) {
					t.Errorf("%s, killed at %s, late %t: %v %+v %+v", name, tool, isLate, err, r, end)
				}
			}
		}
	}
}
