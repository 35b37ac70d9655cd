package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
)

func TestARequestUnderAKeyIsDoneOnce(t *testing.T) {
	store := troupe.NewMemoryStore()
	var first troupe.Outcome
	for n := range 3 { // each time another process
		engine := newEngine(t, troupe.Config{Store: store})
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: fmt.Sprint("answer ", n)} }))
		for range 2 {
			run, err := engine.Start(t.Context(), agent, troupe.Input{Text: "hi", IdempotencyKey: "k1", User: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := run.Wait(t.Context())
			if err != nil || got.Text != "answer 0" {
				t.Fatalf("process %d: %+v, %v", n, got, err)
			}
			if first.Run == "" {
				first = got
			}
			if got.Run != first.Run || got.Session != first.Session || got.Stop != first.Stop {
				t.Errorf("process %d: got %+v, and first %+v", n, got, first)
			}
		}
		events, end, err := play(t, engine, agent, troupe.Input{Text: "hi", IdempotencyKey: "k1", User: "ann"})
		if err != nil || end == nil || end.Output.Summary != "answer 0" || events[0].Kind() != "run_started" {
			t.Errorf("process %d: ranged over it is %v, %v", n, end, err)
		}
		// In a session of its own, it is one of that session.
		if run, err := engine.Start(t.Context(), agent, troupe.Input{Text: "hi", Session: first.Session, IdempotencyKey: "k1", User: "ann"}); err != nil || run.Run != first.Run {
			t.Errorf("process %d: %+v, %v", n, run, err)
		}
		if _, err := engine.Start(t.Context(), agent, troupe.Input{Text: "something else", IdempotencyKey: "k1", User: "ann"}); !errors.Is(err, troupe.ErrConflict) {
			t.Errorf("another request under the same key: %v", err)
		}
		if run, err := engine.Start(t.Context(), agent, troupe.Input{Text: "hi", IdempotencyKey: "k1", User: "bob"}); err != nil || run.Session == first.Session {
			t.Errorf("another user's: %+v, %v", run, err)
		} else if _, err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestARequestThatIsUnderWayIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		one, two := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
		model := slow{make(chan struct{})}
		agent := newAgent(t, model)
		in := troupe.Input{Text: "hi", IdempotencyKey: "k1"}
		var wg sync.WaitGroup
		var mu sync.Mutex
		runs := map[string]int{}
		for i := range 6 {
			engine := one
			if i >= 3 {
				synctest.Wait() // the first has begun
				engine = two
			}
			wg.Go(func() {
				run, err := engine.Start(t.Context(), agent, in)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := run.Wait(t.Context())
				if err != nil || got.Text != "one two" {
					t.Errorf("got %+v, %v", got, err)
				}
				mu.Lock()
				runs[got.Run]++
				mu.Unlock()
			})
		}
		synctest.Wait()
		close(model.goOn)
		wg.Wait()
		if len(runs) != 1 {
			t.Errorf("there were runs %v", runs)
		}
	})
}

