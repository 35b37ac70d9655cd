package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestStoreKeepsItsPromises(t *testing.T) {
	troupetest.TestStore(t, func(tb testing.TB) troupe.Store { return openAt(tb, file(tb)) })
}

func TestStoreIsDurable(t *testing.T) {
	troupetest.TestDurableStore(t, func(tb testing.TB, dir string) (troupe.Store, func()) {
		s := openAt(tb, filepath.Join(dir, "troupe.db"))
		return s, func() { mustClose(tb, s) }
	})
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := file(t)
	s := openAt(t, path)
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
	for _, name := range filesIn(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	mustClose(t, s)
	if names := filesIn(t, dir); !slices.Equal(names, []string{"troupe.db", "troupe.db.lock"}) {
		t.Errorf("closing left %v", names)
	}
}

func TestPathsMayHaveOddNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "50% of #1? a&b=c é 雪", "tröupe db")
	s := openAt(t, path)
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	mustClose(t, s)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if n := lengthOf(t, openAt(t, path), id(1)); n != 1 {
		t.Errorf("%d events are there", n)
	}
}

// hold keeps the writer busy until release is called.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		s.writer.write(context.Background(), 0, func(*writer) error {
			close(held)
			<-free
			return nil
		})
	})
	<-held
	return func() { close(free); wg.Wait() }
}

func TestAppendsShareCommits(t *testing.T) {
	s := openAt(t, file(t))
	const writers, each = 64, 20
	var wg sync.WaitGroup
	release := hold(t, s)
	var begun sync.WaitGroup
	for n := range writers {
		begun.Add(1)
		wg.Go(func() {
			for seq := int64(1); seq <= each; seq++ {
				if seq == 1 {
					begun.Done()
				}
				if err := s.Append(t.Context(), id(n), eventsOf(id(n), seq, said("hi"))...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	begun.Wait()
	release()
	wg.Wait()
	for n := range writers {
		if got := lengthOf(t, s, id(n)); got != each {
			t.Errorf("session %d has %d events; want %d", n, got, each)
		}
	}
	stats := s.Stats()
	if stats.Appends != writers*each || stats.Events != writers*each || stats.Refused != 0 {
		t.Errorf("the counters say %+v", stats)
	}
	if stats.Commits >= stats.Appends || stats.LargestCommit < 2 {
		t.Errorf("appends do not share commits: %+v", stats)
	}
}

// together has the writer do jobs in one transaction.
func together(s *Store, jobs ...func(*writer) error) []error {
	var errs []error
	var batch []*job
	for _, do := range jobs {
		batch = append(batch, &job{do: do, events: 1})
	}
	s.writer.write(context.Background(), 0, func(w *writer) error {
		w.exec("COMMIT") // the transaction of this very job, which is over
		w.perform(batch)
		_, err := w.exec("BEGIN IMMEDIATE")
		return err
	})
	for _, j := range batch {
		errs = append(errs, j.err)
	}
	return errs
}

// appending is the job that Append gives the writer.
func appending(t *testing.T, events ...troupe.Event) func(*writer) error {
	t.Helper()
	rows, err := encode(events)
	if err != nil {
		t.Fatal(err)
	}
	return func(w *writer) error { return w.append(events[0].Session, events, rows) }
}

func TestAConflictFailsAlone(t *testing.T) {
	s := openAt(t, file(t))
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	errs := together(s,
		appending(t, eventsOf(id(2), 1, said("a"), said("b"))...),
		appending(t, eventsOf(id(1), 1, said("late"))...),
		appending(t, eventsOf(id(2), 3, said("c"))...),
		func(w *writer) error { return w.delete(id(9)) },
		appending(t, eventsOf(id(2), 3, said("late"))...),
		appending(t, eventsOf(id(3), 1, said("a"))...),
	)
	want := []error{nil, troupe.ErrConflict, nil, troupe.ErrNotFound, troupe.ErrConflict, nil}
	for i := range want {
		if !errors.Is(errs[i], want[i]) {
			t.Errorf("job %d: got %v, want %v", i, errs[i], want[i])
		}
	}
	if n := lengthOf(t, s, id(2)); n != 3 {
		t.Errorf("the session in whose transaction others conflicted has %d events; want 3", n)
	}
	if stats := s.Stats(); stats.Commits != 2 || stats.LargestCommit != 3 || stats.Refused != 3 {
		t.Errorf("the counters say %+v", stats)
	}
}

func TestAnErrorInATransactionFailsAlone(t *testing.T) {
	s := openAt(t, file(t))
	trouble := errors.New("trouble")
	half := appending(t, eventsOf(id(2), 1, said("a"))...)
	errs := together(s,
		appending(t, eventsOf(id(1), 1, said("a"))...),
		func(w *writer) error { return errors.Join(half(w), trouble) },
		appending(t, eventsOf(id(3), 1, said("a"))...),
		func(w *writer) error { return errors.Join(half(w), trouble) },
	)
	if errs[0] != nil || !errors.Is(errs[1], trouble) || errs[2] != nil || !errors.Is(errs[3], trouble) {
		t.Errorf("got %v", errs)
	}
	do(t, s) // commits nothing
	path := file(t)
	copyOpen(t, s, path)
	if ids := sessionsOf(t, openAt(t, path)); !slices.Equal(ids, []string{id(1), id(3)}) {
		t.Errorf("stored are %v", ids)
	}
}

func TestACancelledAppendIsNotWritten(t *testing.T) {
	s := openAt(t, file(t))
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Append(ctx, id(1), eventsOf(id(1), 1, said("hi"))...); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	cancel()
	wg.Wait()
	release()
	if n := lengthOf(t, s, id(1)); n != 0 {
		t.Errorf("%d events are there", n)
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := openAt(t, file(t))
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	mustClose(t, s)
	mustClose(t, s)
	if err := s.Append(t.Context(), id(1), eventsOf(id(1), 2, said("hi"))...); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if err := s.Delete(t.Context(), id(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("delete: %v", err)
	}
	for _, err := range s.Events(t.Context(), id(1), 0) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("events: %v", err)
		}
	}
	for _, err := range s.Sessions(t.Context(), troupe.SessionFilter{}) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("sessions: %v", err)
		}
	}
	for _, err := range s.Search(t.Context(), Query{Text: "hi"}) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("search: %v", err)
		}
	}
}

func TestCloseWaitsForWritesUnderWay(t *testing.T) {
	path := file(t)
	s := openAt(t, path)
	var stored atomic.Int64
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			for seq := int64(1); ; seq++ {
				if err := s.Append(t.Context(), id(n), eventsOf(id(n), seq, said("hi"))...); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
				if stored.Add(1) == 200 {
					wg.Go(func() { mustClose(t, s) })
				}
			}
		})
	}
	wg.Wait()
	s = openAt(t, path)
	var total int64
	for n := range 16 {
		total += lengthOf(t, s, id(n))
	}
	if total != stored.Load() {
		t.Errorf("%d events were acknowledged, %d are there", stored.Load(), total)
	}
}

