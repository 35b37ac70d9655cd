package pipeline_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/room"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestARequestGoesThroughTheAgentsOfThePhases(t *testing.T) {
	w := newWorld(t)
	parts := map[string][]troupetest.Turn{}
	for _, phase := range thinking() {
		parts["expert in "+phase.Name] = []troupetest.Turn{troupetest.Say(encode(output(phase.Name))).Using(troupe.Usage{Input: 100, Output: 20})}
	}
	cast := troupetest.NewCast(t, parts)
	c := w.config()
	for i := range c.Phases {
		agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "the-" + c.Phases[i].Name, Instructions: "You are an expert in " + c.Phases[i].Name, Model: cast})
		if err != nil {
			t.Fatal(err)
		}
		c.Phases[i].Agent = agent
	}
	s, end := mustEnd(t, deliver(t, c))
	if end.Output.Meta.Status != "success" {
		t.Errorf("it ended with %s: %s", end.Output.Meta.Status, end.Output.Summary)
	}
	date := s.events()[0].Time.Format("2006-01-02")
	want := []string{
		"specs/architecture/" + date + "-create-a-simple-todo-app-fur-zoe.md", "specs/discovery/" + date + "-create-a-simple-todo-app-fur-zoe.json",
		"specs/plans/" + date + "-create-a-simple-todo-app-fur-zoe.md", "specs/qa/" + date + "-create-a-simple-todo-app-fur-zoe.md",
		"specs/user-stories/" + date + "-create-a-simple-todo-app-fur-zoe.md",
	}
	if got := slices.Sorted(maps.Keys(w.files())); !slices.Equal(got, want) {
		t.Errorf("it wrote %q", got)
	}
	if len(w.shelf.documents) != 1 || len(s.codes()) != 0 {
		t.Errorf("uploaded %v, warned %v", w.shelf.documents, s.codes())
	}
	prompt := cast.Part("expert in qa").Requests()[0].Messages[1].Text
	for _, part := range []string{"YOUR LIMITATIONS:\n- CANNOT write files", "As Zoë I add todos", `"const": "qa"`, "TASK:\nReview", "specs/qa/" + date} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the prompt of qa lacks %q: %s", part, prompt)
		}
	}
}

// With no key and no model a delivery still runs to its end, in a repository of its own,
// and each phase answers with JSON as asked for.
func TestADeliveryIsRehearsedToItsEnd(t *testing.T) {
	y := shellYard(t)
	y.config.Model, y.config.Repository.Dir, y.config.Repository.Create = rehearsal.New(), filepath.Join(t.TempDir(), "new"), true
	y.config.Repository.Checks, y.config.Repository.Unchecked = nil, true
	y.config.Knowledge = newShelf()
	y.mustRun(pipeline.OutcomeDelivered)
	sum := pipeline.Summarize(y.events())
	if len(sum.Phases) != 6 || sum.Metrics.JSONCompliance != 1 || len(sum.Ledger) != 2 || !sum.Success {
		t.Errorf("got %s", encode(sum))
	}
	if _, err := os.Stat(filepath.Join(y.config.Repository.Dir, "rehearsal", "step-2.md")); err != nil {
		t.Error(err)
	}
}

func TestADeliveryMayBeginLateAndEndEarly(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.To = "planning"
	first, _ := mustEnd(t, deliver(t, c))
	if got := pipeline.Summarize(first.events()); len(got.Phases) != 4 || !got.Success {
		t.Errorf("up to planning: %s", encode(got))
	}
	c = w.config()
	c.From = "qa"
	second, end, err := begin(t, deliver(t, c), map[string]any{"phases": pipeline.Results(first.events())})
	if err != nil || end.Output.Meta.Status != "success" {
		t.Fatalf("got %+v, %v", end, err)
	}
	if got := pipeline.Summarize(second.events()); len(got.Phases) != 1 || got.Phases[0].Name != "qa" {
		t.Errorf("from qa: %s", encode(got))
	}
	if !strings.Contains(w.prompt("qa"), "As Zoë I add todos") {
		t.Errorf("qa does not know what was found before: %s", w.prompt("qa"))
	}
}

