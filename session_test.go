package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

func TestADeletedSessionIsGone(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn { return turn{text: fmt.Sprint(len(req.Messages))} }))
	events, _ := mustAnswer(t, engine, agent, "hi")
	session := events[0].Session
	if err := engine.Delete(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if err := engine.Delete(t.Context(), session); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("deleting again: %v", err)
	}
	// Its id may be used again, for a conversation that knows nothing of the old.
	if _, end, err := play(t, engine, agent, troupe.Input{Session: session, Text: "hi"}); err != nil || end.Output.Summary != "2" {
		t.Errorf("%+v, %v", end, err)
	}
}

// Whoever decides about a deletion decides when nothing can be added any more: what is said
// meanwhile waits, and is said in a session that is kept.
func TestADeletionIsDecidedWhenNothingCanBeAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(t, troupe.Config{})
		agent := newAgent(t, modelFunc(func(req *troupe.Request) turn { return turn{text: fmt.Sprint(len(req.Messages))} }))
		events, _ := mustAnswer(t, engine, agent, "hi")
		session := events[0].Session
		count := func() (n int) {
			for range engine.Events(t.Context(), session, 0) {
				n++
			}
			return n
		}
		kept, before, said := errors.New("kept"), count(), make(chan string, 1)
		if err := engine.Delete(t.Context(), session, func() error {
			go func() {
				_, end, err := play(t, engine, agent, troupe.Input{Session: session, Text: "meanwhile"})
				said <- fmt.Sprint(end.Output.Summary, err)
			}()
			if synctest.Wait(); count() != before {
				t.Errorf("%d events became %d while it was decided", before, count())
			}
			return kept
		}); !errors.Is(err, kept) {
			t.Errorf("a deletion that was refused: %v", err)
		}
		if got := <-said; got != "4<nil>" {
			t.Errorf("what was said meanwhile came to %s", got)
		}
		if err := engine.Delete(t.Context(), session, func() error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatASessionIDLooksLike(t *testing.T) {
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, inTurn(t, turn{text: "hi"})), "hi")
	if !sessionid.Is(events[0].Session) {
		t.Errorf("not %s", events[0].Session)
	}
	for _, id := range []string{"", "..", "0000", "00000000-0000-4000-8000-00000000000", "00000000-0000-4000-8000-0000000000000",
		"0000000000000-4000-8000-000000000000", "00000000-0000-4000-8000-00000000000A", "00000000-0000-4000-8000-00000000000/", "../../../../../../../../../../../etc"} {
		if sessionid.Is(id) {
			t.Errorf("%q is taken for one", id)
		}
	}
}

// To any user but the one who began it, a session is not there.
func TestASessionIsItsOwners(t *testing.T) {
	for _, reopened := range []bool{false, true} {
		store := troupe.NewMemoryStore()
		engine := newEngine(t, troupe.Config{Store: store})
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "hi"} }))
		events, _, err := play(t, engine, agent, troupe.Input{Text: "one", User: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		session := events[0].Session
		if reopened {
			engine = newEngine(t, troupe.Config{Store: store})
		}
		if _, _, err := play(t, engine, agent, troupe.Input{Session: session, Text: "two", User: "bob"}); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("reopened %v: bob goes on with it: %v", reopened, err)
		}
		for _, user := range []string{"ann", ""} {
			if _, _, err := play(t, engine, agent, troupe.Input{Session: session, Text: "two", User: user}); err != nil {
				t.Errorf("reopened %v: %q may not go on: %v", reopened, user, err)
			}
		}
		for info := range store.Sessions(t.Context(), troupe.SessionFilter{}) {
			if info.User != "ann" {
				t.Errorf("it is %q's", info.User)
			}
		}
	}
}

// A title ends with a word, unless its last one is longer than half of it.
func TestATitleEndsWithAWord(t *testing.T) {
	for said, want := range map[string]string{
		"Numbers first: is one bank of lockers enough for the main branch?":  "Numbers first: is one bank of lockers enough for the main…",
		"Numbers first: is one bank of lockers enough for all of us? Say it": "Numbers first: is one bank of lockers enough for all of us?…",
		"A short one":                    "A short one",
		strings.Repeat("x", 70):          strings.Repeat("x", 60) + "…",
		"See " + strings.Repeat("夜", 70): "See " + strings.Repeat("夜", 56) + "…",
	} {
		store := troupe.NewMemoryStore()
		mustAnswer(t, newEngine(t, troupe.Config{Store: store}), newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "Yes."} })), said)
		for info := range store.Sessions(t.Context(), troupe.SessionFilter{}) {
			if info.Title != want {
				t.Errorf("%q is called %q, not %q", said, info.Title, want)
			}
		}
	}
}

func TestASessionIsRenamedAtAnyTime(t *testing.T) {
	store := troupe.NewMemoryStore()
	engine := newEngine(t, troupe.Config{Store: store})
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn { return turn{text: fmt.Sprint(len(req.Messages))} }))
	events, _ := mustAnswer(t, engine, agent, "one")
	session := events[0].Session
	if err := engine.Rename(t.Context(), session, "Otters\nand more"); err != nil {
		t.Fatal(err)
	}
	_, end, err := play(t, engine, agent, troupe.Input{Session: session, Text: "two"})
	if err != nil || end.Output.Summary != "4" {
		t.Errorf("the conversation is not what it was: %+v, %v", end, err)
	}
	for info := range store.Sessions(t.Context(), troupe.SessionFilter{}) {
		if info.Title != "Otters …" || info.Status != "completed" {
			t.Errorf("got %+v", info)
		}
	}
	if err := engine.Rename(t.Context(), "00000000-0000-4000-8000-000000000000", "x"); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// What a run is given beside its task is in the conversation, whether that is at hand
// or read from the log; the caller's key never is.
func TestWhatIsGivenStaysInTheConversation(t *testing.T) {
	var asked []string
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		asked = append(asked, req.Messages[1].Text)
		return turn{text: "ok"}
	}))
	store := troupe.NewMemoryStore()
	events, _, err := play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Text: "one", Custom: map[string]any{"language": "no"}, IdempotencyKey: "k-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Session: events[0].Session, Text: "two"}); err != nil {
		t.Fatal(err)
	}
	if asked[0] != asked[1] || !strings.Contains(asked[0], `{"custom":{"language":"no"}}`) || strings.Contains(asked[0], "k-1") {
		t.Errorf("the model was told %q, then %q", asked[0], asked[1])
	}
	if started := bodies[*troupe.RunStarted](events)[0]; started.IdempotencyKey != "k-1" {
		t.Errorf("the key is not on record: %+v", started)
	}
}

// reporting is a tool that says it has begun and waits for its context.
func reporting(begun, ended *atomic.Int32) troupe.Tool {
	return troupe.NewToolWithCall("wait", "Waits.", func(ctx context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		begun.Add(1)
		defer ended.Add(1)
		if err := call.Progress(ctx, "begun"); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", ctx.Err()
	}, troupe.ReadOnly())
}
