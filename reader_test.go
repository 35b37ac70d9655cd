package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// A screen is the simplest reader there is: it shows what deltas add up to, and
// drops what an earlier attempt has shown.
type screen struct {
	shown map[string]*showing
	wrong []string
}

type showing struct {
	attempt       int
	text, thought string
}

func newScreen() *screen { return &screen{shown: map[string]*showing{}} }

func (s *screen) see(e *troupe.Event) {
	key := e.Run + " " + e.Step
	grow := func(attempt int) *showing {
		now := s.shown[key]
		if now != nil && attempt < now.attempt {
			s.wrong = append(s.wrong, fmt.Sprintf("%s: attempt %d is shown again after %d", key, attempt, now.attempt))
		}
		if now == nil || now.attempt != attempt {
			now = &showing{attempt: attempt}
			s.shown[key] = now
		}
		return now
	}
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		grow(b.Attempt).text += b.Text
	case *troupe.ThoughtDelta:
		grow(b.Attempt).thought += b.Text
	case *troupe.ModelReplied:
		// Who saw a part of an answer has seen all of it when it is whole.
		if now := s.shown[key]; now != nil && (now.attempt != b.Attempt || now.text != b.Message.Text || now.thought != b.Message.Thought) {
			s.wrong = append(s.wrong, fmt.Sprintf("%s attempt %d: shown %d %q, said %q", key, b.Attempt, now.attempt, now.text, b.Message.Text))
		}
	}
}

// unsteady is a model that speaks in pieces, hesitates, and breaks off now and then.
type unsteady struct {
	mu     sync.Mutex
	random *rand.Rand
	said   int
}

func (u *unsteady) draw(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.random.IntN(n)
}

func (u *unsteady) Generate(ctx context.Context, _ *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		u.mu.Lock()
		u.said++
		said := u.said
		u.mu.Unlock()
		for i := range 2 + u.draw(12) {
			select {
			case <-time.After(time.Duration(u.draw(20)) * time.Millisecond):
			case <-ctx.Done():
				yield(troupe.Chunk{}, ctx.Err())
				return
			}
			if u.draw(14) == 0 {
				yield(troupe.Chunk{}, &troupe.ModelError{Status: 503, Temporary: true})
				return
			}
			piece := troupe.Chunk{Text: fmt.Sprintf("<%d.%d>", said, i)}
			if u.draw(4) == 0 {
				piece = troupe.Chunk{Thought: fmt.Sprintf("(%d.%d)", said, i)}
			}
			if !yield(piece, nil) {
				return
			}
		}
		yield(troupe.Chunk{Text: "."}, nil)
		yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
	}
}

// P1: stop and go on, attempt after attempt, slow readers and late ones: what is
// shown is always what was said.
func TestWhatReadersShowIsWhatWasSaid(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			engine := newEngine(t, troupe.Config{Limits: troupe.Limits{ModelTries: 20}})
			agent := newAgent(t, &unsteady{random: rand.New(rand.NewPCG(seed, 8))})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			handle, err := engine.Start(ctx, agent, troupe.Input{Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			var readers sync.WaitGroup
			screens := make([]*screen, 6)
			for i := range screens {
				screens[i] = newScreen()
				late, slow := time.Duration(random.IntN(300))*time.Millisecond, time.Duration(random.IntN(3)*random.IntN(60))*time.Millisecond
				readers.Go(func() {
					time.Sleep(late)
					for e, err := range engine.Tail(ctx, handle.Session, 0) {
						if err != nil {
							return
						}
						screens[i].see(&e)
						time.Sleep(slow)
					}
				})
			}
			for range 1 + random.IntN(3) { // stop and go on
				time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
				if err := engine.Cancel(ctx, handle.Session); err != nil {
					t.Fatal(err)
				}
				own := newScreen()
				for e, err := range engine.Resume(ctx, agent, handle.Session) {
					if errors.Is(err, troupe.ErrNothingToResume) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					own.see(&e)
					if random.IntN(25) == 0 {
						break
					}
				}
				if len(own.wrong) > 0 {
					t.Errorf("seed %d: the one who ranges over the run: %s", seed, strings.Join(own.wrong, "\n"))
				}
			}
			time.Sleep(time.Minute)
			cancel()
			readers.Wait()
			for i, s := range screens {
				if len(s.wrong) > 0 {
					t.Errorf("seed %d: reader %d: %s", seed, i, strings.Join(s.wrong, "\n"))
				}
			}
		})
	}
}

// Cancel from within the loop is told, not waited for; the loop then ends.
func TestCancelFromWithinTheLoop(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{pieces: []string{"a", "b", "c"}, text: "d"} }))
	seen := 0
	var last error
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "go"}) {
		if last = err; err != nil {
			break
		}
		if e.Kind() == "text_delta" {
			seen++
			if err := engine.Cancel(t.Context(), e.Session); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen != 1 || !errors.Is(last, troupe.ErrCancelled) {
		t.Errorf("%d pieces after it was cancelled, %v", seen, last)
	}
}

// A panic in the loop ends the run and comes out of the loop.
func TestAPanicInTheLoopEndsTheRun(t *testing.T) {
	store := troupe.NewMemoryStore()
	engine := newEngine(t, troupe.Config{Store: store})
	agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "hi"} }))
	session := ""
	func() {
		defer func() {
			if value := recover(); value != "mine" {
				t.Errorf("recovered %v", value)
			}
		}()
		for e := range engine.Run(t.Context(), agent, troupe.Input{Text: "go"}) {
			if session = e.Session; e.Kind() == "text_delta" {
				panic("mine")
			}
		}
	}()
	if log := collect(t, store, session); log[len(log)-1].Kind() != "run_cancelled" {
		t.Errorf("it ended with %s", log[len(log)-1].Kind())
	}
	if _, _, err := gather(engine.Resume(t.Context(), agent, session)); err != nil {
		t.Errorf("it cannot be resumed: %v", err)
	}
}
