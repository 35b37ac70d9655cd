package pipeline_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/troupetest"
)

var six = []string{"requirements", "architecture", "discovery", "planning", "implementation", "qa"}

func TestADeliveryTakesARequestThroughSixAgents(t *testing.T) {
	w := newWorld(t)
	parts := map[string][]troupetest.Turn{}
	for _, phase := range six {
		answer := goodAnswer(phase, "\"plan_step\": {\n \"step\": 1")
		parts["expert in "+phase] = []troupetest.Turn{troupetest.Say(answer).Using(troupe.Usage{Input: 100, Output: 20})}
	}
	parts["expert in implementation"] = append(parts["expert in implementation"], troupetest.Say(goodAnswer("implementation", "\"plan_step\": {\n \"step\": 2")))
	cast := troupetest.NewCast(t, parts)
	c := w.config()
	c.Phases = pipeline.Six()
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
		"specs/user-stories/" + date + "-create-a-simple-todo-app-fur-zoe.md", "src/step1.go", "src/step2.go",
	}
	if got := slices.Sorted(maps.Keys(w.files())); !slices.Equal(got, want) {
		t.Errorf("it wrote %q", got)
	}
	if len(w.shelf.documents) != 1 || len(s.codes()) != 0 {
		t.Errorf("uploaded %v, warned %v", w.shelf.documents, s.codes())
	}
	prompt := cast.Part("expert in qa").Requests()[0].Messages[1].Text
	for _, part := range []string{"YOUR LIMITATIONS:\n- CANNOT write files", "As Zoë I add todos", "package step2", `"const": "qa"`, "TASK:\nReview", "specs/qa/" + date} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the prompt of qa lacks %q: %s", part, prompt)
		}
	}
}

// With no key and no model a delivery still runs to its end, and each phase answers
// with JSON as asked for.
func TestADeliveryIsRehearsedToItsEnd(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.Model = rehearsal.New()
	s, end := mustEnd(t, deliver(t, c))
	if end.Output.Meta.Status != "success" {
		t.Errorf("it ended with %s: %s", end.Output.Meta.Status, end.Output.Summary)
	}
	sum := pipeline.Summarize(s.events())
	if len(sum.Phases) != 6 || sum.Metrics.JSONCompliance != 1 || len(sum.Ledger) != 2 || !sum.Success {
		t.Errorf("got %s", encode(sum))
	}
	if files := w.files(); len(files) != 7 || files["rehearsal/step-2.md"] == "" {
		t.Errorf("it wrote %q", slices.Sorted(maps.Keys(files)))
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
	c.From = "implementation"
	second, end, err := begin(t, deliver(t, c), map[string]any{"phases": pipeline.Results(first.events())})
	if err != nil || end.Output.Meta.Status != "success" {
		t.Fatalf("got %+v, %v", end, err)
	}
	if got := pipeline.Summarize(second.events()); len(got.Phases) != 2 || got.Phases[0].Name != "implementation" {
		t.Errorf("from implementation: %s", encode(got))
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
		"needs an Output":   func(c *pipeline.Config) { c.Output = nil },
		"needs an Agent":    func(c *pipeline.Config) { c.Model = nil },
		"approve \"maybe\"": func(c *pipeline.Config) { c.Approve = "maybe" },
		"no phase \"x\"":    func(c *pipeline.Config) { c.From = "x" },
		"comes before":      func(c *pipeline.Config) { c.From, c.To = "qa", "planning" },
		"has no phases":     func(c *pipeline.Config) { c.Phases = []pipeline.Phase{} },
		"needs a Contract":  func(c *pipeline.Config) { c.Phases = []pipeline.Phase{{Name: "review"}} },
		"is taken":          func(c *pipeline.Config) { c.Phases = append(pipeline.Six(), pipeline.Six()[0]) },
		"which is that of":  func(c *pipeline.Config) { c.Phases = []pipeline.Phase{{Name: "planning", Agent: agent}} },
	} {
		c := w.config()
		change(&c)
		if _, err := pipeline.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestAModelThatCannotBeAskedFailsTheDeliveryWhichResumes(t *testing.T) {
	w := newWorld(t)
	down := true
	w.answer = func(phase, prompt string) string {
		if down && phase == "implementation" && strings.Contains(prompt, "\"step\": 2") {
			return "FAIL no such model"
		}
		return goodAnswer(phase, prompt)
	}
	step := deliver(t, w.config())
	s, _, err := begin(t, step, nil)
	if err == nil || !strings.Contains(err.Error(), "no such model") {
		t.Fatalf("got %v", err)
	}
	down = false
	before := len(w.prompts())
	end, err := s.gather(s.engine.Resume(t.Context(), step, s.events()[0].Session))
	if err != nil || end.Output.Meta.Status != "success" {
		t.Fatalf("got %+v, %v", end, err)
	}
	if n := len(w.prompts()) - before; n != 2 {
		t.Errorf("resumed, the models were asked %d times: step 2 and qa are left", n)
	}
	if fmt.Sprint(s.result("implementation").Steps) == "" || len(s.result("implementation").Steps) != 2 {
		t.Errorf("got %+v", s.result("implementation"))
	}
}

// A budget that is used up closes the gate: nothing more is spent unasked.
func TestABudgetThatIsUsedUpClosesTheGate(t *testing.T) {
	w := planned(t, 30, nil)
	step := deliver(t, w.config())
	s := &session{t: t, store: troupe.NewMemoryStore(), step: step}
	s.engine = newEngine(t, s.store)
	end, err := s.gather(s.engine.Run(t.Context(), step, troupe.Input{Text: request, Limits: troupe.Limits{Turns: 7}}))
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "limit is reached: turns") {
		t.Fatalf("got %+v, %v", end, err)
	}
	if n := len(w.prompts()); n != 8 {
		t.Errorf("the models were asked %d times", n)
	}
	states := map[string]int{}
	for _, l := range pipeline.Summarize(s.events()).Ledger {
		states[l.State]++
	}
	if states[pipeline.StepDone] != 3 || states[pipeline.StepSkipped] != 26 {
		t.Errorf("got %v", states)
	}
}
