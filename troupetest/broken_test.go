package troupetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// A brokenModel has a good one to break a promise with: that of the subtest it is
// to fail.
type brokenModel struct {
	good     troupe.Model
	generate func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool)
	fails    string
}

func (b brokenModel) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) { b.generate(ctx, req, b.good, yield) }
}

var end = troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}

func brokenModels() map[string]brokenModel {
	var asked atomic.Int64
	return map[string]brokenModel{
		"two ends": {fails: "an_answer_ends_with_one_End", generate: func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool) {
			for chunk, err := range good.Generate(ctx, req) {
				if !yield(chunk, err) || chunk.End != nil && !yield(end, nil) {
					return
				}
			}
		}},
		"calls twice": {fails: "a_call_comes_whole", generate: func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool) {
			for chunk, err := range good.Generate(ctx, req) {
				if chunk.Call != nil && !yield(chunk, nil) || !yield(chunk, err) {
					return
				}
			}
		}},
		"goes on after errors": {fails: "an_error_is_last", generate: func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool) {
			for chunk, err := range good.Generate(ctx, req) {
				if !yield(chunk, err) || err != nil && !yield(end, nil) {
					return
				}
			}
		}},
		"always ends": {fails: "what_breaks_off_has_no_End", generate: func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool) {
			ended := false
			for chunk, err := range good.Generate(ctx, req) {
				if ended = chunk.End != nil || err != nil; !yield(chunk, err) {
					return
				}
			}
			if !ended {
				yield(end, nil)
			}
		}},
		"answers all the same": {fails: "a_context_that_was_done_before", generate: func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool) {
			if ctx.Err() != nil {
				ctx = context.WithoutCancel(ctx)
			}
			good.Generate(ctx, req)(yield)
		}},
		"mixes answers": {fails: "it_may_be_called_concurrently", generate: func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool) {
			if yield(troupe.Chunk{Text: fmt.Sprint(asked.Add(1))}, nil) {
				good.Generate(ctx, req)(yield)
			}
		}},
		"writes into the request": {fails: "it_leaves_the_request", generate: func(ctx context.Context, req *troupe.Request, good troupe.Model, yield func(troupe.Chunk, error) bool) {
			req.Messages[0] = &troupe.Message{Role: troupe.RoleSystem, Text: "Be rude."}
			good.Generate(ctx, req)(yield)
		}},
	}
}

// A brokenStore is a good one, but for the methods that are set. They break the
// promise of the subtest it is to fail.
type brokenStore struct {
	troupe.Store
	fails    string
	append   func(ctx context.Context, good troupe.Store, session string, events []troupe.Event) error
	events   func(ctx context.Context, good troupe.Store, session string, after int64) iter.Seq2[troupe.Event, error]
	sessions func(ctx context.Context, good troupe.Store, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error]
	delete   func(ctx context.Context, good troupe.Store, session string) error
	costs    func(ctx context.Context, good troupe.Store, since time.Time) iter.Seq2[troupe.DayCost, error]
}

func (b *brokenStore) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if b.append != nil {
		return b.append(ctx, b.Store, session, events)
	}
	return b.Store.Append(ctx, session, events...)
}

func (b *brokenStore) Events(ctx context.Context, session string, after int64) iter.Seq2[troupe.Event, error] {
	if b.events != nil {
		return b.events(ctx, b.Store, session, after)
	}
	return b.Store.Events(ctx, session, after)
}

func (b *brokenStore) Sessions(ctx context.Context, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	if b.sessions != nil {
		return b.sessions(ctx, b.Store, match)
	}
	return b.Store.Sessions(ctx, match)
}

func (b *brokenStore) Delete(ctx context.Context, session string) error {
	if b.delete != nil {
		return b.delete(ctx, b.Store, session)
	}
	return b.Store.Delete(ctx, session)
}

func (b *brokenStore) Costs(ctx context.Context, since time.Time) iter.Seq2[troupe.DayCost, error] {
	if b.costs != nil {
		return b.costs(ctx, b.Store, since)
	}
	return b.Store.Costs(ctx, since)
}

