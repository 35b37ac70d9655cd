package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// waiting is a tool that waits for its context to end and counts how often it has.
func waiting(begun, ended *atomic.Int32) troupe.Tool {
	return troupe.NewTool("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		begun.Add(1)
		defer ended.Add(1)
		<-ctx.Done()
		return "", ctx.Err()
	}, troupe.Timeout(-1))
}

func TestBreakCancelsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		model := modelFunc(func(*troupe.Request) turn {
			return turn{calls: []troupe.ToolCall{call("1", "wait", "{}"), call("2", "wait", "{}")}}
		})
		store := troupe.NewMemoryStore()
		engine := newEngine(t, troupe.Config{Store: store})
		session := ""
		for e, err := range engine.Run(t.Context(), newAgent(t, model, reporting(&begun, &ended)), troupe.Input{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			session = e.Session
			if e.Kind() == "noted" {
				synctest.Wait()
				break
			}
		}
		if begun.Load() != 2 || ended.Load() != 2 {
			t.Errorf("%d tools began, %d had ended when the loop was over", begun.Load(), ended.Load())
		}
		log := collect(t, store, session)
		if last := log[len(log)-1]; last.Kind() != "run_cancelled" {
			t.Errorf("the log ends with %s", last.Kind())
		}
	})
}

func TestCancelStopsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		model := modelFunc(func(req *troupe.Request) turn {
			checkPairing(t, req.Messages)
			if last := req.Messages[len(req.Messages)-1]; last.Text == "and now?" {
				return turn{text: "now it works"}
			}
			return turn{calls: []troupe.ToolCall{call("1", "wait", "{}")}}
		})
		engine, agent := newEngine(t, troupe.Config{}), newAgent(t, model, waiting(&begun, &ended))
		started, err := engine.Start(t.Context(), agent, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := engine.Start(t.Context(), agent, troupe.Input{Session: started.Session, Text: "again"}); !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("a second run: %v", err)
		}
		if err := engine.Delete(t.Context(), started.Session); !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("deleting: %v", err)
		}
		if err := engine.Cancel(t.Context(), started.Session); err != nil || ended.Load() != 1 {
			t.Errorf("cancel: %v, %d tools ended", err, ended.Load())
		}
		if err := engine.Cancel(t.Context(), started.Session); err != nil {
			t.Errorf("cancelling again: %v", err)
		}
		// The conversation goes on, though a call of it never had a result.
		_, end, err := play(t, engine, agent, troupe.Input{Session: started.Session, Text: "and now?"})
		if err != nil || end.Output.Summary != "now it works" {
			t.Errorf("got %+v, %v", end, err)
		}
	})
}

func TestStartOutlivesItsContextAndCloseEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		model := modelFunc(func(*troupe.Request) turn { return turn{calls: []troupe.ToolCall{call("1", "wait", "{}")}} })
		store := troupe.NewMemoryStore()
		engine, agent := newEngine(t, troupe.Config{Store: store}), newAgent(t, model, waiting(&begun, &ended))
		ctx, cancel := context.WithCancel(t.Context())
		started, err := engine.Start(ctx, agent, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if begun.Load() != 1 || ended.Load() != 0 {
			t.Errorf("the run did not outlive its context")
		}
		engine.Close()
		if ended.Load() != 1 {
			t.Error("close did not wait")
		}
		if _, err := engine.Start(t.Context(), agent, troupe.Input{Text: "go"}); !errors.Is(err, troupe.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
		log := collect(t, store, started.Session)
		if last, ok := log[len(log)-1].Body.(*troupe.RunCancelled); !ok || !strings.Contains(last.Reason, "closed") {
			t.Errorf("the log ends with %s", render(log[len(log)-1:]))
		}
	})
}

func TestATailShowsWhatWasAndWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		engine := newEngine(t, troupe.Config{})
		agent := newAgent(t, streamed(gate, "one ", "two ", "three"))
		started, err := engine.Start(t.Context(), agent, troupe.Input{Text: "count"})
		if err != nil {
			t.Fatal(err)
		}
		gate <- struct{}{}
		gate <- struct{}{}
		synctest.Wait()
		// A late reader gets the stored events, then the text so far as one delta.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		for e, err := range engine.Tail(ctx, started.Session, 1) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				break
			}
			switch b := e.Body.(type) {
			case *troupe.TextDelta:
				got = append(got, "+"+b.Text)
				if b.Text == "one two " {
					close(gate)
				}
			case *troupe.RunFinished:
				got = append(got, string(e.Kind()))
				cancel()
			default:
				got = append(got, string(e.Kind()))
			}
		}
		want := "user_said context_loaded +one two  +three model_replied run_finished"
		if strings.Join(got, " ") != want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
		}
		// A reader of the past alone gets what is stored.
		past, stop := context.WithCancel(t.Context())
		defer stop()
		var kinds []string
		for e, err := range engine.Tail(past, started.Session, 0) {
			if err != nil {
				break
			}
			kinds = append(kinds, string(e.Kind()))
			if e.Kind() == "run_finished" {
				stop()
			}
		}
		if got := strings.Join(kinds, " "); got != "run_started user_said context_loaded model_replied run_finished" {
			t.Errorf("the past: %s", got)
		}
		for _, err := range engine.Tail(t.Context(), "00000000-0000-4000-8000-000000000000", 0) {
			if !errors.Is(err, troupe.ErrNotFound) {
				t.Errorf("no session: %v", err)
			}
		}
	})
}

// streamed is a model that lets one piece go each time it may pass the gate.
func streamed(gate chan struct{}, pieces ...string) troupe.Model {
	return generator(func(ctx context.Context, req *troupe.Request, yield func(troupe.Chunk, error) bool) {
		for _, piece := range pieces {
			select {
			case <-gate:
			case <-ctx.Done():
				yield(troupe.Chunk{}, ctx.Err())
				return
			}
			if !yield(troupe.Chunk{Text: piece}, nil) {
				return
			}
		}
		yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
	})
}

type generator func(context.Context, *troupe.Request, func(troupe.Chunk, error) bool)

func (g generator) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) { g(ctx, req, yield) }
}

// A reader that is slow neither slows the run nor loses a stored event.
func TestASlowReaderLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 1200
		model := modelFunc(func(req *troupe.Request) turn {
			if n := results(req); n < calls {
				return turn{pieces: []string{"a", "b"}, calls: []troupe.ToolCall{call("c", "add", fmt.Sprintf(`{"a":%d,"b":1}`, n))}}
			}
			return turn{text: "done"}
		})
		engine := newEngine(t, troupe.Config{Limits: troupe.Limits{Turns: -1}})
		var seq, events int64
		for e, err := range engine.Run(t.Context(), newAgent(t, model, adder()), troupe.Input{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if events++; events == 2 {
				synctest.Wait() // the run goes on to its end without us
			}
			if e.Seq > 0 {
				if seq++; e.Seq != seq {
					t.Fatalf("event %d came as number %d", e.Seq, seq)
				}
			}
		}
		if want := int64(3 + calls*3 + 1 + 1); seq != want {
			t.Errorf("%d stored events, want %d", seq, want)
		}
	})
}

func TestAConversationGoesOn(t *testing.T) {
	t.Attr("FR", "FR-005")
	model := modelFunc(func(req *troupe.Request) turn {
		var said []string
		for _, m := range req.Messages {
			said = append(said, string(m.Role)+":"+m.Text)
		}
		return turn{text: strings.Join(said[1:], "|")}
	})
	store := troupe.NewMemoryStore()
	agent := newAgent(t, model)
	engine := newEngine(t, troupe.Config{Store: store})
	events, _ := mustAnswer(t, engine, agent, "one")
	session := events[0].Session
	_, end, err := play(t, engine, agent, troupe.Input{Session: session, Text: "two"})
	if err != nil || end.Output.Summary != "user:one|assistant:user:one|user:two" {
		t.Fatalf("got %+v, %v", end, err)
	}
	// Another engine over the same log comes to the same conversation.
	events, end, err = play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Session: session, Text: "three"})
	if err != nil || end.Output.Summary != "user:one|assistant:user:one|user:two|assistant:user:one|assistant:user:one|user:two|user:three" {
		t.Fatalf("got %+v, %v", end, err)
	}
	if got := kinds(events); got != "run_started user_said model_replied run_finished" {
		t.Errorf("what was loaded stays loaded: %s", got)
	}
	if _, _, err := play(t, engine, agent, troupe.Input{Session: "../../etc", Text: "x"}); err == nil {
		t.Error("an id that is no UUID was taken")
	}
}

