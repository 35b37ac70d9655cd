package troupe_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/troupe-dev/troupe"
)

// frugal is a model that costs next to nothing: it asks for a tool until it has
// seen enough results, then answers.
type frugal struct{ calls int }

var (
	wantsTools = &troupe.End{Finish: troupe.FinishCalls}
	hasSaidAll = &troupe.End{Finish: troupe.FinishStop}
)

func (f frugal) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		n := 0
		if last.Role == troupe.RoleTool {
			fmt.Sscanf(last.Text, `{"sum":%d}`, &n)
		}
		if n < f.calls {
			c := troupe.ToolCall{ID: "c", Name: "add", Arguments: fmt.Sprintf(`{"a":%d,"b":1}`, n)}
			if yield(troupe.Chunk{Call: &c}, nil) {
				yield(troupe.Chunk{End: wantsTools}, nil)
			}
			return
		}
		if yield(troupe.Chunk{Text: "done"}, nil) {
			yield(troupe.Chunk{End: hasSaidAll}, nil)
		}
	}
}

// The cost of a run with the event log on, by the number of its tool turns.
func BenchmarkRun(b *testing.B) {
	for _, turns := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprint(turns, " tool turns"), func(b *testing.B) {
			agent := newAgent(b, frugal{turns}, adder())
			engine := newEngine(b, troupe.Config{Limits: troupe.Limits{Turns: -1}})
			b.ReportAllocs()
			for b.Loop() {
				outcome, err := troupe.Collect(engine.Run(b.Context(), agent, troupe.Input{Text: "go"}))
				if err != nil || outcome.Text != "done" {
					b.Fatal(outcome, err)
				}
				if err := engine.Delete(b.Context(), outcome.Session); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The cost of a turn in a conversation does not grow with the conversation.
func BenchmarkTurnInALongConversation(b *testing.B) {
	for _, before := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint("after ", before, " turns"), func(b *testing.B) {
			agent := newAgent(b, frugal{}, adder())
			engine := newEngine(b, troupe.Config{})
			session := ""
			for range before {
				outcome, err := troupe.Collect(engine.Run(b.Context(), agent, troupe.Input{Session: session, Text: "go"}))
				if err != nil {
					b.Fatal(err)
				}
				session = outcome.Session
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := troupe.Collect(engine.Run(b.Context(), agent, troupe.Input{Session: session, Text: "go"})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
