package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// scribbler changes what it is given, in place.
func scribbler(name string) troupe.Step {
	return troupe.NewStep(name, func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		in.Custom["k"] = name
		in.Custom["deep"].(map[string]any)["k"] = name
		in.Summary = name
		return in, nil
	})
}

// What a step does to its own copy of a handoff is seen by nobody else: neither by those
// beside it and the flow around it, nor by the log, on the first pass as on any later one.
func TestWhoeverChangesAHandoffChangesTheirOwnCopy(t *testing.T) {
	given := map[string]any{"k": "original", "deep": map[string]any{"k": "original"}}
	isUp := false
	var edited []string
	beside, err := flow.NewParallel(flow.ParallelConfig{
		Name: "beside", Steps: []troupe.Step{scribbler("a"), scribbler("b"), scribbler("c")},
		Edit: func(_, to string, h troupe.Handoff) (troupe.Handoff, error) {
			edited = append(edited, fmt.Sprint(h.Custom["k"]))
			h.Custom["k"] = to
			return h, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	own := troupe.NewStep("own", func(ctx context.Context, r *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		got, err := r.Do(ctx, scribbler("first"), in)
		if err != nil {
			return in, err
		}
		got.Custom["k"] = "changed afterwards"
		if _, err := r.Do(ctx, beside, in); err != nil {
			return in, err
		}
		if !isUp {
			return in, errors.New("it is down")
		}
		in.Summary = fmt.Sprint(in.Custom["k"], " ", in.Custom["deep"])
		return in, nil
	})
	store := troupe.NewMemoryStore()
	engine := newEngine(t, troupe.Config{Store: store})
	outcome, err := troupe.Collect(engine.Run(t.Context(), own, troupe.Input{Text: "go", Custom: given}))
	if err == nil {
		t.Fatal("it is not down")
	}
	isUp = true
	outcome, err = troupe.Collect(engine.Resume(t.Context(), own, outcome.Session))
	if want := "original map[k:original]"; err != nil || outcome.Text != want {
		t.Errorf("after all, the flow has %q, %v", outcome.Text, err)
	}
	for _, k := range edited {
		if k != "original" {
			t.Errorf("what is edited for one step is %q, as it was edited for another", k)
		}
	}
	outcome.Handoff.Custom["k"] = "changed by the caller"
	for e, err := range store.Events(t.Context(), outcome.Session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *troupe.RunStarted:
			if k := b.Input.Custom["k"]; (e.Agent == "own" || e.Agent == "first") && k != "original" {
				t.Errorf("on record %s began with %v", e.Agent, k)
			}
		case *troupe.RunFinished:
			if k := b.Output.Custom["k"]; e.Agent == "first" && k != "first" || k == "changed by the caller" {
				t.Errorf("on record %s ended with %v", e.Agent, k)
			}
		}
	}
	if given["k"] != "original" {
		t.Errorf("the caller's own map is changed: %v", given)
	}
}

// What cannot be JSON is refused before anything is done, and numbers come through as
// they are.
func TestValuesThatJSONCannotHold(t *testing.T) {
	echo := troupe.NewStep("echo", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) { return in, nil })
	for name, value := range map[string]any{"not a number": math.NaN(), "no end": math.Inf(-1)} {
		for where, input := range map[string]troupe.Input{
			"custom value": {Text: "x", Custom: map[string]any{"v": value}}, "value": {Text: "x", Values: map[string]any{"v": value}},
		} {
			store := troupe.NewMemoryStore()
			_, err := troupe.Collect(newEngine(t, troupe.Config{Store: store}).Run(t.Context(), echo, input))
			if err == nil || !strings.Contains(err.Error(), where+` "v" cannot be handed over`) {
				t.Errorf("%s as %s: %v", name, where, err)
			}
			for info := range store.Sessions(t.Context(), troupe.SessionFilter{}) {
				t.Errorf("%s as %s: a session was begun: %+v", name, where, info)
			}
		}
	}
	outcome, err := troupe.Collect(newEngine(t, troupe.Config{}).Run(t.Context(), flow.Sequence("s", echo, flow.Sequence("t", echo)), troupe.Input{
		Text: "x", Custom: map[string]any{"id": int64(9007199254740993), "n": 7, "text": "a\xffb"},
	}))
	got := outcome.Handoff.Custom
	if err != nil || got["id"] != json.Number("9007199254740993") || got["n"] != 7.0 || got["text"] != "a\ufffdb" {
		t.Errorf("%#v, %v", got, err)
	}
	var read troupe.Handoff
	data, err := json.Marshal(outcome.Handoff)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil || read.Custom["id"] != json.Number("9007199254740993") || read.Custom["n"] != 7.0 {
		t.Errorf("from a log it is %#v, %v", read.Custom, err)
	}
	var started troupe.RunStarted
	if err := json.Unmarshal([]byte(`{"input":{"task":"x"},"values":{"id":9007199254740993},"user":"ann"}`), &started); err != nil || started.Values["id"] != json.Number("9007199254740993") || started.Input.Task != "x" || started.User != "ann" {
		t.Errorf("%+v, %v", started, err)
	}
}
