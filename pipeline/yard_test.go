package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sandbox/sandboxtest"
	"github.com/troupe-dev/troupe/pipeline"
)

// A yard is a real repository, with a model that answers from a script.
type yard struct {
	t      testing.TB
	repo   string
	data   string
	config pipeline.Config
	// answer is asked with the phase, the id of the step and the whole prompt, and how
	// often it was asked before with the same phase and step.
	answer func(phase, step, prompt string, n int) string

	mu      sync.Mutex
	asked   []string
	counts  map[string]int
	engine  *troupe.Engine
	store   troupe.Store
	session string
}

const stats = "package stats\n\nimport \"sort\"\n\n// Mean returns the mean of xs.\nfunc Mean(xs []float64) float64 {\n\tsum := 0.0\n\tfor _, x := range xs {\n\t\tsum += x\n\t}\n\treturn sum / float64(len(xs))\n}\n\n// Max returns the largest of xs.\nfunc Max(xs []float64) float64 {\n\ts := append([]float64{}, xs...)\n\tsort.Float64s(s)\n\treturn s[len(s)-1]\n}\n\n// Min returns the smallest of xs.\nfunc Min(xs []float64) float64 {\n\ts := append([]float64{}, xs...)\n\tsort.Float64s(s)\n\treturn s[0]\n}\n"

// goRepository is a small Go module that builds and is tested.
func goRepository() map[string]string {
	return map[string]string{
		"go.mod": "module example.org/stats\n\ngo 1.24\n", "stats.go": stats, "README.md": "# Stats\n\nSmall statistics.\n", ".gitignore": "*.out\n",
		"stats_test.go": "package stats\n\nimport \"testing\"\n\nfunc TestMean(t *testing.T) {\n\tif got := Mean([]float64{1, 2, 3}); got != 2 {\n\t\tt.Errorf(\"got %v\", got)\n\t}\n}\n\nfunc TestMax(t *testing.T) {\n\tif got := Max([]float64{1, 3, 2}); got != 3 {\n\t\tt.Errorf(\"got %v\", got)\n\t}\n}\n",
	}
}

// beside are the tests that run beside others.
var beside sync.Map

// besideOthers has a test run beside others: most of its time it waits for processes.
func besideOthers(t testing.TB) {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		if _, known := beside.LoadOrStore(t, true); !known {
			t.Parallel()
		}
	}
}

// newYard makes a repository of files.
func newYard(t testing.TB, files map[string]string) *yard {
	t.Helper()
	besideOthers(t)
	dir := t.TempDir()
	y := &yard{t: t, repo: filepath.Join(dir, "repo"), data: filepath.Join(dir, "data"), counts: map[string]int{}, store: troupe.NewMemoryStore()}
	for name, content := range files {
		y.write(name, content)
	}
	// Git would tidy up many objects in the background, and beyond the end of the test.
	y.sh("git init -q -b main . && git config gc.auto 0 && git config maintenance.auto false && git add -A && git commit -qm begin")
	y.engine = newEngine(t, y.store)
	y.config = pipeline.Config{Model: y, Repository: &pipeline.Repository{
		Dir: y.repo, Data: y.data, Worktrees: filepath.Join(dir, "worktrees"),
		// One cache for all tests: compiling the standard library takes longer than they do.
		Cache:   filepath.Join(os.TempDir(), fmt.Sprintf("troupe-test-cache-%d", os.Getuid())),
		Sandbox: pipeline.Sandbox{Helper: sandboxtest.Helper}, Version: "test",
	}}
	return y
}

func (y *yard) write(name, content string) {
	y.t.Helper()
	full := filepath.Join(y.repo, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		y.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		y.t.Fatal(err)
	}
}

// sh runs a shell command in the checkout.
func (y *yard) sh(command string) string {
	y.t.Helper()
	if err := os.MkdirAll(y.repo, 0o755); err != nil {
		y.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = y.repo
	out, err := cmd.CombinedOutput()
	if err != nil {
		y.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// fingerprint is all that a person could notice of their checkout.
func (y *yard) fingerprint() string {
	return y.sh("git rev-parse HEAD; git symbolic-ref -q HEAD; git status --porcelain=v2; sha256sum .git/index; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum")
}

var stepInYard = regexp.MustCompile(`"step": \{\s+"id": "([^"]+)"`)

// Generate implements [troupe.Model].
func (y *yard) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		prompt := ""
		for _, m := range req.Messages {
			if m.Role == troupe.RoleUser && !strings.HasPrefix(m.Text, "[Notice]") {
				prompt = m.Text
			}
		}
		last := req.Messages[len(req.Messages)-1]
		m := promptPhase.FindStringSubmatch(prompt)
		if m == nil {
			yield(troupe.Chunk{}, fmt.Errorf("a prompt without a phase: %s", prompt))
			return
		}
		step := ""
		if found := stepInYard.FindStringSubmatch(prompt); found != nil {
			step = found[1]
		}
		if last.Role == troupe.RoleTool {
			prompt = "TOOL " + last.Text + "\n" + prompt
		}
		y.mu.Lock()
		y.asked = append(y.asked, prompt)
		n := y.counts[m[1]+step]
		y.counts[m[1]+step]++
		y.mu.Unlock()
		text := y.answer(m[1], step, prompt, n)
		finish := troupe.FinishStop
		switch {
		case strings.HasPrefix(text, "FAIL "):
			yield(troupe.Chunk{}, errors.New(strings.TrimPrefix(text, "FAIL ")))
			return
		case strings.HasPrefix(text, "CUT "):
			text, finish = strings.TrimPrefix(text, "CUT "), troupe.FinishLength
		case strings.HasPrefix(text, "CALL "):
			name, arguments, _ := strings.Cut(strings.TrimPrefix(text, "CALL "), " ")
			call := troupe.ToolCall{ID: fmt.Sprintf("c%d", len(y.asked)), Name: name, Arguments: arguments}
			if yield(troupe.Chunk{Call: &call}, nil) {
				yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls, Usage: troupe.Usage{Input: 10, Output: 5}}}, nil)
			}
			return
		}
		if yield(troupe.Chunk{Text: text}, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: finish, Usage: troupe.Usage{Input: 10, Output: 5}}}, nil)
		}
	}
}