func brokenStores() map[string]brokenStore {
	return map[string]brokenStore{
		"forgets parents": {append: func(ctx context.Context, good troupe.Store, session string, events []troupe.Event) error {
			for i := range events {
				events[i].Parent = ""
			}
			return good.Append(ctx, session, events...)
		}, fails: "every_kind_of_event"},
		"cuts long text": {append: func(ctx context.Context, good troupe.Store, session string, events []troupe.Event) error {
			for i := range events {
				if said, ok := events[i].Body.(*troupe.UserSaid); ok && len(said.Text) > 1<<16 {
					events[i].Body = &troupe.UserSaid{Text: said.Text[:1<<16], Parts: said.Parts}
				}
			}
			return good.Append(ctx, session, events...)
		}, fails: "large_and_odd_events"},
		"writes half of a batch": {append: func(ctx context.Context, good troupe.Store, session string, events []troupe.Event) error {
			for _, e := range events {
				if err := good.Append(ctx, session, e); err != nil {
					return err
				}
			}
			return nil
		}, fails: "events_that_do_not_continue"},
		"lets all writers win": {append: func(ctx context.Context, good troupe.Store, session string, events []troupe.Event) error {
			good.Append(ctx, session, events...)
			return nil
		}, fails: "of_concurrent_writers"},
		"counts from the event itself": {events: func(ctx context.Context, good troupe.Store, session string, after int64) iter.Seq2[troupe.Event, error] {
			return good.Events(ctx, session, max(after-1, 0))
		}, fails: "events_after_a_number"},
		"knows every session": {events: func(ctx context.Context, good troupe.Store, session string, after int64) iter.Seq2[troupe.Event, error] {
			return func(yield func(troupe.Event, error) bool) {
				for e, err := range good.Events(ctx, session, after) {
					if errors.Is(err, troupe.ErrNotFound) || !yield(e, err) {
						return
					}
				}
			}
		}, fails: "an_unknown_session"},
		"has one log for all": {append: func(ctx context.Context, good troupe.Store, session string, events []troupe.Event) error {
			return good.Append(ctx, "one", events...)
		}, events: func(ctx context.Context, good troupe.Store, session string, after int64) iter.Seq2[troupe.Event, error] {
			return good.Events(ctx, "one", after)
		}, fails: "sessions_are_apart"},
		"has no limit": {sessions: func(ctx context.Context, good troupe.Store, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
			match.Limit = 0
			return good.Sessions(ctx, match)
		}, fails: "sessions_are_listed"},
		"has no status": {sessions: func(ctx context.Context, good troupe.Store, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
			match.Status = "completed"
			return good.Sessions(ctx, match)
		}, fails: "a_session's_status"},
		"never forgets": {delete: func(ctx context.Context, good troupe.Store, session string) error {
			for range good.Events(ctx, session, 0) {
				return nil
			}
			return troupe.ErrNotFound
		}, fails: "a_deleted_session"},
		"adds up all days": {costs: func(ctx context.Context, good troupe.Store, _ time.Time) iter.Seq2[troupe.DayCost, error] {
			return good.Costs(ctx, time.Time{})
		}, fails: "what_was_spent"},
		"heeds no context": {events: func(ctx context.Context, good troupe.Store, session string, after int64) iter.Seq2[troupe.Event, error] {
			return good.Events(context.WithoutCancel(ctx), session, after)
		}, fails: "reading_stops_when_its_context"},
		"writes and complains": {append: func(ctx context.Context, good troupe.Store, session string, events []troupe.Event) error {
			return errors.Join(good.Append(ctx, session, events...), ctx.Err())
		}, fails: "a_refused_write"},
		"shows half of a batch": {events: func(ctx context.Context, good troupe.Store, session string, after int64) iter.Seq2[troupe.Event, error] {
			return func(yield func(troupe.Event, error) bool) {
				all := slices.Collect(func(yield func(troupe.Event) bool) {
					good.Events(ctx, session, after)(func(e troupe.Event, err error) bool { return err == nil && yield(e) })
				})
				for i, e := range all {
					if len(all)%6 == 0 && i == len(all)-1 || !yield(e, nil) {
						return
					}
				}
			}
		}, fails: "readers_beside_a_writer"},
	}
}

// TestBrokenInAChild fails: see TestSuitesCatchWhatIsBroken.
func TestBrokenInAChild(t *testing.T) {
	if os.Getenv("TROUPETEST_CHILD") == "" {
		t.Skip("it is run by other tests")
	}
	for name, broken := range brokenModels() {
		t.Run("model "+name, func(t *testing.T) {
			troupetest.TestModel(t, func(t *testing.T, does troupetest.Behaviour) troupe.Model {
				broken.good = scripted(t, does)
				return broken
			})
		})
	}
	for name, broken := range brokenStores() {
		t.Run("store "+name, func(t *testing.T) {
			troupetest.TestStore(t, func(testing.TB) troupe.Store {
				broken.Store = troupe.NewMemoryStore()
				return &broken
			})
		})
	}
}

func TestSuitesCatchWhatIsBroken(t *testing.T) {
	var patterns, failures []string
	expect := func(name, fails string) {
		name = strings.ReplaceAll(name, " ", "_")
		patterns = append(patterns, "^TestBrokenInAChild$/^"+name+"$/^"+regexp.QuoteMeta(fails))
		failures = append(failures, "--- FAIL: TestBrokenInAChild/"+name+"/"+fails)
	}
	for name, broken := range brokenModels() {
		expect("model "+name, broken.fails)
	}
	for name, broken := range brokenStores() {
		expect("store "+name, broken.fails)
	}
	output, _ := inChild(t, strings.Join(patterns, "|"), "yes")
	for _, failure := range failures {
		if !strings.Contains(output, failure) {
			t.Errorf("missing is %s", failure)
		}
	}
	if t.Failed() {
		t.Logf("%.20000s", output)
	}
}
