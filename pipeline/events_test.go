package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// log makes events of one session, a second apart.
type log []troupe.Event

func (l *log) add(run, parent, agent string, body troupe.Body) {
	*l = append(*l, troupe.Event{Session: "s", Run: run, Parent: parent, Agent: agent, Time: time.Unix(int64(len(*l)), 0), Body: body})
}

// phase adds a run of a phase with one reply.
func (l *log) phase(run, name string, status Status, json Level, more ...troupe.Body) {
	l.add(run, "root", name, &troupe.RunStarted{Input: troupe.Handoff{Task: "the request"}})
	l.add(run+":1", run, name+"-agent", &troupe.ModelReplied{Usage: troupe.Usage{Input: 3, Output: 2}, Cost: 0.5})
	for _, body := range more {
		l.add(run+":1", run, name+"-agent", body)
	}
	l.add(run, "root", name, &troupe.RunFinished{Output: troupe.Handoff{
		Custom:  map[string]any{"phase": name, "status": string(status), "json": string(json)},
		Outputs: map[string]any{"result": Result{Phase: name, Status: status, Artifacts: []Saved{{Path: name + ".md", Diff: "+x"}}, Errors: []string{name + " complains"}}},
	}})
}

func TestASummaryFollowsTheLog(t *testing.T) {
	var l log
	l.add("root", "", "deliver", &troupe.RunStarted{})
	if s := Summarize(l); s.Session != "s" || s.State != "running" { // before its first phase
		t.Errorf("got %+v", s)
	}
	l.phase("a", "requirements", "success", LevelStrict, &troupe.Warned{Code: codeCorrection, Message: "m"}, &troupe.ModelFailed{Usage: troupe.Usage{Input: 1}, Cost: 0.25})
	l.phase("b", "planning", "partial", LevelMarkdown, &troupe.Warned{Code: "other"})
	l.add("c", "root", "qa", &troupe.RunStarted{Input: troupe.Handoff{Task: "the request"}})
	s := Summarize(l)
	if s.State != "running" || s.Success || s.Session != "s" || s.Request != "the request" || s.Tokens != 11 || s.Cost != 1.25 || len(s.Phases) != 3 || s.Duration != troupe.Millis(10*time.Second) {
		t.Fatalf("got %+v", s)
	}
	first, second, third := s.Phases[0], s.Phases[1], s.Phases[2]
	if first.Name != "requirements" || first.Status != "success" || first.JSON != LevelStrict || first.Tokens != 6 || first.Cost != 0.75 || first.Runs != 1 || first.Corrections != 1 || first.Artifacts != 1 ||
		first.Duration != troupe.Millis(4*time.Second) || !first.Started.Equal(time.Unix(1, 0)) {
		t.Errorf("got %+v", first)
	}
	if second.Status != "partial" || second.Corrections != 0 || third.Status != "running" || third.Artifacts != 0 {
		t.Errorf("got %+v and %+v", second, third)
	}
	if s.Metrics != (Metrics{PhaseSuccess: 1.0 / 3, JSONCompliance: 0.5, ArtifactSuccess: 1, Completion: 0}) {
		t.Errorf("got %+v", s.Metrics)
	}
	if want := []Warning{{"requirements", codeCorrection, "m"}, {"planning", "other", ""}}; !slices.Equal(s.Warnings, want) {
		t.Errorf("got %+v", s.Warnings)
	}
	if want := []string{"requirements complains", "planning complains"}; !slices.Equal(s.Errors, want) {
		t.Errorf("got %q", s.Errors)
	}
}