// A yardStep is a step of a plan.
func yardStep(id, title string, more object) object {
	s := object{"id": id, "title": title, "goal": title + "."}
	for k, v := range more {
		s[k] = v
	}
	return s
}

// thought is what a good agent answers in the phases before the implementation.
func thought(phase string, steps ...object) string {
	out := output(phase)
	switch phase {
	case "requirements":
		out["outputs"].(object)["acceptance_criteria"] = []object{{"id": "AC1", "text": "there is a median", "how": "test"}, {"id": "AC2", "text": "NaN is refused", "how": "test"}}
		out["artifacts"].([]object)[0]["content"] = "# Stories\n\nThe requirements speak of a zebra.\n"
	case "architecture":
		out["artifacts"].([]object)[0]["content"] = "# Design\n\nThe design speaks of a giraffe.\n"
	case "discovery":
		out["outputs"].(object)["relevant_files"] = []object{{"path": "stats.go", "relevance": "entry", "priority": "high"}, {"path": "nothing.go", "relevance": "x"}}
	case "planning":
		out["outputs"].(object)["steps"] = steps
	}
	return encode(out)
}

// built is a builder's answer.
func built(artifacts ...object) string {
	return encode(object{
		"status": "success", "phase": "implementation", "artifacts": artifacts, "outputs": object{"summary": "Did it.", "done": true, "files_changed": []string{}, "steps_completed": []string{"x"}, "steps_remaining": []string{}, "notes": []string{}},
		"validation": object{"checks": []string{}, "passed": []string{}, "failed": []string{}}, "next_phase": object{"ready": true, "blockers": []string{}, "requirements": []string{}}, "errors": []string{},
	})
}

// reviewed is a reviewer's answer.
func reviewed(verdict string, criteria, findings []object) string {
	out := output("qa")
	o := out["outputs"].(object)
	o["verdict"], o["criteria"], o["findings"] = verdict, criteria, findings
	return encode(out)
}

func edited(path, search, replace string) object {
	return object{"name": filepath.Base(path), "path": path, "type": "edit", "edits": []object{{"search": search, "replace": replace}}}
}

func fileOf(path, content string) object {
	return object{"name": filepath.Base(path), "path": path, "type": "file", "content": content}
}

// run runs the delivery and returns its report.
func (y *yard) run(custom map[string]any) (*pipeline.Report, *troupe.RunFinished, error) {
	y.t.Helper()
	end, err := y.gather(y.engine.Run(y.t.Context(), deliver(y.t, y.config), troupe.Input{Text: "Add a median to the stats package", Custom: custom, Limits: troupe.Limits{Turns: 300}}))
	return pipeline.ReportOf(y.events()), end, err
}

// say answers a question.
func (y *yard) say(text string) (*pipeline.Report, *troupe.RunFinished, error) {
	y.t.Helper()
	end, err := y.gather(y.engine.Run(y.t.Context(), deliver(y.t, y.config), troupe.Input{Session: y.session, Text: text}))
	return pipeline.ReportOf(y.events()), end, err
}

func (y *yard) resume() (*pipeline.Report, *troupe.RunFinished, error) {
	y.t.Helper()
	end, err := y.gather(y.engine.Resume(y.t.Context(), deliver(y.t, y.config), y.session))
	return pipeline.ReportOf(y.events()), end, err
}

func (y *yard) gather(events iter.Seq2[troupe.Event, error]) (end *troupe.RunFinished, err error) {
	for e, err := range events {
		if err != nil {
			return end, err
		}
		y.session = e.Session
		if b, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
			end = b
		}
	}
	return end, nil
}

func (y *yard) events() []troupe.Event {
	if y.session == "" {
		return nil
	}
	return eventsOf(y.t, y.store, y.session)
}

// warnings returns the warnings with a code.
func (y *yard) warnings(code string) (list []string) {
	for _, e := range y.events() {
		if b, ok := e.Body.(*troupe.Warned); ok && b.Code == code {
			list = append(list, b.Message)
		}
	}
	return list
}

func (y *yard) mustRun(outcome string) *pipeline.Report {
	y.t.Helper()
	r, end, err := y.run(nil)
	if err != nil {
		y.t.Fatal(err)
	}
	if r == nil {
		y.t.Fatalf("it stopped for %s: %s", end.Stop, end.Output.Summary)
	}
	if r.Outcome != outcome {
		data, _ := json.MarshalIndent(r, "", " ")
		y.t.Fatalf("the outcome is %s, because %q\n%s", r.Outcome, r.Reasons, data)
	}
	return r
}

// prompts returns the prompts that hold all parts.
func (y *yard) prompts(parts ...string) (list []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, p := range y.asked {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(p, part)
		}
		if all {
			list = append(list, p)
		}
	}
	return list
}
