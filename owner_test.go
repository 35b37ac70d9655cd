package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// copycat repeats all that users have said so far.
func copycat(t testing.TB) *troupe.Agent {
	return newAgent(t, modelFunc(func(req *troupe.Request) turn {
		var said []string
		for _, m := range req.Messages {
			if m.Role == troupe.RoleUser {
				said = append(said, m.Text)
			}
		}
		return turn{text: strings.Join(said, ", ")}
	}))
}

// slow says a word, and another when it is told to or a context is done.
type slow struct{ goOn chan struct{} }

func (m slow) Generate(ctx context.Context, _ *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if !yield(troupe.Chunk{Text: "one"}, nil) {
			return
		}
		select {
		case <-m.goOn:
		case <-ctx.Done():
			yield(troupe.Chunk{}, ctx.Err())
			return
		}
		if yield(troupe.Chunk{Text: " two"}, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
		}
	}
}

func TestWhatAnotherEngineWroteIsNotForgotten(t *testing.T) {
	store := troupe.NewMemoryStore()
	one, two := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
	events, _ := mustAnswer(t, one, copycat(t), "a")
	session := events[0].Session
	for i, step := range []struct {
		engine *troupe.Engine
		text   string
		want   string
	}{{two, "b", "a, b"}, {one, "c", "a, b, c"}, {one, "d", "a, b, c, d"}, {two, "e", "a, b, c, d, e"}} {
		_, end, err := play(t, step.engine, copycat(t), troupe.Input{Session: session, Text: step.text})
		if err != nil || end.Output.Summary != step.want {
			t.Fatalf("message %d: %v, %v; want %s", i, end, err, step.want)
		}
	}
}

// A lagging store goes on showing a reply for a while after it was stored: who shows it
// looks at the clock, and who follows at the log.
type lagging struct {
	troupe.Store
	replies []troupe.Event
}

func (l *lagging) Ask(ctx context.Context, session string, request troupe.SessionRequest) (troupe.SessionInfo, []troupe.Event, error) {
	info, replies, err := l.Store.Ask(ctx, session, request)
	if len(replies) > 0 {
		l.replies = replies
	}
	return info, l.replies, err
}

func TestAReplyIsNotShownAgainOnceItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		one, two := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: &lagging{Store: store}})
		model := slow{make(chan struct{})}
		run, err := one.Start(t.Context(), newAgent(t, model), troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var early, late []string
		ctx, stop := context.WithCancel(t.Context())
		follow := func(seen *[]string) {
			for e, err := range two.Tail(ctx, run.Session, 0) {
				if err != nil {
					*seen = append(*seen, err.Error())
					return
				}
				if delta, ok := e.Body.(*troupe.TextDelta); ok {
					*seen = append(*seen, delta.Text)
				} else if e.Kind() == "model_replied" {
					*seen = append(*seen, "stored")
				}
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { follow(&early) })
		time.Sleep(3 * time.Second)
		close(model.goOn)
		time.Sleep(3 * time.Second)
		wg.Go(func() { follow(&late) })
		time.Sleep(3 * time.Second)
		stop()
		wg.Wait()
		if got := fmt.Sprintf("%q %q", early, late); got != `["one" " two" "stored" "context canceled"] ["stored" "context canceled"]` {
			t.Errorf("seen is %s", got)
		}
	})
}

func TestASessionThatAnotherEngineHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		one, two := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
		model := slow{make(chan struct{})}
		agent := newAgent(t, model)
		run, err := one.Start(t.Context(), agent, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		refused := func(what string, err error) {
			t.Helper()
			if owned, ok := errors.AsType[*troupe.Owner](err); !ok || owned.PID == 0 || !errors.Is(err, troupe.ErrBusy) {
				t.Errorf("%s elsewhere: %v; want an error that names the owner", what, err)
			}
		}
		_, _, err = play(t, two, agent, troupe.Input{Session: run.Session, Text: "and?"})
		refused("a message", err)
		_, _, err = gather(two.Resume(t.Context(), agent, run.Session))
		refused("a resume", err)
		refused("a deletion", two.Delete(t.Context(), run.Session))
		if err := two.Rename(t.Context(), run.Session, "another title"); err != nil {
			t.Error(err)
		}
		for info := range two.Sessions(t.Context(), troupe.SessionFilter{}) {
			if info.Title != "another title" || info.Status != "running" {
				t.Errorf("it stands %+v", info)
			}
		}

		// Whoever follows elsewhere sees all of it as it comes.
		var seen []string
		var wg sync.WaitGroup
		wg.Go(func() {
			for e, err := range two.Tail(t.Context(), run.Session, 0) {
				if err != nil {
					t.Error(err)
					return
				}
				if delta, ok := e.Body.(*troupe.TextDelta); ok {
					seen = append(seen, delta.Text)
				}
				if end, ok := e.Body.(*troupe.RunFinished); ok {
					seen = append(seen, "finished: "+end.Output.Summary)
					return
				}
			}
		})
		time.Sleep(time.Second)
		synctest.Wait()
		if got := fmt.Sprintf("%q", seen); got != `["one"]` {
			t.Errorf("while the reply is in progress, seen is %s", got)
		}
		close(model.goOn)
		wg.Wait()
		if got := fmt.Sprintf("%q", seen); got != `["one" " two" "finished: one two"]` {
			t.Errorf("seen is %s", got)
		}
		if _, err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if err := two.Delete(t.Context(), run.Session); err != nil {
			t.Errorf("a deletion when it is free: %v", err)
		}
	})
}

func TestACancellationFromElsewhereStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		one, two := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
		run, err := one.Start(t.Context(), newAgent(t, slow{nil}), troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := two.Cancel(t.Context(), run.Session); err != nil {
			t.Error(err)
		}
		for info := range two.Sessions(t.Context(), troupe.SessionFilter{}) {
			if info.Status != "cancelled" {
				t.Errorf("when Cancel has returned, it is %s", info.Status)
			}
		}
		if _, err := run.Wait(t.Context()); !errors.Is(err, troupe.ErrCancelled) {
			t.Errorf("the run ended with %v", err)
		}
	})
}

// A thief's leases can be taken away.
type thief struct {
	troupe.Store
	leases chan troupe.Lease
}

func (s thief) Acquire(ctx context.Context, session string) (troupe.Lease, error) {
	lease, err := s.Store.Acquire(ctx, session)
	if err == nil {
		s.leases <- lease
	}
	return lease, err
}

func TestALostLeaseCancelsWithoutWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := thief{troupe.NewMemoryStore(), make(chan troupe.Lease, 1)}
		run, err := newEngine(t, troupe.Config{Store: store}).Start(t.Context(), newAgent(t, slow{nil}), troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := lengthOf(t, store, run.Session)
		if err := (<-store.leases).Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Wait(t.Context()); !errors.Is(err, troupe.ErrConflict) || strings.Count(err.Error(), "taken the session over") != 1 {
			t.Errorf("the run ended with %v", err)
		}
		if after := lengthOf(t, store, run.Session); after != before {
			t.Errorf("%d events were written after the lease was lost", after-before)
		}
	})
}