func TestTheStateOfADeliveryIsThatOfItsOwnRun(t *testing.T) {
	finished := &troupe.RunFinished{}
	for name, c := range map[string]struct {
		run    string
		bodies []troupe.Body
		want   string // state, question, errors and how long it was worked on
	}{
		"it ended":            {"root", []troupe.Body{finished}, "completed  [requirements complains] 3s"},
		"it asks":             {"root", []troupe.Body{&troupe.RunFinished{Stop: "input_requested", Output: troupe.Handoff{Summary: "Well?"}}}, "waiting Well? [requirements complains] 3s"},
		"it was answered":     {"root", []troupe.Body{&troupe.RunFinished{Stop: "input_requested", Output: troupe.Handoff{Summary: "Well?"}}, &troupe.UserSaid{}}, "running  [requirements complains] 3s"},
		"it failed":           {"root", []troupe.Body{&troupe.RunFailed{Error: "no"}}, "failed  [no requirements complains] 3s"},
		"it was cancelled":    {"root", []troupe.Body{&troupe.RunCancelled{}}, "cancelled  [requirements complains] 3s"},
		"it goes on":          {"root", []troupe.Body{&troupe.RunFailed{Error: "no"}, &troupe.RunResumed{}}, "running  [requirements complains] 3s"},
		"another run failed":  {"other", []troupe.Body{&troupe.RunFailed{Error: "no"}}, "running  [requirements complains] 3s"},
		"another ended":       {"other", []troupe.Body{finished}, "running  [requirements complains] 3s"},
		"another was stopped": {"other", []troupe.Body{&troupe.RunCancelled{}}, "running  [requirements complains] 3s"},
	} {
		var l log
		l.phase("a", "requirements", "success", LevelStrict)
		for _, body := range c.bodies {
			l.add(c.run, "", "deliver", body)
		}
		s := Summarize(l)
		if got := fmt.Sprintf("%s %s %v %v", s.State, s.Question, s.Errors, s.Duration.Duration()); got != c.want {
			t.Errorf("%s: got %q", name, got)
		}
		if s.Success != (s.State == "completed") {
			t.Errorf("%s: success is %t", name, s.Success)
		}
	}
}

// A failed phase is one whose own run failed; what was spent counts in the next run, too.
func TestAnotherRunOfADeliveryGoesOnCounting(t *testing.T) {
	var l log
	l.add("a", "root", "requirements", &troupe.RunStarted{})
	l.add("a:1", "a", "agent", &troupe.ModelReplied{Usage: troupe.Usage{Input: 5}, Cost: 1})
	l.add("a:1", "a", "agent", &troupe.RunFailed{Error: "below"})
	if s := Summarize(l); s.Phases[0].Status != "running" {
		t.Errorf("got %+v", s.Phases)
	}
	l.add("a", "root", "requirements", &troupe.RunFailed{Error: "own"})
	if s := Summarize(l); s.Phases[0].Status != "failed" {
		t.Errorf("got %+v", s.Phases)
	}
	l.add("b", "second", "requirements", &troupe.RunStarted{})
	l.add("b:1", "b", "agent", &troupe.ModelReplied{Usage: troupe.Usage{Input: 2}, Cost: 2})
	l.add("c", "second", "requirements", &troupe.RunStarted{})
	s := Summarize(l)
	if s.Tokens != 7 || s.Cost != 3 || len(s.Phases) != 1 || s.Phases[0].Runs != 3 || s.Phases[0].Status != "running" || !s.Started.Equal(time.Unix(4, 0)) {
		t.Errorf("got %+v", s)
	}
	l.add("third", "", "deliver", &troupe.ToolCalled{Tool: toolPrepare})
	if s := Summarize(l); s.Tokens != 7 || len(s.Phases) != 0 || !s.Started.Equal(time.Unix(7, 0)) {
		t.Errorf("got %+v", s)
	}
	l.add("third", "", "deliver", &troupe.ToolCalled{Tool: toolPrepare})
	if s := Summarize(l); !s.Started.Equal(time.Unix(7, 0)) {
		t.Errorf("the same run began twice: %+v", s)
	}
}

