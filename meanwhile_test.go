package troupe_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// sideBySide are arrangements in which it is asked about 7 and 8 at the same time, in branches
// of their own. The step of 7 is at work until it may go on.
func sideBySide(t testing.TB, w *world, goOn <-chan struct{}) map[string]troupe.Step {
	agent := func(n int) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: fmt.Sprint("wiper", n), Model: wiper(w, n), Tools: []troupe.Tool{heldCareful(w, make(chan struct{}, 9), goOn)}})
	}
	return map[string]troupe.Step{
		"steps":           flow.Parallel("both", agent(7), agent(8)),
		"steps of a step": flow.Sequence("all", flow.Parallel("both", agent(7), agent(8))),
		"sequences":       flow.Parallel("both", flow.Sequence("one", agent(7)), flow.Sequence("other", agent(8), agent(9))),
		"a group inside":  flow.Parallel("both", agent(7), flow.Parallel("inner", agent(8), agent(9))),
		"groups":          flow.Parallel("both", flow.Parallel("one", agent(7), agent(9)), flow.Parallel("other", agent(8), agent(10))),
	}
}

// answersBoth answers what is asked about 7 and, while that is at work, what is asked about 8.
// meanwhile is called when nothing happens any more without goOn.
func answersBoth(t *testing.T, step troupe.Step, store troupe.Store, goOn chan struct{}, meanwhile func()) (session string, spent troupe.Spent) {
	engine := newEngine(t, troupe.Config{Store: store})
	first, _, eight := answersSeven(t, engine, step)
	synctest.Wait()
	second, err := engine.Start(t.Context(), step, troupe.Input{Session: first.Session, Question: eight, Text: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	meanwhile()
	close(goOn)
	out, err := second.Wait(t.Context())
	for err == nil && out.Stop == "input_requested" { // of 9 and 10
		if second, err = engine.Start(t.Context(), step, troupe.Input{Session: first.Session, Question: out.Handoff.Meta.Asked, Text: "yes"}); err == nil {
			out, err = second.Wait(t.Context())
		}
	}
	if err != nil || out.Stop != "answered" {
		t.Fatalf("it ended with %q, %v", out.Stop, err)
	}
	return first.Session, out.Spent
}

// A step of a branch goes on as soon as its question is answered, whatever others are at work: once,
// with what it spends counted once, and from wherever its process is killed.
func TestAStepGoesOnWithItsAnswerWhileOthersAreAtWork(t *testing.T) {
	for name := range sideBySide(t, &world{}, nil) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, goOn, store := &world{done: map[string]int{}}, make(chan struct{}), troupe.NewMemoryStore()
				step := sideBySide(t, w, goOn)[name]
				session, spent := answersBoth(t, step, store, goOn, func() {
					if w.total()["wipe(8)"] != 1 || w.total()["wipe(7)"] != 0 {
						t.Errorf("while 7 is at work, this is done: %v", w.total())
					}
				})
				log := logOf(t, store, session)
				for done, times := range w.total() {
					if strings.HasPrefix(done, "wipe(") && times != 1 {
						t.Errorf("%s was done %d times", done, times)
					}
				}
				if turns, calls := countIn(log); spent.Turns != turns || spent.ToolCalls != calls {
					t.Errorf("%d turns and %d calls are on record, counted were %d and %d", turns, calls, spent.Turns, spent.ToolCalls)
				}
				killedAnywhere(t, name, log)
			})
		})
	}
}

// countIn is how often a model has replied and a tool has returned, by the log.
func countIn(log []troupe.Event) (turns, calls int) {
	for _, e := range log {
		switch e.Body.(type) {
		case *troupe.ModelReplied:
			turns++
		case *troupe.ToolReturned:
			calls++
		}
	}
	return turns, calls
}

// killedAnywhere goes on with a run whose process died after any of its events.
func killedAnywhere(t *testing.T, name string, log []troupe.Event) {
	for n := len(untilAnsweredIn(log, "c8")); n < len(log); n++ {
		w, goOn, store := &world{done: map[string]int{}}, make(chan struct{}), troupe.NewMemoryStore()
		close(goOn)
		if err := store.Append(t.Context(), log[0].Session, log[:n]...); err != nil {
			t.Fatal(err)
		}
		engine, step := newEngine(t, troupe.Config{Store: store}), sideBySide(t, w, goOn)[name]
		_, end, err := gather(engine.Resume(t.Context(), step, log[0].Session))
		if isWaiting(log[:n]) {
			continue // for an answer: there is nothing to resume
		}
		if err != nil || end.Stop != "answered" && end.Stop != "input_requested" || w.total()["wipe(8)"] > 1 {
			t.Errorf("killed after event %d: %+v, %v, done %v", n, end, err, w.total())
		}
	}
}

// isWaiting reports whether a log ends with a run that waits for an answer.
func isWaiting(log []troupe.Event) bool {
	finished, ok := log[len(log)-1].Body.(*troupe.RunFinished)
	return ok && log[len(log)-1].Parent == "" && finished.Stop == "input_requested"
}

// A step that goes on with a conversation of its own is not gone over while others are at work:
// what was said in it would be said twice.
func TestAConversationIsGoneOnWithOnceOthersAreDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, goOn, store := &world{done: map[string]int{}}, make(chan struct{}), troupe.NewMemoryStore()
		agent := func(n int, model troupe.Model) *troupe.Agent {
			return agentWith(t, troupe.AgentConfig{ID: fmt.Sprint("wiper", n), Model: model, Tools: []troupe.Tool{heldCareful(w, make(chan struct{}, 9), goOn)}})
		}
		var tasks atomic.Int64
		eight := agent(8, modelFunc(func(req *troupe.Request) turn {
			said := 0
			for _, m := range req.Messages {
				if m.Role == troupe.RoleUser {
					said++
				}
			}
			tasks.Store(max(tasks.Load(), int64(said)))
			return wiper(w, 8)(req)
		}))
		talk := troupe.NewStep("talk", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			return run.Converse(ctx, eight, in)
		}, eight)
		step := flow.Parallel("both", agent(7, wiper(w, 7)), talk)
		answersBoth(t, step, store, goOn, func() {
			if w.total()["wipe(8)"] != 0 {
				t.Errorf("while 7 is at work, this is done: %v", w.total())
			}
		})
		if w.total()["wipe(8)"] != 1 || tasks.Load() != 1 {
			t.Errorf("it was told its task %d times, and did %v", tasks.Load(), w.total())
		}
	})
}