func TestAnInterruptedRunIsAbandonedByTheNextMessage(t *testing.T) {
	w := &world{done: map[string]int{}}
	s := scenes()[0]
	events, _, err := play(t, newEngine(t, troupe.Config{}), s.step(t, w), s.input)
	if err != nil {
		t.Fatal(err)
	}
	log := stored(events)
	for cut := 1; cut < len(log); cut++ {
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
			t.Fatal(err)
		}
		agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
			checkPairing(t, req.Messages)
			return turn{text: "hello again"}
		}))
		_, end, err := play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Session: log[0].Session, Text: "hi"})
		if err != nil || end.Output.Summary != "hello again" {
			t.Fatalf("cut after %d: %+v, %v", cut, end, err)
		}
		if got := countOf[*troupe.RunCancelled](collect(t, store, log[0].Session)); got != 1 {
			t.Errorf("cut after %d: %d runs on record as cancelled", cut, got)
		}
	}
}

type brokenStore struct {
	troupe.Store
	after int
}

func (b *brokenStore) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if b.after--; b.after < 0 {
		return errors.New("disk full")
	}
	return b.Store.Append(ctx, session, events...)
}

// A store that fails stops the run: nothing is shown that is not stored, and the
// run is resumable once the store works again.
func TestAStoreThatFailsStopsTheRun(t *testing.T) {
	s := scenes()[1]
	for after := range 6 {
		inner := troupe.NewMemoryStore()
		store := &brokenStore{inner, after}
		w := &world{done: map[string]int{}}
		step := s.step(t, w)
		engine := newEngine(t, troupe.Config{Store: store})
		events, end, err := play(t, engine, step, s.input)
		if err == nil || end != nil || strings.Count(err.Error(), "disk full") != 1 {
			t.Fatalf("after %d: %+v, %v", after, end, err)
		}
		if after == 0 {
			continue
		}
		shown, kept := stored(events), collect(t, inner, events[0].Session)
		if len(shown) != len(kept) {
			t.Errorf("after %d: %d shown, %d stored", after, len(shown), len(kept))
		}
		store.after = 1000
		if _, end, err := gather(engine.Resume(t.Context(), step, events[0].Session)); err != nil || end.Output.Summary != "done" {
			t.Errorf("after %d: resumed to %+v, %v", after, end, err)
		}
	}
}

func TestARunsTimeEndsInAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		for name, slow := range map[string]bool{"in a tool": false, "in the model": true} {
			model := generator(func(ctx context.Context, req *troupe.Request, yield func(troupe.Chunk, error) bool) {
				if req.Tools == nil {
					yield(troupe.Chunk{Text: "so far"}, nil)
					yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
					return
				}
				if slow {
					<-ctx.Done()
					yield(troupe.Chunk{}, ctx.Err())
					return
				}
				c := call("1", "wait", "{}")
				yield(troupe.Chunk{Call: &c}, nil)
				yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}, nil)
			})
			began := time.Now()
			engine, agent := newEngine(t, troupe.Config{}), newAgent(t, model, waiting(&begun, &ended))
			events, end, err := play(t, engine, agent, troupe.Input{Text: "go", Limits: troupe.Limits{Time: time.Minute}})
			if err != nil || end.Stop != "time" || end.Output.Summary != "so far" {
				t.Fatalf("%s: %+v, %v\n%s", name, end, err, render(events))
			}
			// A quarter of the time is set aside for the last answer.
			if took := time.Since(began); took != 45*time.Second {
				t.Errorf("%s: it took %s", name, took)
			}
			// Going over the whole log again does nothing again.
			log := stored(events)
			store := troupe.NewMemoryStore()
			if err := store.Append(t.Context(), log[0].Session, log[:len(log)-1]...); err != nil {
				t.Fatal(err)
			}
			mute := newAgent(t, generator(func(_ context.Context, req *troupe.Request, yield func(troupe.Chunk, error) bool) {
				t.Errorf("%s: the model was asked again", name)
				yield(troupe.Chunk{}, errBoom)
			}), waiting(&begun, &ended))
			if _, again, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), mute, log[0].Session)); err != nil || again.Output.Summary != "so far" {
				t.Errorf("%s: resumed to %+v, %v", name, again, err)
			}
		}
	})
}