func lengthOf(t testing.TB, store troupe.Store, session string) (n int) {
	t.Helper()
	for _, err := range store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// cutOff returns a store with the beginning of a session's log: its process has died.
func cutOff(t testing.TB, from troupe.Store, session string, events int) troupe.Store {
	t.Helper()
	var log []troupe.Event
	for e, err := range from.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if len(log) < events {
			log = append(log, e)
		}
	}
	store := troupe.NewMemoryStore()
	if err := store.Append(t.Context(), session, log...); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestARunThatKillsEveryProcessIsGivenUp(t *testing.T) {
	store := troupe.NewMemoryStore()
	agent := newAgent(t, inTurn(t, turn{calls: []troupe.ToolCall{call("1", "add", `{"a":1,"b":2}`)}}, turn{text: "3"}), adder())
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), agent, "Add.")
	session := events[0].Session
	called := 0
	for i := range events {
		if _, ok := events[i].Body.(*troupe.ToolCalled); ok {
			called = int(events[i].Seq)
		}
	}
	// Each process dies right after it has begun to go on.
	store = cutOff(t, store, session, called)
	for n := range 4 {
		resumed := troupe.Event{Seq: int64(called + 1 + n), Time: time.Now(), Session: session, Run: events[0].Run, Step: "0", Agent: "clerk", Body: &troupe.RunResumed{}}
		if err := store.Append(t.Context(), session, resumed); err != nil {
			t.Fatal(err)
		}
	}
	engine := newEngine(t, troupe.Config{Store: store})
	agent = newAgent(t, inTurn(t, turn{text: "as far as I know"}), adder())
	_, _, err := gather(engine.Resume(t.Context(), agent, session))
	if err == nil || !strings.Contains(err.Error(), "given up: 5 processes in a row ended in the middle of this run, in a call of the tool add") {
		t.Fatalf("resumed for the fifth time: %v", err)
	}
	for info := range engine.Sessions(t.Context(), troupe.SessionFilter{}) {
		if info.Status != "failed" {
			t.Errorf("it is %s", info.Status)
		}
	}
	// Somebody who knows better may go on.
	if _, end, err := gather(engine.Resume(t.Context(), agent, session)); err != nil || end.Output.Summary != "as far as I know" {
		t.Errorf("resumed by somebody who knows better: %v, %v", end, err)
	}
}

// A passing store says of a session that somebody has it, and, once that was said, that it
// waits for somebody to go on with it: who had it has died meanwhile.
type passing struct {
	troupe.Store
	asked int
}

func (p *passing) Ask(ctx context.Context, session string, request troupe.SessionRequest) (troupe.SessionInfo, []troupe.Event, error) {
	info, replies, err := p.Store.Ask(ctx, session, request)
	info.Status = "running"
	if p.asked++; p.asked == 1 {
		info.Owner = troupe.Owner{Host: "elsewhere", PID: 1}
	}
	return info, replies, err
}

func TestASessionThatLosesItsOwnerWhileItIsDeletedStays(t *testing.T) {
	store := &passing{Store: troupe.NewMemoryStore()}
	engine := newEngine(t, troupe.Config{Store: store})
	events, _ := mustAnswer(t, engine, copycat(t), "a")
	session := events[0].Session
	store.asked = 0
	if err := engine.Delete(t.Context(), session); !errors.Is(err, troupe.ErrBusy) {
		t.Errorf("it is deleted: %v", err)
	}
	for _, err := range store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// slowToLeave is a store whose leases are given up only when the test says so.
type slowToLeave struct {
	troupe.Store
	leaving chan struct{}
	leave   chan struct{}
}

type slowLease struct {
	troupe.Lease
	of *slowToLeave
}

func (s *slowToLeave) Acquire(ctx context.Context, session string) (troupe.Lease, error) {
	lease, err := s.Store.Acquire(ctx, session)
	return slowLease{lease, s}, err
}

func (l slowLease) Release(ctx context.Context) error {
	select {
	case l.of.leaving <- struct{}{}:
		<-l.of.leave
	case <-l.of.leave:
	}
	return l.Lease.Release(ctx)
}

// A session whose run is just giving it up is renamed, and can be gone on with.
func TestASessionIsRenamedWhileItsRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowToLeave{troupe.NewMemoryStore(), make(chan struct{}), make(chan struct{})}
		engine := newEngine(t, troupe.Config{Store: store})
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "done"} }))
		run, err := engine.Start(t.Context(), agent, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		<-store.leaving
		renamed := make(chan error, 1)
		go func() { renamed <- engine.Rename(t.Context(), run.Session, "Another") }()
		synctest.Wait()
		close(store.leave)
		if err := <-renamed; err != nil {
			t.Error(err)
		}
		_, end, err := gather(engine.Run(t.Context(), agent, troupe.Input{Session: run.Session, Text: "and now"}))
		if err != nil || end.Output.Summary != "done" {
			t.Errorf("after that: %+v, %v", end, err)
		}
	})
}
