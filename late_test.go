package troupe_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// stalling is a model that says three words, one a minute, and then nothing for long.
type stalling struct{}

func (stalling) Generate(ctx context.Context, _ *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		for _, word := range []string{"one ", "two ", "three "} {
			time.Sleep(time.Minute)
			if !yield(troupe.Chunk{Text: word}, nil) {
				return
			}
		}
		time.Sleep(time.Hour)
		yield(troupe.Chunk{Text: "four"}, nil)
	}
}

// Who comes late to a reply sees when it began and when the last of it came, here and in another
// process: a page that is loaded again says since when nothing is heard.
func TestWhoComesLateSeesSinceWhenAReplyIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		one, two := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
		began := time.Now()
		run, err := one.Start(t.Context(), newAgent(t, stalling{}), troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		for name, engine := range map[string]*troupe.Engine{"here": one, "elsewhere": two} {
			ctx, cancel := context.WithCancel(t.Context())
			var seen []string
			var wg sync.WaitGroup
			wg.Go(func() {
				for e, err := range engine.Tail(ctx, run.Session, 0) {
					if delta, ok := e.Body.(*troupe.TextDelta); ok && err == nil {
						seen = append(seen, fmt.Sprintf("%s: %s", e.Time.Sub(began.UTC()), delta.Text))
					}
				}
			})
			time.Sleep(time.Minute)
			cancel()
			wg.Wait()
			if got := fmt.Sprintf("%q", seen); got != `["1m0s: one two " "3m0s: three "]` {
				t.Errorf("who comes late %s sees %s", name, got)
			}
		}
		if err := one.Cancel(t.Context(), run.Session); err != nil {
			t.Error(err)
		}
	})
}