// What a tool does after its time was up comes to nothing.
func TestAToolLeftBehindCannotWriteToTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		late := make(chan error, 1)
		tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: "stubborn"}, func(_ context.Context, in *troupe.Invocation) (troupe.Result, error) {
			<-release
			late <- in.Run.Emit(context.Background(), &troupe.ArtifactSaved{Path: "late"})
			return troupe.Result{Content: "late"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "stubborn", "{}")}}, turn{text: "without it"})
		store := troupe.NewMemoryStore()
		events, end := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), newAgent(t, model, tool), "go")
		close(release)
		if err := <-late; err == nil {
			t.Error("it could write to the log")
		}
		if log := collect(t, store, events[0].Session); end.Output.Summary != "without it" || log[len(log)-1].Kind() != "run_finished" {
			t.Errorf("the log is %s", kinds(log))
		}
	})
}

// clockwork records what a run says of time and ids.
type clockwork struct{ told *[]string }

func (clockwork) Name() string { return "clockwork" }
func (clockwork) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "step", Name: "clockwork"}
}
func (c clockwork) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	for i := range 3 {
		*c.told = append(*c.told, run.Now().Format(time.RFC3339Nano), run.NewID())
		if err := run.Warn(ctx, "tick", fmt.Sprint(i)); err != nil {
			return troupe.Handoff{}, err
		}
		if i == 1 {
			errs := run.All(ctx, 0, func(ctx context.Context, r *troupe.Run) error {
				*c.told = append(*c.told, r.Now().Format(time.RFC3339Nano), r.NewID())
				return r.Warn(ctx, "tock", "")
			})
			if err := errors.Join(errs...); err != nil {
				return troupe.Handoff{}, err
			}
		}
	}
	return troupe.Handoff{Summary: "done"}, nil
}

func TestTimeAndIdsAreTheSameOnEveryPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first []string
		events, _, err := play(t, newEngine(t, troupe.Config{}), clockwork{&first}, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		log := stored(events)
		for cut := 2; cut < len(log); cut++ {
			time.Sleep(time.Hour)
			store := troupe.NewMemoryStore()
			if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
				t.Fatal(err)
			}
			var again []string
			if _, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), clockwork{&again}, log[0].Session)); err != nil {
				t.Fatal(err)
			}
			for i := range again {
				recorded := i/2 < cut-2 || i%2 == 1
				if recorded && again[i] != first[i] {
					t.Errorf("cut after %d: %d is %s, was %s", cut, i, again[i], first[i])
				}
			}
		}
	})
}

func TestABranchThatPanicsFailsAlone(t *testing.T) {
	step := branches{
		func(context.Context, *troupe.Run) error { panic("one") },
		func(ctx context.Context, r *troupe.Run) error { return r.Warn(ctx, "two", "") },
	}
	events, end, err := play(t, newEngine(t, troupe.Config{}), step, troupe.Input{Text: "go"})
	if err != nil || !strings.Contains(end.Output.Summary, "panic: one") || countOf[*troupe.Warned](events) != 1 {
		t.Errorf("%+v, %v", end, err)
	}
}

type branches []func(context.Context, *troupe.Run) error

func (branches) Name() string { return "branches" }
func (branches) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "step", Name: "branches"}
}
func (b branches) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	return troupe.Handoff{Summary: errors.Join(run.All(ctx, 0, b...)...).Error()}, nil
}

// Whoever looks at a run through its handle sees what it said, even if the run was over
// before they looked.
func TestAHandleShowsWhatWasSaidHoweverLateOneLooks(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	handle, err := engine.Start(t.Context(), newAgent(t, frugal{1}, adder()), troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handle.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var said []string
	for e, err := range handle.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if delta, ok := e.Body.(*troupe.TextDelta); ok {
			said = append(said, delta.Text)
		}
	}
	if len(said) != 1 || said[0] != "done" {
		t.Errorf("it shows %q", said)
	}
}
