package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// sites is a [Deliveries] by hand that has one kind of delivery, wherever it is asked for.
type sites struct {
	Deliveries
	step troupe.Step
	acts *[]string // what was done with them
}

func (s sites) Act(_ context.Context, _, act string) (string, error) {
	*s.acts = append(*s.acts, act)
	if len(*s.acts) > 1 && act == "revert" {
		return "", errors.New("it was taken back already")
	}
	return "Done.", nil
}

func (s sites) Drop(context.Context, string) error {
	*s.acts = append(*s.acts, "drop")
	return nil
}

func (s sites) Start(context.Context, string, DeliveryOptions) (troupe.Step, troupe.Input, error) {
	return s.step, troupe.Input{Text: "Make it good"}, nil
}

func (s sites) Result(context.Context, *troupe.SessionInfo) string {
	switch {
	case s.acts == nil || len(*s.acts) == 0:
		return ""
	case slices.Contains(*s.acts, "drop"):
		return "dropped"
	case slices.Contains(*s.acts, "revert"):
		return "taken_back"
	}
	return "taken"
}

func (s sites) Show(_ context.Context, session string) (DeliverySite, error) {
	site := DeliverySite{ID: session[:8], Request: "Make it good", Branch: "b"}
	if s.acts != nil && slices.Contains(*s.acts, "drop") {
		site.Dropped = time.Now()
	}
	return site, nil
}

// reviewing is a delivery whose review found something, and which waits for a decision.
func reviewing() troupe.Step {
	qa := troupe.NewStep("qa", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		result := map[string]any{"phase": "qa", "status": "success", "review": map[string]any{
			"verdict":  "changes_required",
			"findings": []map[string]any{{"id": "F1", "severity": "major", "path": "a.go", "line": 3, "problem": "NaN is taken", "fix": "Refuse NaN", "reproduce": []map[string]any{{"path": "a_test.go"}}}},
			"criteria": []map[string]any{{"id": "AC1", "text": "there is a median", "state": "met", "evidence": "a.go:1"}},
			"claims":   []string{"the review says that the tests pass, and nothing was measured"},
		}}
		return troupe.Handoff{Task: in.Task, Outputs: map[string]any{"result": result}, Custom: map[string]any{"phase": "qa", "status": "success"}}, nil
	})
	gate := troupe.NewToolWithCall("gate", "Asks.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		if len(call.Answers) == 0 {
			return "", &troupe.InputNeeded{Question: "Put it right?", CallAgain: true}
		}
		return "yes", nil
	}, troupe.RepeatSafe())
	return troupe.NewStep(Pipeline, func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		if _, err := run.Do(ctx, qa, in); err != nil {
			return troupe.Handoff{}, err
		}
		_, err := run.Call(ctx, gate, struct{}{})
		return in, err
	})
}

