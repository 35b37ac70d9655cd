package troupe_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// A fork at every event of a run can be resumed to the run's end, and does again
// nothing that is in its log.
func TestAForkGoesOnFromAnyEvent(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			w := &world{done: map[string]int{}}
			engine := newEngine(t, troupe.Config{})
			first, end, err := play(t, engine, s.step(t, w), s.input)
			if err != nil {
				t.Fatal(err)
			}
			log := stored(first)
			for cut := 1; cut < len(log); cut++ {
				id, err := engine.Fork(t.Context(), log[0].Session, int64(cut), troupe.Input{})
				if err != nil {
					t.Fatal(err)
				}
				again := &world{done: map[string]int{}}
				step := s.step(t, again)
				replay(again, log[:cut])
				before := again.total()
				events, got, err := gather(engine.Resume(t.Context(), step, id))
				if err != nil {
					t.Fatalf("forked after %d: %v", cut, err)
				}
				if got.Output.Summary != end.Output.Summary {
					t.Errorf("forked after %d: it came to %q, not %q", cut, got.Output.Summary, end.Output.Summary)
				}
				if replies := countOf[*troupe.ModelReplied](log[:cut]) + asks(again, before); replies != countOf[*troupe.ModelReplied](log) {
					t.Errorf("forked after %d: %d model calls in all, want %d", cut, replies, countOf[*troupe.ModelReplied](log))
				}
				if events[0].Session != id {
					t.Errorf("forked after %d: its events are of session %s", cut, events[0].Session)
				}
			}
		})
	}
}

// Between a run and its fork nobody has worked on it, however long that was.
func TestAForkEndsARunWhenItsLogDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		engine := newEngine(t, troupe.Config{Store: store})
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "Done."} }))
		events, _, err := gather(engine.Run(t.Context(), agent, troupe.Input{Text: "go"}))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		log := stored(events)
		id, err := engine.Fork(t.Context(), log[0].Session, int64(len(log)-1), troupe.Input{})
		if err != nil {
			t.Fatal(err)
		}
		var fork []troupe.Event
		for e, err := range store.Events(t.Context(), id, int64(len(log)-2)) {
			if err != nil {
				t.Fatal(err)
			}
			fork = append(fork, e)
		}
		if len(fork) != 3 || fork[1].Kind() != "run_cancelled" || !fork[1].Time.Equal(fork[0].Time) || fork[2].Time.Sub(fork[1].Time) < 5*time.Minute {
			t.Errorf("%v", fork)
		}
	})
}

func TestAForkLeavesTheOtherSessionAsItIs(t *testing.T) {
	store := troupe.NewMemoryStore()
	engine := newEngine(t, troupe.Config{Store: store})
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		var said []string
		for _, m := range req.Messages {
			said = append(said, m.Text)
		}
		return turn{text: strings.Join(said, "|")}
	}))
	events, _ := mustAnswer(t, engine, agent, "one")
	session := events[0].Session
	firstEnd := events[len(events)-1].Seq
	if _, _, err := play(t, engine, agent, troupe.Input{Session: session, Text: "two"}); err != nil {
		t.Fatal(err)
	}
	before := collect(t, store, session)
	id, err := engine.Fork(t.Context(), session, firstEnd, troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	_, end, err := play(t, engine, agent, troupe.Input{Session: id, Text: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if said := end.Output.Summary; strings.Contains(said, "two") || !strings.Contains(said, "one") || !strings.HasSuffix(said, "other") {
		t.Errorf("the model was told %q", said)
	}
	if after := collect(t, store, session); len(after) != len(before) {
		t.Errorf("the other session has %d events, not %d", len(after), len(before))
	}
	forked := collect(t, store, id)
	if i := slices.IndexFunc(forked, func(e troupe.Event) bool { return e.Session != id }); i >= 0 {
		t.Errorf("event %d is of session %s", i+1, forked[i].Session)
	}
	if fork, ok := forked[firstEnd].Body.(*troupe.SessionForked); !ok || fork.From != session || fork.After != int64(firstEnd) {
		t.Errorf("the log does not say where it comes from: %+v", forked[firstEnd].Body)
	}
	if _, _, err := gather(engine.Resume(t.Context(), agent, id)); !errors.Is(err, troupe.ErrNothingToResume) {
		t.Errorf("there is nothing to resume: %v", err)
	}
}

func TestWhatCannotBeForked(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	events, _ := mustAnswer(t, engine, newAgent(t, inTurn(t, turn{text: "hi"})), "hi")
	session, last := events[0].Session, events[len(events)-1].Seq
	for _, after := range []int64{-1, 0, last + 1} {
		if _, err := engine.Fork(t.Context(), session, after, troupe.Input{}); err == nil || !strings.Contains(err.Error(), fmt.Sprint("none numbered ", after)) {
			t.Errorf("after %d: %v", after, err)
		}
	}
	if _, err := engine.Fork(t.Context(), "00000000-0000-4000-8000-000000000000", 1, troupe.Input{}); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
}
