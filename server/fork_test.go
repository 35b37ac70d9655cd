package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// newsroom is a flow whose first agent returns a plan. It counts how often models are asked.
func newsroom(t testing.TB, asked *atomic.Int64) cast {
	t.Helper()
	agent := func(id string, output *troupe.Output, answer func(troupe.Handoff) string) *troupe.Agent {
		made, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Output: output, Model: modelFunc(func(_ context.Context, req *troupe.Request, say func(string)) error {
			asked.Add(1)
			var h troupe.Handoff
			err := h.ReadPrompt(req.Messages[len(req.Messages)-1].Text)
			say(answer(h))
			return err
		})})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	planner := agent("planner", troupe.OutputOf[struct {
		Pages int `json:"pages"`
	}](), func(troupe.Handoff) string { return `{"pages":3}` })
	heard := func(h troupe.Handoff) string { return h.Task + ": " + h.Summary }
	news := flow.Sequence("news", planner, agent("writer", nil, heard), agent("editor", nil, heard))
	return cast{"news": func() (troupe.Step, error) { return news, nil }}
}

// runs returns the run of each agent in a session.
func (w *world) runs(session string, headers ...header) map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, e := range w.follow(session, 0, headers...).until(ends) {
		if _, ok := e.Body.(*troupe.RunStarted); ok {
			found[e.Agent] = e.Run
		}
	}
	return found
}

func said(s string) *string { return &s }

func TestAStepIsDoneAgainWithWhatAPersonHasEdited(t *testing.T) {
	var asked atomic.Int64
	w := open(t, newsroom(t, &asked), withUsers, func(c *Config) { c.Dir = t.TempDir() })
	var begun started
	w.want(http.StatusAccepted, &begun, "POST", "/api/flows/news/runs", message{Text: "go"})
	runs := w.runs(begun.Session)
	path := "/api/sessions/" + begun.Session + "/fork"
	before, _ := w.do("GET", "/api/sessions/"+begun.Session+"/events?before=", nil)
	if asked.Load() != 3 || before != http.StatusOK {
		t.Fatalf("%d models were asked", asked.Load())
	}
	key := with("Idempotency-Key", "k-1")
	edit := cut{Run: runs["writer"], Input: &newInput{Task: said("write"), Value: json.RawMessage(`{ "pages": 5 }`)}}
	var made, again forked
	w.want(http.StatusCreated, &made, "POST", path, edit, key)
	for range 2 { // a request that is sent again, also to a server that was killed meanwhile
		w.want(http.StatusCreated, &again, "POST", path, edit, key)
		if again != made {
			t.Errorf("two sessions were made: %s and %s", made.Session, again.Session)
		}
		w = w.restarted()
	}
	w.want(http.StatusUnprocessableEntity, nil, "POST", path, cut{Run: runs["writer"], Input: &newInput{Task: said("other")}}, key)
	w.want(http.StatusUnprocessableEntity, nil, "POST", path, cut{Run: runs["writer"]}, key)
	if asked.Load() != 3 {
		t.Errorf("%d models were asked before the run goes on", asked.Load())
	}
	for session, from := range map[string]string{begun.Session: "", made.Session: begun.Session} {
		var listed sessionView
		if w.want(http.StatusOK, &listed, "GET", "/api/sessions/"+session, nil); listed.Forked != from {
			t.Errorf("%s is a fork of %q, not of %q", session, listed.Forked, from)
		}
	}

	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+made.Session+"/resume", nil)
	var fork *troupe.SessionForked
	var answer string
	for _, e := range w.follow(made.Session, 0).until(func(e *troupe.Event) bool { return e.Parent == "" && e.Kind() == "run_finished" }) {
		switch b := e.Body.(type) {
		case *troupe.SessionForked:
			fork = b
		case *troupe.RunStarted:
			if b.Edited != (e.Agent == "writer") || b.Edited && b.EditedBy != "ann" {
				t.Errorf("%s: edited %v by %q", e.Agent, b.Edited, b.EditedBy)
			}
		case *troupe.RunFinished:
			answer = b.Output.Summary
		}
	}
	if fork == nil || fork.User != "ann" || fork.Agent != "writer" || fork.From != begun.Session || fork.Was.Summary != `{"pages":3}` || fork.Input.Summary != `{"pages":5}` || fork.Input.Task != "write" {
		t.Errorf("the log says %+v", fork)
	}
	if asked.Load() != 5 || answer != `write: write: {"pages":5}` {
		t.Errorf("%d models were asked, and it came to %q", asked.Load(), answer)
	}
	// Sent again after all this it is the same session.
	w.want(http.StatusCreated, &again, "POST", path, edit, key)
	if again != made {
		t.Errorf("another session was made: %s", again.Session)
	}
	var explained struct {
		Edits []struct{ Agent, User string }
	}
	w.want(http.StatusOK, &explained, "GET", "/api/sessions/"+made.Session+"/explain", nil)
	if len(explained.Edits) != 1 || explained.Edits[0].Agent != "writer" || explained.Edits[0].User != "ann" {
		t.Errorf("explained as %+v", explained)
	}
}