func TestALongSessionIsReadInPages(t *testing.T) {
	s := openAt(t, file(t))
	var bodies []troupe.Body
	for i := range 3 * pageEvents {
		bodies = append(bodies, said(fmt.Sprint("number ", i)))
	}
	bodies = append(bodies, said(strings.Repeat("x", pageBytes)), said("after a large one"))
	mustAppend(t, s, eventsOf(id(1), 1, bodies...)...)
	if n := lengthOf(t, s, id(1)); n != int64(len(bodies)) {
		t.Errorf("read %d of %d events", n, len(bodies))
	}
	// More readers than connections, each of which asks for more while it reads.
	var wg sync.WaitGroup
	for range maxReaders + 2 {
		wg.Go(func() {
			for e, err := range s.Events(t.Context(), id(1), 0) {
				if err != nil {
					t.Error(err)
				}
				if e.Seq%pageEvents == 1 && len(sessionsOf(t, s)) != 1 {
					t.Error("the session is not listed")
				}
			}
		})
	}
	wg.Wait()
}

func TestAnIterationEndsWhereTheLogEndedWhenItBegan(t *testing.T) {
	s := openAt(t, file(t))
	const size = pageEvents + 2
	mustAppend(t, s, eventsOf(id(1), 1, slices.Repeat([]troupe.Body{said("hi")}, size)...)...)
	var last int64
	for e, err := range s.Events(t.Context(), id(1), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if last = e.Seq; last == 1 {
			mustAppend(t, s, eventsOf(id(1), size+1, slices.Repeat([]troupe.Body{said("hi")}, 2*pageEvents)...)...)
		}
	}
	if last != size {
		t.Errorf("it ended with event %d, half of what was appended at a time; want %d", last, size)
	}
}

func TestASessionDeletedWhileItIsReadIsNotFound(t *testing.T) {
	s := openAt(t, file(t))
	bodies := slices.Repeat([]troupe.Body{said("hi")}, 2*pageEvents)
	mustAppend(t, s, eventsOf(id(1), 1, bodies...)...)
	var last error
	for e, err := range s.Events(t.Context(), id(1), 0) {
		if last = err; err == nil && e.Seq == 1 {
			if err := s.Delete(t.Context(), id(1)); err != nil {
				t.Fatal(err)
			}
			mustAppend(t, s, eventsOf(id(1), 1, bodies...)...) // another under the same id
		}
	}
	if !errors.Is(last, troupe.ErrNotFound) {
		t.Errorf("reading ended with %v", last)
	}
}

func TestTimesOutsideOfAllRangesComeBack(t *testing.T) {
	s := openAt(t, file(t))
	for i, when := range []time.Time{{}, time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Unix(0, 1)} {
		events := eventsOf(id(i), 1, said("hi"))
		events[0].Time = when
		mustAppend(t, s, events...)
		for info, err := range s.Sessions(t.Context(), troupe.SessionFilter{Since: when, Limit: 1}) {
			if err != nil || i < 2 && !info.Updated.Equal(when) {
				t.Errorf("%v became %v, %v", when, info.Updated, err)
			}
		}
	}
	// Keys go on after the latest time of all.
	mustAppend(t, s, eventsOf(id(4), 1, said("a"), said("b"))...)
	if ids := sessionsOf(t, s); !slices.Equal(ids, []string{id(1), id(4), id(2), id(0)}) {
		t.Errorf("listed are %v", ids)
	}
}