// While a run goes on with an answer, every key of it is known: what was asked for first as
// well as the answer, and another text under either is no case of being busy.
func TestAllKeysAreKnownWhileARunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		one, two := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
		goOn := make(chan struct{})
		agent := approving(t, modelFunc(func(req *troupe.Request) turn {
			if req.Messages[len(req.Messages)-1].Role != troupe.RoleTool {
				return turn{calls: []troupe.ToolCall{call("c1", "send", `{}`)}}
			}
			<-goOn
			return turn{text: "sent"}
		}), func() {})
		asked, err := one.Start(t.Context(), agent, troupe.Input{Text: "Send it.", IdempotencyKey: "k1"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := asked.Wait(t.Context()); err != nil || got.Stop != "input_requested" {
			t.Fatal(got, err)
		}
		answered, err := one.Start(t.Context(), agent, troupe.Input{Session: asked.Session, Text: "yes", IdempotencyKey: "k2"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for name, engine := range map[string]*troupe.Engine{"the same engine": one, "another": two} {
			for key, text := range map[string]string{"k1": "Send it.", "k2": "yes"} {
				if run, err := engine.Start(t.Context(), agent, troupe.Input{Session: asked.Session, Text: text, IdempotencyKey: key}); err != nil || run.Run != answered.Run {
					t.Errorf("%s, %s: %+v, %v", name, key, run, err)
				}
				if _, err := engine.Start(t.Context(), agent, troupe.Input{Session: asked.Session, Text: "something else", IdempotencyKey: key}); !errors.Is(err, troupe.ErrConflict) || errors.Is(err, troupe.ErrBusy) {
					t.Errorf("%s, %s with another text: %v", name, key, err)
				}
			}
			if _, err := engine.Start(t.Context(), agent, troupe.Input{Session: asked.Session, Text: "yes", IdempotencyKey: "k3"}); !errors.Is(err, troupe.ErrBusy) {
				t.Errorf("%s, a new request: %v", name, err)
			}
		}
		close(goOn)
		if got, err := answered.Wait(t.Context()); err != nil || got.Text != "sent" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// approving is an agent whose tool asks before it acts.
func approving(t testing.TB, model troupe.Model, done func()) *troupe.Agent {
	return newAgent(t, model, troupe.NewToolWithCall("send", "Sends it.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		if len(call.Answers) == 0 {
			return "", &troupe.InputNeeded{Question: "Send it?", CallAgain: true}
		}
		done()
		return "sent", nil
	}, troupe.RepeatSafe()))
}

func TestAnAnswerThatIsSentAgainAfterAKillGoesOnWithItsRun(t *testing.T) {
	store := troupe.NewMemoryStore()
	done := 0
	turns := func() troupe.Model {
		return modelFunc(func(req *troupe.Request) turn {
			if req.Messages[len(req.Messages)-1].Role == troupe.RoleTool {
				return turn{text: "sent"}
			}
			return turn{calls: []troupe.ToolCall{call("c1", "send", `{}`)}}
		})
	}
	agent := approving(t, turns(), func() { done++ })
	engine := newEngine(t, troupe.Config{Store: store})
	_, end, err := play(t, engine, agent, troupe.Input{Text: "Send it.", IdempotencyKey: "k1"})
	if err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v, %v", end, err)
	}
	var session string
	for info := range engine.Sessions(t.Context(), troupe.SessionFilter{}) {
		session = info.ID
	}
	yes := troupe.Input{Session: session, Text: "yes", IdempotencyKey: "k2"}
	asked := lengthOf(t, store, session)
	if _, end, err = play(t, engine, agent, yes); err != nil || end.Output.Summary != "sent" || done != 1 {
		t.Fatalf("%+v, %v, done %d times", end, err, done)
	}
	whole := lengthOf(t, store, session)
	for cut := asked + 1; cut <= whole; cut++ { // killed after each event since the answer
		store := cutOff(t, store, session, cut)
		engine := newEngine(t, troupe.Config{Store: store})
		for range 2 {
			events, end, err := play(t, engine, approving(t, turns(), func() {}), yes)
			if err != nil || end == nil || end.Output.Summary != "sent" {
				t.Fatalf("killed after event %d: %v, %v\n%s", cut, end, err, render(events))
			}
		}
		started := 0
		for e := range store.Events(t.Context(), session, 0) {
			if e.Kind() == "run_started" {
				started++
			}
			if e.Kind() == "run_cancelled" {
				t.Errorf("killed after event %d: the run was cancelled", cut)
			}
		}
		if started != 1 {
			t.Errorf("killed after event %d: there are %d runs", cut, started)
		}
	}
}

// Whoever has read a session and then began nothing in it must not be taken to know
// that nothing waits there.
func TestAnAnswerIsOneAlsoAfterARequestThatCameToNothing(t *testing.T) {
	for name, before := range map[string]func(*troupe.Engine, *troupe.Agent, string){
		"the question's request, sent again": func(engine *troupe.Engine, agent *troupe.Agent, session string) {
			if _, err := engine.Start(t.Context(), agent, troupe.Input{Session: session, Text: "Send it.", IdempotencyKey: "k1"}); err != nil {
				t.Error(err)
			}
		},
		"another request under its key": func(engine *troupe.Engine, agent *troupe.Agent, session string) {
			if _, err := engine.Start(t.Context(), agent, troupe.Input{Session: session, Text: "Something else.", IdempotencyKey: "k1"}); !errors.Is(err, troupe.ErrConflict) {
				t.Error(err)
			}
		},
		"nothing to resume": func(engine *troupe.Engine, agent *troupe.Agent, session string) {
			if _, err := engine.StartAgain(t.Context(), agent, session); !errors.Is(err, troupe.ErrNothingToResume) {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := troupe.NewMemoryStore()
			done := 0
			agent := approving(t, modelFunc(func(req *troupe.Request) turn {
				if req.Messages[len(req.Messages)-1].Role == troupe.RoleTool {
					return turn{text: "sent"}
				}
				return turn{calls: []troupe.ToolCall{call("c1", "send", `{}`)}}
			}), func() { done++ })
			events, _, err := play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Text: "Send it.", IdempotencyKey: "k1"})
			if err != nil {
				t.Fatal(err)
			}
			engine := newEngine(t, troupe.Config{Store: store}) // another process
			before(engine, agent, events[0].Session)
			_, end, err := play(t, engine, agent, troupe.Input{Session: events[0].Session, Text: "yes", IdempotencyKey: "k2"})
			if err != nil || end.Output.Summary != "sent" || done != 1 {
				t.Errorf("the answer came to %+v, %v, done %d times", end, err, done)
			}
		})
	}
}

// A conversation that is too large to be kept at hand goes on like any other, and so do
// its keys.
func TestALargeConversationGoesOn(t *testing.T) {
	large := strings.Repeat("long ", 100_000)
	engine := newEngine(t, troupe.Config{})
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		return turn{text: fmt.Sprint(len(req.Messages), " messages, ", strings.Count(req.Messages[1].Text, "long "))}
	}))
	events, end, err := play(t, engine, agent, troupe.Input{Text: large, IdempotencyKey: "k1"})
	if err != nil || end.Output.Summary != "2 messages, 100000" {
		t.Fatalf("%v, %v", end, err)
	}
	session := events[0].Session
	if _, end, err = play(t, engine, agent, troupe.Input{Session: session, Text: "and?"}); err != nil || end.Output.Summary != "4 messages, 100000" {
		t.Errorf("it goes on with %v, %v", end, err)
	}
	run, err := engine.Start(t.Context(), agent, troupe.Input{Session: session, Text: large, IdempotencyKey: "k1"})
	if err != nil || run.Run != events[0].Run {
		t.Errorf("sent again, it is %+v, %v", run, err)
	}
}