// Whoever does a step again a day later has all the time that is left of the run's; where that is
// used up, it is said so.
func TestAStepThatIsDoneAgainLaterHasTheTimeThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		late := false
		news, _ := newsroom(t, &asked)["news"]()
		desk := troupe.NewStep("desk", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			if late {
				time.Sleep(time.Minute)
			}
			return run.Do(ctx, news, in)
		}, news)
		w, _ := openInMemory(t, cast{"desk": func() (troupe.Step, error) { return desk, nil }}, func(c *Config) {
			var err error
			if c.Engine, err = troupe.New(troupe.Config{Store: c.Store, Limits: troupe.Limits{Time: time.Minute}}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Engine.Close() })
		})
		var begun started
		w.want(http.StatusAccepted, &begun, "POST", "/api/flows/desk/runs", message{Text: "go"})
		runs := w.runs(begun.Session)
		isOver := func(e *troupe.Event) bool {
			return e.Parent == "" && (e.Kind() == "run_finished" || e.Kind() == "run_failed")
		}
		for agent, want := range map[string]string{"writer": "run_finished", "news": "run_failed"} {
			time.Sleep(24 * time.Hour)
			late = agent == "news"
			var made forked
			w.want(http.StatusCreated, &made, "POST", "/api/sessions/"+begun.Session+"/fork", cut{Run: runs[agent]})
			w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+made.Session+"/resume", nil)
			events := w.follow(made.Session, 0).until(isOver)
			if last := events[len(events)-1]; last.Kind() != want {
				t.Errorf("%s done again ends with %s", agent, last.Kind())
			}
			if _, text := w.do("GET", "/api/sessions/"+made.Session+"/events?before=", nil); strings.Contains(text, `"code":"limit_time"`) != late {
				t.Errorf("%s done again: %s", agent, text)
			}
		}
	})
}

// A request to fork a session that is sent again under its key makes no second one, however
// many are under way and whoever was killed.
func TestAForkUnderAKeyIsMadeOnce(t *testing.T) {
	w := open(t, newsroom(t, new(atomic.Int64)), withUsers, func(c *Config) { c.Dir = t.TempDir() })
	var begun started
	w.want(http.StatusAccepted, &begun, "POST", "/api/flows/news/runs", message{Text: "go"})
	w.runs(begun.Session) // until it has ended
	path, key := "/api/sessions/"+begun.Session+"/fork", with("Idempotency-Key", "k-1")
	made := make([]forked, 4)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() { w.want(http.StatusCreated, &made[i], "POST", path, cut{After: 3}, key) })
	}
	all.Wait()
	w = w.restarted()
	w.want(http.StatusCreated, &made[0], "POST", path, cut{After: 3}, key)
	for _, m := range made {
		if m != made[0] {
			t.Errorf("two sessions were made: %v", made)
		}
	}
	w.want(http.StatusUnprocessableEntity, nil, "POST", path, cut{After: 4}, key)
	var other forked
	if w.want(http.StatusCreated, &other, "POST", path, cut{After: 3}); other == made[0] {
		t.Error("a request without a key is another one")
	}
}

func TestWhatCannotBeEditedIsRefused(t *testing.T) {
	var asked atomic.Int64
	w := open(t, newsroom(t, &asked), withUsers)
	var begun started
	w.want(http.StatusAccepted, &begun, "POST", "/api/flows/news/runs", message{Text: "go"})
	runs := w.runs(begun.Session)
	path := "/api/sessions/" + begun.Session + "/fork"
	for name, c := range map[string]struct {
		body   any
		status int
		says   string
	}{
		"a value of another type": {cut{Run: runs["writer"], Input: &newInput{Value: json.RawMessage(`{"pages":"many"}`)}}, http.StatusUnprocessableEntity, "the value does not fit what planner returns"},
		"text in its place":       {cut{Run: runs["writer"], Input: &newInput{Summary: said("many")}}, http.StatusUnprocessableEntity, "the value is no JSON"},
		"the whole run":           {cut{Run: runs["news"]}, http.StatusUnprocessableEntity, "no step of a flow"},
		"no such run":             {cut{Run: "x"}, http.StatusUnprocessableEntity, "no such run"},
		"an event and a run":      {cut{After: 1, Run: runs["writer"]}, http.StatusBadRequest, "not both"},
		"an input without a run":  {cut{After: 1, Input: &newInput{Task: said("x")}}, http.StatusBadRequest, "needs the run"},
		"no place":                {cut{}, http.StatusBadRequest, "numbered from 1"},
		"an unknown field":        {object{"run": runs["writer"], "input": object{"tusk": "x"}}, http.StatusBadRequest, "tusk"},
	} {
		if status, body := w.do("POST", path, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	w.want(http.StatusNotFound, nil, "POST", path, cut{Run: runs["writer"]}, as(tokenOfBob))
	var list []sessionView
	w.want(http.StatusOK, &list, "GET", "/api/sessions", nil)
	if len(list) != 1 || asked.Load() != 3 {
		t.Errorf("there are %d sessions, and %d models were asked", len(list), asked.Load())
	}
	// Outputs and custom values are taken as a whole, and a long text is none too many.
	var made forked
	long := strings.Repeat("x", smallBody)
	w.want(http.StatusCreated, &made, "POST", path, cut{Run: runs["editor"], Input: &newInput{
		Summary: &long, Outputs: map[string]json.RawMessage{"big": json.RawMessage("9007199254740993")}, Custom: map[string]json.RawMessage{}}})
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+made.Session+"/resume", nil)
	w.follow(made.Session, 0).until(func(e *troupe.Event) bool {
		if b, ok := e.Body.(*troupe.RunStarted); ok && b.Edited && (b.Input.Summary != long || b.Input.Outputs["big"] != json.Number("9007199254740993") || len(b.Input.Outputs) != 1) {
			t.Errorf("it was given %+v", b.Input.Outputs)
		}
		return e.Parent == "" && e.Kind() == "run_finished"
	})
}
