package troupe_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// Where several questions wait at the same time, each answer is that of the question it names,
// in whatever order they are given: what was approved is what is done.
func TestEachQuestionGetsItsOwnAnswer(t *testing.T) {
	arranged := map[string]func(w *world) troupe.Step{
		"steps at the same time": func(w *world) troupe.Step {
			branch := func(n int) troupe.Step {
				return agentWith(t, troupe.AgentConfig{ID: fmt.Sprint("wiper", n), Model: wiper(w, n), Tools: []troupe.Tool{careful(w)}})
			}
			return flow.Parallel("both", branch(7), branch(8))
		},
		"agents as tools at the same time": func(w *world) troupe.Step {
			var tools []troupe.Tool
			var calls []troupe.ToolCall
			for _, n := range []int{7, 8} {
				name := fmt.Sprint("wiper", n)
				tools = append(tools, troupe.AsTool(agentWith(t, troupe.AgentConfig{ID: name, Model: wiper(w, n), Tools: []troupe.Tool{careful(w)}}), "Wipes."))
				calls = append(calls, call(fmt.Sprint("b", n), name, `{"task":"wipe"}`))
			}
			return newAgent(t, modelFunc(func(req *troupe.Request) turn {
				if results(req) == 0 {
					return turn{calls: calls}
				}
				return turn{text: "done"}
			}), tools...)
		},
		"calls of one turn": func(w *world) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, 7, 8), Tools: []troupe.Tool{careful(w)}})
		},
	}
	for name, arrange := range arranged {
		for _, order := range [][]int{{7, 8}, {8, 7}} {
			if order[0] == 8 && name != "steps at the same time" {
				continue // calls ask one after another
			}
			t.Run(fmt.Sprint(name, " ", order), func(t *testing.T) {
				w := &world{done: map[string]int{}}
				step, store := arrange(w), troupe.NewMemoryStore()
				events, _ := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), step, "go")
				session := events[0].Session
				for i, n := range order {
					id := questionAbout(events, n)
					if id == "" {
						t.Fatalf("nothing is asked about %d: %s", n, render(events))
					}
					again, end, err := play(t, newEngine(t, troupe.Config{Store: store}), step, troupe.Input{Session: session, Question: id, Text: "yes"})
					if err != nil {
						t.Fatalf("the answer about %d: %v", n, err)
					}
					events = append(events, again...)
					if got := w.total()[fmt.Sprintf("wipe(%d)", n)]; got != 1 {
						t.Fatalf("what was approved was done %d times: %s", got, render(events))
					}
					if got := w.total()[fmt.Sprintf("wipe(%d)", order[1])]; i == 0 && (got != 0 || end.Stop != "input_requested") {
						t.Fatalf("what nobody approved was done %d times, and it ended with %s: %s", got, end.Stop, render(again))
					}
					if _, _, err := play(t, newEngine(t, troupe.Config{Store: store}), step, troupe.Input{Session: session, Question: id, Text: "yes"}); !errors.Is(err, troupe.ErrNoQuestion) {
						t.Errorf("the same question was answered again: %v", err)
					}
					if i == 1 && end.Stop == "input_requested" {
						t.Errorf("it still waits: %s", render(again))
					}
				}
			})
		}
	}
}

// questionAbout is the id of the first question about a number.
func questionAbout(events []troupe.Event, n int) string {
	for _, asked := range bodies[*troupe.InputRequested](events) {
		if strings.Contains(asked.Question, fmt.Sprintf("Wipe %d?", n)) {
			return asked.ID
		}
	}
	return ""
}
