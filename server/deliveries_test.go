package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// sites is a [Deliveries] by hand that has one kind of delivery, wherever it is asked for.
type sites struct {
	Deliveries
	step troupe.Step
}

func (s sites) Start(context.Context, string, DeliveryOptions) (troupe.Step, troupe.Input, error) {
	return s.step, troupe.Input{Text: "Make it good"}, nil
}

func (s sites) Show(_ context.Context, session string) (DeliverySite, error) {
	return DeliverySite{ID: session[:8], Request: "Make it good", Branch: "b"}, nil
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
	for _, key := range []string{`"waited_seconds"`, `"outdated"`, `"severity"`, `"verdict"`} {
		if !strings.Contains(string(described), key) {
			t.Errorf("%s is not described", key)
		}
	}
}