// What the phases came to may be read back from a log as plain JSON.
func TestResultsAreData(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.To = "requirements"
	s, _ := mustEnd(t, deliver(t, c))
	events := s.events()
	before := pipeline.Results(events)
	for i := range events {
		data, err := json.Marshal(&events[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if after := pipeline.Results(events); encode(after) != encode(before) || len(after) != 1 {
		t.Errorf("got %s, was %s", encode(after), encode(before))
	}
}

func TestPhasesOfYourOwn(t *testing.T) {
	contract, err := pipeline.NewContract("review", json.RawMessage(`{"type":"object","required":["verdict"],"properties":{"verdict":{"type":"string"}}}`), "verdict")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.answer = func(phase, _ string) string {
		return encode(object{"status": "success", "phase": phase, "outputs": object{"verdict": "fine"}, "artifacts": []object{{"name": "v.md", "path": "v/YYYY-MM-DD/{feature}.md", "content": "fine", "type": "file"}},
			"next_phase": object{"ready": true}})
	}
	c := w.config()
	c.Name, c.Phases = "check", []pipeline.Phase{{Name: "review", Contract: contract, Task: "Judge."}}
	s, end := mustEnd(t, deliver(t, c))
	if end.Output.Meta.Status != "success" || string(s.result("review").Outputs) != `{"verdict":"fine"}` {
		t.Errorf("got %+v", s.result("review"))
	}
	if len(w.files()) != 1 || s.codes()["contract"] == 0 {
		t.Errorf("wrote %v, warned %v", w.files(), s.codes())
	}
}

func TestWhatCannotBeADeliveryIsRefused(t *testing.T) {
	w := newWorld(t)
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "planning", Model: w})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*pipeline.Config){
		"needs an Output":    func(c *pipeline.Config) { c.Output = nil },
		"needs an Agent":     func(c *pipeline.Config) { c.Model = nil },
		"approve \"maybe\"":  func(c *pipeline.Config) { c.Approve = "maybe" },
		"no phase \"x\"":     func(c *pipeline.Config) { c.From = "x" },
		"comes before":       func(c *pipeline.Config) { c.From, c.To = "qa", "planning" },
		"needs a Repository": func(c *pipeline.Config) { c.Phases = nil },
		"has no phases":      func(c *pipeline.Config) { c.Phases = []pipeline.Phase{} },
		"needs a Contract":   func(c *pipeline.Config) { c.Phases = []pipeline.Phase{{Name: "review"}} },
		"is taken":           func(c *pipeline.Config) { c.Phases = append(pipeline.Six(), pipeline.Six()[0]) },
		"which is that of":   func(c *pipeline.Config) { c.Phases = []pipeline.Phase{{Name: "planning", Agent: agent}} },
	} {
		c := w.config()
		change(&c)
		if _, err := pipeline.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestAModelThatCannotBeAskedFailsTheDeliveryWhichResumes(t *testing.T) {
	y := shellYard(t)
	down := true
	y.with("implementation", func(step, _ string, _ int) string {
		if down && step == "2" {
			return "FAIL no such model"
		}
		return y.usual("implementation", step)
	})
	if _, _, err := y.run(nil); err == nil || !strings.Contains(err.Error(), "no such model") {
		t.Fatalf("got %v", err)
	}
	down = false
	before := len(y.asked)
	r, _, err := y.resume()
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || len(r.Commits) != 2 {
		t.Fatalf("got %+v, %v", r, err)
	}
	if n := len(y.asked) - before; n != 2 {
		t.Errorf("resumed, the models were asked %d times: step 2 and qa are left", n)
	}
}

// A phase, a step, or another round of one, for which there is no room is not begun: nobody is asked
// once more, and who raises the limit goes on there.
func TestNothingIsBegunWithoutRoom(t *testing.T) {
	smooth := func() *yard { return shellYard(t) }
	rough := func() *yard { // which needs corrections
		said, wrote := false, false
		return shellYard(t).with("requirements", func(string, string, int) string {
			if !said {
				said = true
				return "I have thought about it."
			}
			return thought("requirements")
		}).with("implementation", func(step, _ string, _ int) string {
			if !wrote {
				wrote = true
				return fileOfStep(step, "bad\n")
			}
			return fileOfStep(step, "good\n")
		})
	}
	for name, made := range map[string]func() *yard{"smooth": smooth, "rough": rough} {
		whole := made()
		if _, _, err := whole.run(nil); err != nil {
			t.Fatal(err)
		}
		for turns := 1; turns < len(whole.asked); turns++ {
			y := made()
			_, err := y.gather(y.engine.Run(t.Context(), deliver(t, y.config), troupe.Input{Text: "Add a median to the stats package", Limits: troupe.Limits{Turns: turns}}))
			if limit, ok := errors.AsType[*room.Error](err); !ok || limit.Limit != "turns" || !strings.Contains(err.Error(), "of this run") {
				t.Fatalf("%s, %d turns: got %v", name, turns, err)
			}
			if n := len(y.asked); n != turns {
				t.Errorf("%s: with %d turns the models were asked %d times", name, turns, n)
			}
			if r := y.goOn("go on"); r.Outcome != pipeline.OutcomeDelivered || name == "smooth" && len(y.asked) != len(whole.asked) {
				t.Errorf("%s: after %d turns it is %s with %d in all, %d are needed", name, turns, r.Outcome, len(y.asked), len(whole.asked))
			}
		}
	}
}

// fileOfStep is what a builder says who has written the file of a step.
func fileOfStep(step, content string) string { return built(fileOf("step"+step+".ok", content)) }

// Where the turns are used up, nothing more is spent unasked, and what is done is kept.
func TestALimitThatIsReachedLosesNothing(t *testing.T) {
	y := shellYard(t)
	_, err := y.gather(y.engine.Run(t.Context(), deliver(t, y.config), troupe.Input{Text: "Add a median", Limits: troupe.Limits{Turns: 5}}))
	if err == nil || !strings.Contains(err.Error(), "all 5 turns of this run are used up") {
		t.Fatalf("got %v", err)
	}
	if n := len(y.asked); n > 6 {
		t.Errorf("the models were asked %d times", n)
	}
	if got := y.sh("git log --format=%s --all"); !strings.Contains(got, "First\n") || strings.Contains(got, "Second") {
		t.Errorf("committed: %s", got)
	}
}
