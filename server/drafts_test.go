package server

import (
	"context"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

func TestDraftsOfAUserPushOutTheOldestAndNobodyElses(t *testing.T) {
	var d drafts
	d.add(troupe.SessionInfo{ID: "other", User: "bob"})
	d.add(troupe.SessionInfo{ID: "first", User: "ada"})
	first := d.find("ada", "first")
	for range mostDrafts - 1 {
		d.add(troupe.SessionInfo{ID: newID(), User: "ada"})
	}
	if d.find("ada", "first") == nil {
		t.Fatalf("with %d drafts, the first is gone", mostDrafts)
	}
	d.add(troupe.SessionInfo{ID: "last", User: "ada"})
	if d.find("ada", "first") != nil || d.find("bob", "other") == nil || d.find("ada", "last") == nil {
		t.Error("one draft too many did not push out the user's oldest, and that alone")
	}
	select {
	case <-first.over:
	default:
		t.Error("whoever follows what was pushed out waits for ever")
	}
}

func TestADraftOutlivesItsServer(t *testing.T) {
	dir := t.TempDir()
	add := func(d *drafts, info troupe.SessionInfo) {
		t.Helper()
		if err := d.add(info); err != nil {
			t.Fatal(err)
		}
	}
	reopen := func() *drafts {
		t.Helper()
		d, err := newDrafts(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := reopen()
	kept, begun, old := newID(), newID(), newID()
	add(first, troupe.SessionInfo{ID: kept, User: "ada", Agent: "clerk", Started: time.Now()})
	add(first, troupe.SessionInfo{ID: begun, User: "ada", Agent: "clerk", Started: time.Now()})
	add(first, troupe.SessionInfo{ID: old, User: "ada", Agent: "clerk", Started: time.Now().Add(-2 * draftLifetime)})
	first.remove(first.find("ada", begun))
	torn := filepath.Join(dir, "drafts", newID()+".json")
	if err := os.WriteFile(torn, []byte(`{"id":"cut of`), 0o600); err != nil {
		t.Fatal(err)
	}
	reopen()
	if _, err := os.Stat(torn); err != nil {
		t.Errorf("what another server may be writing was taken away: %v", err)
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(torn, long, long); err != nil {
		t.Fatal(err)
	}
	second := reopen()
	if d := second.find("ada", kept); d == nil || d.info.Agent != "clerk" {
		t.Errorf("after a restart the draft is %v", d)
	}
	if second.find("bob", kept) != nil || second.find("ada", begun) != nil || second.find("ada", old) != nil {
		t.Error("another user's, one that has begun or one of last month is there")
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "drafts")); len(left) != 1 {
		t.Errorf("%d files are left, not 1", len(left))
	}
	made := newID()
	add(first, troupe.SessionInfo{ID: made, User: "ada", Agent: "clerk", Started: time.Now()})
	if second.find("ada", made) != nil || second.look("bob", made) != nil || second.look("ada", made) == nil || second.find("ada", made) == nil {
		t.Error("another server of the same directory does not know it by its file")
	}
}

// A server that takes the place of another, as when troupe.yaml has changed, begins what
// pages have opened there: they are told.
func TestWhoeverFollowsAServerThatWasReplacedIsTold(t *testing.T) {
	dir := t.TempDir()
	first, err := newDrafts(dir, nil)
	if err == nil {
		err = first.add(troupe.SessionInfo{ID: "3f0e7c9a-0000-4000-8000-000000000001", Started: time.Now()})
	}
	if err != nil {
		t.Fatal(err)
	}
	waits := first.find("", "3f0e7c9a-0000-4000-8000-000000000001")
	second, err := newDrafts(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, after := &Server{drafts: first}, &Server{drafts: second}
	before.HandOver(after)
	second.remove(second.look("", waits.info.ID))
	select {
	case <-waits.over:
	default:
		t.Error("whoever follows the draft at the first server waits for ever")
	}
	ear, deaf := before.hub.listen("")
	defer deaf()
	after.hub.changed("a")
	if heard, _ := ear.take(); len(heard) != 1 || heard[0] != "a" {
		t.Errorf("a stream of the first server hears %v", heard)
	}
}

// A store that has a hook has something happen after each look for a session.
type hooked struct {
	troupe.Store
	after func()
	err   error // instead of an answer
}

func (h *hooked) Sessions(ctx context.Context, filter troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	return func(yield func(troupe.SessionInfo, error) bool) {
		if h.err != nil {
			yield(troupe.SessionInfo{}, h.err)
			return
		}
		for info, err := range h.Store.Sessions(ctx, filter) {
			if !yield(info, err) {
				return
			}
		}
		if after := h.after; after != nil && filter.ID != "" {
			h.after = nil
			after()
		}
	}
}

// A session that was made on one server begins there just while another one looks for
// it: in the store it is not yet, and a draft it is no longer.
func TestADraftThatBeginsElsewhereIsFound(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Dir = t.TempDir() })
	session := w.session()
	store := &hooked{Store: w.store, after: func() { w.talk(session, "first") }}
	w.config.Store = store
	other, err := New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	other.drafts.list = nil // it was started before the session was made
	info, d, err := other.find(&call{r: httptest.NewRequest("GET", "/", nil)}, session)
	if err != nil || d != nil || info.ID != session || store.after != nil {
		t.Errorf("%+v, %v, %v", info, d, err)
	}
}

// Whoever leaves in the middle of a request does not take a draft along.
func TestADraftIsKeptWhereTheStoreCannotBeAsked(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Dir = t.TempDir() })
	session := w.session()
	w.server.config.Store = &hooked{Store: w.store, err: context.Canceled}
	if _, _, err := w.server.find(&call{r: httptest.NewRequest("GET", "/", nil)}, session); err == nil {
		t.Error("the store was not asked")
	}
	w.server.config.Store = w.store
	w.talk(session, "first")
}

// Nobody waits for the disk or the database of somebody else's draft.
func TestDraftsAreFoundWhileOthersAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := &slowShelf{goOn: make(chan struct{})}
		d, err := newDrafts("", shelf)
		if err != nil {
			t.Fatal(err)
		}
		known := &draft{troupe.SessionInfo{ID: "11111111-1111-4111-8111-111111111111"}, make(chan struct{})}
		d.enter(known)
		go d.add(troupe.SessionInfo{ID: "22222222-2222-4222-8222-222222222222"})
		go d.remove(known)
		synctest.Wait() // both wait for the shelf
		select {
		case <-known.over:
		default:
			t.Error("who waits for the session to begin is not told")
		}
		if found := d.find("", known.info.ID); found != nil {
			t.Errorf("found %+v", found)
		}
		close(shelf.goOn)
		synctest.Wait()
		if d.find("", "22222222-2222-4222-8222-222222222222") == nil {
			t.Error("the new draft is not there")
		}
	})
}

// A slowShelf is a database that takes its time.
type slowShelf struct{ goOn chan struct{} }

func (s *slowShelf) Read(context.Context, string) ([]byte, error) { <-s.goOn; return nil, nil }

func (s *slowShelf) Change(context.Context, string, func([]byte) ([]byte, error)) error {
	<-s.goOn
	return nil
}
