package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A modelFunc answers from the conversation alone, so that it says the same
// whenever a run is gone over again.
type modelFunc func(req *troupe.Request) turn

// A turn is one answer of a model.
type turn struct {
	text   string
	pieces []string
	calls  []troupe.ToolCall
	finish troupe.Finish
	usage  troupe.Usage
	err    error
	refuse string
	cut    bool // ends without an end
}

func (f modelFunc) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(troupe.Chunk{}, err)
			return
		}
		t := f(req)
		for _, piece := range append(t.pieces, t.text) {
			if piece != "" && !yield(troupe.Chunk{Text: piece}, nil) {
				return
			}
		}
		if t.refuse != "" && !yield(troupe.Chunk{Refusal: t.refuse}, nil) {
			return
		}
		for i := range t.calls {
			if !yield(troupe.Chunk{Call: &t.calls[i]}, nil) {
				return
			}
		}
		if t.err != nil {
			yield(troupe.Chunk{}, t.err)
			return
		}
		if t.cut {
			return
		}
		finish := t.finish
		if finish == "" {
			finish = troupe.FinishStop
			if len(t.calls) > 0 {
				finish = troupe.FinishCalls
			}
		}
		yield(troupe.Chunk{End: &troupe.End{Finish: finish, Usage: t.usage, Model: "stub"}}, nil)
	}
}

// inTurn plays answers in order, one per turn since the last user message that is
// not a notice. It fails the test when asked once more.
func inTurn(t testing.TB, turns ...turn) modelFunc {
	var mu sync.Mutex
	played := 0
	return func(*troupe.Request) turn {
		mu.Lock()
		defer mu.Unlock()
		if played == len(turns) {
			t.Errorf("the model was asked %d times, and has %d answers", played+1, len(turns))
			return turn{text: "(no more)"}
		}
		played++
		return turns[played-1]
	}
}

func call(id, name, arguments string) troupe.ToolCall {
	return troupe.ToolCall{ID: id, Name: name, Arguments: arguments}
}

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

func adder() troupe.Tool {
	return troupe.NewTool("add", "Adds two numbers.", func(_ context.Context, in pair) (sum, error) {
		return sum{in.A + in.B}, nil
	})
}

func failing(name string, err error) troupe.Tool {
	return troupe.NewTool(name, "Fails.", func(context.Context, struct{}) (string, error) { return "", err })
}

func newAgent(t testing.TB, model troupe.Model, tools ...troupe.Tool) *troupe.Agent {
	t.Helper()
	return agentWith(t, troupe.AgentConfig{ID: "clerk", Instructions: "You are a clerk.", Model: model, Tools: tools})
}

func agentWith(t testing.TB, c troupe.AgentConfig) *troupe.Agent {
	t.Helper()
	a, err := troupe.NewAgent(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newEngine(t testing.TB, c troupe.Config) *troupe.Engine {
	t.Helper()
	e, err := troupe.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// play runs the agent on a text and returns its events and what it came to.
func play(t testing.TB, e *troupe.Engine, step troupe.Step, in troupe.Input) ([]troupe.Event, *troupe.RunFinished, error) {
	t.Helper()
	return gather(e.Run(t.Context(), step, in))
}

func gather(seq iter.Seq2[troupe.Event, error]) ([]troupe.Event, *troupe.RunFinished, error) {
	var events []troupe.Event
	var end *troupe.RunFinished
	for e, err := range seq {
		if err != nil {
			return events, end, err
		}
		events = append(events, e)
		if body, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
			end = body
		}
	}
	return events, end, nil
}

// mustAnswer runs the agent and fails the test unless it ends with an answer.
func mustAnswer(t testing.TB, e *troupe.Engine, step troupe.Step, text string) ([]troupe.Event, *troupe.RunFinished) {
	t.Helper()
	events, end, err := play(t, e, step, troupe.Input{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if end == nil || end.Output.Summary == "" {
		t.Fatalf("the run ended without an answer:\n%s", render(events))
	}
	return events, end
}

func bodies[B troupe.Body](events []troupe.Event) []B {
	var found []B
	for i := range events {
		if body, ok := events[i].Body.(B); ok {
			found = append(found, body)
		}
	}
	return found
}

func render(events []troupe.Event) string {
	var b strings.Builder
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s\n", data)
	}
	return b.String()
}

func kinds(events []troupe.Event) string {
	var list []string
	for i := range events {
		if events[i].Seq > 0 {
			list = append(list, string(events[i].Kind()))
		}
	}
	return strings.Join(list, " ")
}

// checkPairing fails the test if a conversation is one that no server takes: a
// call without its result, or a result without its call.
func checkPairing(t testing.TB, messages []*troupe.Message) {
	t.Helper()
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m == nil {
			t.Fatalf("message %d is missing", i)
		}
		if m.Role == troupe.RoleTool {
			t.Errorf("message %d answers a call that is not there: %s", i, m.Text)
		}
		for _, c := range m.Calls {
			i++
			if i >= len(messages) || messages[i] == nil || messages[i].Role != troupe.RoleTool || messages[i].CallID != c.ID {
				t.Errorf("call %s of %s has no result where it must be", c.ID, c.Name)
				return
			}
		}
	}
}

var errBoom = errors.New("boom")