// A phase that is run again takes the place of its first run, and of all that came after it.
func TestResultsAreThoseOfTheLatestPass(t *testing.T) {
	var l log
	l.phase("a", "requirements", "success", LevelStrict)
	l.phase("b", "planning", "success", LevelStrict)
	l.phase("c", "qa", "success", LevelStrict)
	l.phase("d", "planning", "partial", LevelStrict)
	l.add("x", "root", "other", &troupe.RunFinished{})
	l.add("y", "root", "broken", &troupe.RunFinished{Output: troupe.Handoff{Custom: map[string]any{"phase": "broken"}, Outputs: map[string]any{"result": "text"}}})
	var got []string
	for _, r := range Results(l) {
		if got = append(got, r.Phase+" "+string(r.Status)); r.Artifacts[0].Diff != "" {
			t.Errorf("%s has a diff", r.Phase)
		}
	}
	if want := []string{"requirements success", "planning partial"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestArtifactsAreAsTheyAreByTheEndOfTheLog(t *testing.T) {
	var l log
	call := func(step, tool, arguments string, returned troupe.ToolReturned) {
		returned.Tool = tool
		l.add("r", "", "deliver", &troupe.ToolCalled{Tool: tool, Arguments: troupe.Arguments(arguments)})
		l[len(l)-1].Step = step
		l.add("r", "", "deliver", &returned)
		l[len(l)-1].Step = step
	}
	call("1", toolWrite, `{"path": "./a.md", "type": "gkchatty", "phase": "planning", "content": "A"}`, troupe.ToolReturned{Content: `{"path": "a.md", "sha256": "h", "size": 1, "change": "created"}`})
	call("2", toolUpload, `{"path": "a.md"}`, troupe.ToolReturned{Class: "failed", Error: "down"})
	call("3", toolWrite, `{"path": "/b.md", "type": "file", "content": "B"}`, troupe.ToolReturned{Class: "invalid_arguments", Error: "absolute", Content: `{"sha256": "no"}`})
	call("4", toolLook, `{"path": "c.md"}`, troupe.ToolReturned{})
	call("5", toolWrite, `no JSON`, troupe.ToolReturned{})
	call("6", toolWrite, `{"path": "d.md", "type": "file", "phase": "qa"}`, troupe.ToolReturned{Content: `{"path": "d.md", "sha256": "i", "size": 2, "change": "changed"}`})
	if got, want := fmt.Sprint(Summarize(l).Artifacts), "[{a.md gkchatty planning h failed down} {/b.md file   failed absolute} {d.md file qa i saved }]"; got != want {
		t.Errorf("got %s", got)
	}
	failed := Failed(l)
	if len(failed) != 2 || failed[0].Act != "upload" || failed[0].Reason != "down" || failed[0].Content != "A" || failed[1].Act != "write" || failed[1].Path != "/b.md" {
		t.Errorf("got %+v", failed)
	}
	if got := Documents(l); len(got) != 2 || got[0].Path != "a.md" || got[1].Path != "d.md" {
		t.Errorf("got %+v", got)
	}
	call("7", toolUpload, `{"path": "a.md"}`, troupe.ToolReturned{})
	if got := artifactsIn(l)[0]; got.State != StateUploaded || got.Error != "" || got.Size != 1 || got.Change != "created" || got.request.Content != "A" {
		t.Errorf("got %+v", got)
	}
	if got := Failed(l); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	if s := Summarize(l); s.Metrics.ArtifactSuccess != 2.0/3 || s.Success {
		t.Errorf("got %+v", s.Metrics)
	}
}

func TestOfNothingAllIsWell(t *testing.T) {
	if got := Summarize(nil).Metrics; got != (Metrics{1, 1, 1, 0}) {
		t.Errorf("got %+v", got)
	}
	if got := withoutDiffs([]Saved{{Path: "a", Diff: "d"}}); !reflect.DeepEqual(got, []Saved{{Path: "a"}}) {
		t.Errorf("got %+v", got)
	}
}
