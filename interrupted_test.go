package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A call that a kill interrupted says nothing about its tool: what follows it is counted
// as if it had not been made.
func TestAnInterruptedCallIsNoFailedAttempt(t *testing.T) {
	fails := troupe.NewTool("send", "Sends it.", func(context.Context, struct {
		N int `json:"n"`
	}) (string, error) {
		return "", errors.New("the line is down")
	})
	model := modelFunc(func(req *troupe.Request) turn {
		if n := len(req.Messages); n < 8 {
			return turn{calls: []troupe.ToolCall{call(fmt.Sprint(n), "send", fmt.Sprintf(`{"n":%d}`, n))}}
		}
		return turn{text: "I could not."}
	})
	engine, agent := newEngine(t, troupe.Config{}), newAgent(t, model, fails)
	outcome, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "go"}))
	if err != nil {
		t.Fatal(err)
	}
	attempts := func(engine *troupe.Engine) (list []int) {
		for e, err := range engine.Events(t.Context(), outcome.Session, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if called, ok := e.Body.(*troupe.ToolCalled); ok {
				list = append(list, called.Attempt)
			}
		}
		return list
	}
	if got := attempts(engine); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("the attempts are %d", got)
	}
	for killed, want := range map[int][]int{1: {1, 1, 2}, 2: {1, 2, 2}} {
		var log []troupe.Event
		calls := 0
		for e := range engine.Events(t.Context(), outcome.Session, 0) {
			log = append(log, e)
			if e.Kind() == "tool_called" {
				calls++
			}
			if calls == killed {
				break
			}
		}
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), outcome.Session, log...); err != nil {
			t.Fatal(err)
		}
		again := newEngine(t, troupe.Config{Store: store})
		if _, err := troupe.Collect(again.Resume(t.Context(), agent, outcome.Session)); err != nil {
			t.Fatal(err)
		}
		if got := attempts(again); !slices.Equal(got, want) {
			t.Errorf("after a kill in call %d the attempts are %d, not %d", killed, got, want)
		}
	}
}