// What a review found is there while a delivery waits for somebody to decide about it: with
// how bad it is, where it is and what is to be done, and without what only agents need.
func TestFindingsAreShownWhileADeliveryWaits(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Deliveries = sites{step: reviewing()} })
	var made started
	w.want(http.StatusAccepted, &made, "POST", "/api/deliveries", delivery{Request: "Make it good"})
	w.follow(made.Session, 0).until(ends)
	var seen map[string]any
	w.want(http.StatusOK, &seen, "GET", "/api/deliveries/"+made.Session, nil)
	data, err := json.Marshal([]any{seen["state"], seen["findings"], seen["criteria"], seen["claims"]})
	if err != nil {
		t.Fatal(err)
	}
	want := `["waiting",[{"fix":"Refuse NaN","id":"F1","line":3,"path":"a.go","problem":"NaN is taken","severity":"major"}],` +
		`[{"evidence":"a.go:1","id":"AC1","state":"met","text":"there is a median"}],["the review says that the tests pass, and nothing was measured"]]`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	review, _ := seen["review"].(map[string]any)
	if review["verdict"] != "changes_required" || review["round"] != 1.0 || review["outdated"] != nil {
		t.Errorf("the review is %v", review)
	}
	var api map[string]any
	w.want(http.StatusOK, &api, "GET", "/api/openapi.json", nil)
	described, err := json.Marshal(api)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"waited_seconds"`, `"left_out"`, `"outdated"`, `"severity"`, `"verdict"`} {
		if !strings.Contains(string(described), key) {
			t.Errorf("%s is not described", key)
		}
	}
}

// Whoever looks at a delivery hears that changes of the checkout are not in it.
func TestADeliverySaysWhatIsLeftOut(t *testing.T) {
	prepare := troupe.NewTool("open_worktree", "Makes a worktree.", func(context.Context, struct{}) (map[string]int, error) { return map[string]int{"left": 2}, nil })
	w := open(t, clerk(t, echo()), func(c *Config) {
		c.Deliveries = sites{step: troupe.NewStep(Pipeline, func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			_, err := run.Call(ctx, prepare, struct{}{})
			return in, err
		})}
	})
	var made started
	w.want(http.StatusAccepted, &made, "POST", "/api/deliveries", delivery{Request: "Make it good"})
	w.follow(made.Session, 0).until(ends)
	var seen map[string]any
	w.want(http.StatusOK, &seen, "GET", "/api/deliveries/"+made.Session, nil)
	if seen["left_out"] != 2.0 {
		t.Errorf("it says %v", seen["left_out"])
	}
}

// What a delivery says at its end is its result, whatever mark it ends with: nobody is waited for.
func TestTheResultOfADeliveryIsNoQuestion(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) {
		c.Deliveries = sites{step: troupe.NewStep(Pipeline, func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			return troupe.Handoff{Task: in.Task, Summary: "It failed: which database is it to be?", Meta: troupe.HandoffMeta{Status: "failed"}}, nil
		})}
	})
	var made started
	w.want(http.StatusAccepted, &made, "POST", "/api/deliveries", delivery{Request: "Make it good"})
	w.follow(made.Session, 0).until(ends)
	if info := w.info(made.Session); info.Status != "completed" || info.Outcome != "failed" || info.Question != nil {
		t.Errorf("%+v", info)
	}
	var waiting []sessionView
	if w.want(http.StatusOK, &waiting, "GET", "/api/sessions?status=waiting", nil); len(waiting) != 0 {
		t.Errorf("%+v", waiting)
	}
}

// A delivery whose process was killed is not said to run.
func TestADeliveryThatWasKilledIsInterrupted(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Deliveries = sites{step: reviewing()} })
	const id = "0f3b5c7e-1111-4222-8333-444455556666"
	if err := w.store.Append(t.Context(), id,
		troupe.Event{Seq: 1, Session: id, Run: "root", Agent: Pipeline, Body: &troupe.RunStarted{}},
		troupe.Event{Seq: 2, Session: id, Run: "first", Parent: "root", Agent: "requirements", Body: &troupe.RunStarted{}}); err != nil {
		t.Fatal(err)
	}
	var v deliveryView
	if w.want(http.StatusOK, &v, "GET", "/api/deliveries/"+id, nil); v.State != "interrupted" || len(v.Acts) > 0 {
		t.Errorf("%s, %q", v.State, v.Acts)
	}
}

// A request says what is to be done with a delivery. One that was decided upon before something
// else was done with it drops nothing.
func TestADeliveryIsDroppedAsItWasSeen(t *testing.T) {
	var acts []string
	w := open(t, clerk(t, echo()), func(c *Config) {
		c.Deliveries = sites{step: troupe.NewStep(Pipeline, func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) { return in, nil }), acts: &acts}
	})
	var made started
	w.want(http.StatusAccepted, &made, "POST", "/api/deliveries", delivery{Request: "Make it good"})
	w.follow(made.Session, 0).until(ends)
	path := "/api/deliveries/" + made.Session
	seen := w.info(made.Session).Written
	w.want(http.StatusBadRequest, nil, "POST", path+"/act", deliveryAct{"undo"})
	w.want(http.StatusOK, nil, "POST", path+"/act", deliveryAct{"revert"})
	var p problem
	w.want(http.StatusConflict, &p, "POST", path+"/act", deliveryAct{"revert"})
	if p.Detail != "it was taken back already" {
		t.Errorf("%+v", p)
	}
	w.want(http.StatusConflict, &p, "DELETE", path+"/result?written="+seen, nil)
	if p.Code != "written" || !strings.Contains(p.Detail, "is not dropped") {
		t.Errorf("%+v", p)
	}
	both := w.info(made.Session).Written // as two windows see it
	for range 2 {
		w.want(http.StatusNoContent, nil, "DELETE", path+"/result?written="+both, nil)
	}
	if want := []string{"revert", "revert", "drop"}; !slices.Equal(acts, want) {
		t.Errorf("done was %q, want %q", acts, want)
	}
}

// Lists say what became of what a delivery has built.
func TestTheResultOfADeliveryIsInLists(t *testing.T) {
	var acts []string
	w := open(t, clerk(t, echo()), func(c *Config) {
		c.Deliveries = sites{step: troupe.NewStep(Pipeline, func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) { return in, nil }), acts: &acts}
	})
	var made started
	w.want(http.StatusAccepted, &made, "POST", "/api/deliveries", delivery{Request: "Make it good"})
	w.follow(made.Session, 0).until(ends)
	w.talk(w.session(), "hello") // what is no delivery has none
	path := "/api/deliveries/" + made.Session
	listed := func(want string) {
		t.Helper()
		for _, list := range []string{"/api/deliveries", "/api/sessions"} {
			var all []sessionView
			for w.want(http.StatusOK, &all, "GET", list, nil); len(all) > 0; all = all[1:] {
				if isIt := all[0].ID == made.Session; isIt && all[0].Result != want || !isIt && all[0].Result != "" {
					t.Errorf("%s: the result of %s is %q, want %q", list, all[0].Agent, all[0].Result, want)
				}
			}
		}
	}
	listed("")
	w.want(http.StatusOK, nil, "POST", path+"/act", deliveryAct{"apply"})
	listed("taken")
	acts = []string{"revert"} // as elsewhere
	listed("taken_back")
	w.want(http.StatusNoContent, nil, "DELETE", path+"/result?written="+w.info(made.Session).Written, nil)
	listed("dropped")
	response := w.send(t.Context(), "GET", "/api/openapi.json", nil)
	defer response.Body.Close()
	if described, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(described), "taken, partly_taken, taken_back or dropped") {
		t.Errorf("it is not described: %v", err)
	}
}

// What waits for a decision, or is worked on, is not dropped.
func TestADeliveryThatWaitsIsNotDropped(t *testing.T) {
	var acts []string
	w := open(t, clerk(t, echo()), func(c *Config) { c.Deliveries = sites{step: reviewing(), acts: &acts} })
	var made started
	w.want(http.StatusAccepted, &made, "POST", "/api/deliveries", delivery{Request: "Make it good"})
	w.follow(made.Session, 0).until(ends)
	w.want(http.StatusConflict, nil, "DELETE", "/api/deliveries/"+made.Session+"/result", nil)
	if len(acts) > 0 {
		t.Errorf("done was %q", acts)
	}
}
