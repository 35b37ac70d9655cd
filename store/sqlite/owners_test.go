package sqlite

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

func TestAReaderOutlivesOwners(t *testing.T) {
	path := sound(t)
	r := readAt(t, path)
	readAll(t, r, id(1), 2)
	for round := range int64(3) {
		s := openAt(t, path)
		readAll(t, r, id(1), 2+2*round)
		mustAppend(t, s, eventsOf(id(1), 3+2*round, said("the first words"))...)
		readAll(t, r, id(1), 3+2*round)
		another := readAt(t, path)
		mustAppend(t, s, eventsOf(id(1), 4+2*round, said("the last words"))...)
		readAll(t, another, id(1), 4+2*round)
		mustClose(t, s)
		readAll(t, r, id(1), 4+2*round)
		readAll(t, another, id(1), 4+2*round)
	}
	// The file is another one.
	put(t, path, bytes.Repeat([]byte("garbage "), 5000))
	if _, err := Open(t.Context(), path, Options{}); err == nil {
		t.Fatal("garbage was opened")
	}
	s := openAt(t, path)
	mustAppend(t, s, eventsOf(id(2), 1, said("the new words"))...)
	if ids := sessionsOf(t, r); !slices.Equal(ids, []string{id(2)}) {
		t.Errorf("listed are %v", ids)
	}
}

func TestWhatIsReadWhileTheFileChangesIsReadAgain(t *testing.T) {
	path := sound(t)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	g := &guest{path: path}
	defer g.close()
	var titles []string
	err := g.read(t.Context(), func(db *sql.DB) error {
		if titles == nil {
			alter(t, path, "UPDATE sessions SET title = 'new'")
		}
		var title string
		err := db.QueryRow("SELECT title FROM sessions").Scan(&title)
		titles = append(titles, title)
		return err
	})
	if err != nil || len(titles) != 2 || titles[1] != "new" {
		t.Errorf("read %q, %v; want it read again", titles, err)
	}
}

func TestAReaderInTheWayDoesNotFailTheOwner(t *testing.T) {
	path := file(t)
	s := openAt(t, path)
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	r := readAt(t, path)
	err := r.file.read(t.Context(), func(db *sql.DB) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		var n int
		if err := tx.QueryRow("SELECT count(*) FROM events").Scan(&n); err != nil {
			return err
		}
		mustAppend(t, s, eventsOf(id(1), 2, said("hi"))...)
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := lengthOf(t, r, id(1)); n != 2 {
		t.Errorf("%d events are read", n)
	}
	s = openAt(t, path)
	if n := lengthOf(t, s, id(1)); n != 2 || readNote(s.claim.file).Suspect {
		t.Errorf("%d events are there, and the note is %+v", n, readNote(s.claim.file))
	}
}

// statuses lists sessions with their status.
func statuses(t *testing.T, s troupe.Store, match troupe.SessionFilter) string {
	t.Helper()
	var list []string
	for info, err := range s.Sessions(t.Context(), match) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimLeft(info.ID, "0-48")+" "+string(info.Status))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func TestASessionThatItsProcessLeftRunningIsInterrupted(t *testing.T) {
	path := file(t)
	expect := func(s troupe.Store, all, running, interrupted string) {
		t.Helper()
		for status, want := range map[string]string{
			"": all, "running": running, "interrupted": interrupted, "completed": "2 completed",
		} {
			if got := statuses(t, s, troupe.SessionFilter{Status: status}); got != want {
				t.Errorf("sessions that are %q: %s; want %s", status, got, want)
			}
		}
	}
	s := openAt(t, path)
	mustAppend(t, s, under(acquire(t, s, id(1)), eventsOf(id(1), 1, said("hi")))...)
	mustAppend(t, s, eventsOf(id(2), 1, said("hi"), &troupe.RunFinished{})...)
	mustAppend(t, s, under(acquire(t, s, id(3)), eventsOf(id(3), 1, said("hi")))...)
	all := "1 running, 2 completed, 3 running"
	r := readAt(t, path)
	expect(s, all, "1 running, 3 running", "")
	expect(r, all, "1 running, 3 running", "")
	mustClose(t, s)
	all = "1 interrupted, 2 completed, 3 interrupted"
	expect(r, all, "", "1 interrupted, 3 interrupted")
	s = openAt(t, path)
	expect(s, all, "", "1 interrupted, 3 interrupted")
	mustAppend(t, s, under(acquire(t, s, id(3)), eventsOf(id(3), 2, &troupe.RunResumed{}))...)
	mustAppend(t, s, under(acquire(t, s, id(5)), eventsOf(id(5), 1, said("hi")))...)
	all = "1 interrupted, 2 completed, 3 running, 5 running"
	expect(s, all, "3 running, 5 running", "1 interrupted")
	expect(r, all, "3 running, 5 running", "1 interrupted")
}

func TestWhoComesWhileTheStoreIsExaminedWaits(t *testing.T) {
	path := sound(t)
	synctest.Test(t, func(t *testing.T) {
		first, err := stakeClaim(t.Context(), path)
		if err != nil || !first.first {
			t.Fatal(first, err)
		}
		began := time.Now()
		_, err = stakeClaim(t.Context(), path)
		if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != os.Getpid() || time.Since(began) != lockPatience {
			t.Errorf("as long as somebody has the lock alone: %v after %v", err, time.Since(began))
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			c, err := stakeClaim(t.Context(), path)
			if err != nil || c.first {
				t.Error(c, err)
				return
			}
			if err := c.release(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if err := first.share(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if last, err := first.isLast(); err != nil || !last {
			t.Errorf("it is the last: %v, %v", last, err)
		}
		if err := first.release(); err != nil {
			t.Error(err)
		}
	})
}

func TestANumberIsNotGivenTwice(t *testing.T) {
	path := file(t)
	var last int64
	for n := range 3 {
		s := openAt(t, path)
		mustAppend(t, s, eventsOf(id(n), 1, said("hi"))...)
		for hit, err := range s.Search(t.Context(), Query{}) {
			if err != nil || hit.Number <= last {
				t.Errorf("number %d comes after %d, %v", hit.Number, last, err)
			}
			last = hit.Number
		}
		if err := s.Delete(t.Context(), id(n)); err != nil {
			t.Fatal(err)
		}
		do(t, s, "UPDATE indexed SET upto = 0") // as if there had been no time for it
		mustClose(t, s)
	}
}

func TestAReaderReadsBesideProcessesThatAreKilled(t *testing.T) {
	path := file(t)
	mustClose(t, openAt(t, path))
	r := readAt(t, path)
	var followed []int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for hit, err := range r.Follow(t.Context(), Query{After: 1}) {
			if err != nil {
				t.Error(err)
				return
			}
			if followed = append(followed, hit.Number); hit.Event.Session == id(99) {
				return
			}
		}
	})
	for range 3 {
		cmd, output := child(t, "TestWriteInAChild", path, nil)
		for lines, n := bufio.NewScanner(output), 0; lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "acknowledged") {
				continue
			}
			if n++; n%50 == 0 && n < 200 && statuses(t, r, troupe.SessionFilter{Status: "running"}) == "" {
				t.Error("no session is running")
			}
			if n == 200 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if got := statuses(t, r, troupe.SessionFilter{Status: "running"}); got != "" {
			t.Errorf("after the process was killed these are left: %s", got)
		}
	}
	s := openAt(t, path)
	mustAppend(t, s, eventsOf(id(99), 1, said("the end"))...)
	wg.Wait()
	var stored []int64
	for hit, err := range r.Search(t.Context(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hit.Number)
	}
	slices.Reverse(stored)
	if len(stored) < 600 || !slices.Equal(followed, stored) {
		t.Errorf("%d events were followed, of %d, or they are not the same", len(followed), len(stored))
	}
}

// A request is passed on, too, where the owner has seen by a write of its own that something
// has changed.
func TestARequestIsNotMissedBesideAWrite(t *testing.T) {
	path := file(t)
	s, other := openAt(t, path), openAt(t, path)
	lease, err := s.Acquire(t.Context(), id(1))
	if err != nil {
		t.Fatal(err)
	}
	want := troupe.SessionRequest{Question: "r#2", Said: &troupe.UserSaid{Text: "yes,\nthis one", Answer: &troupe.Answer{Approved: true}}}
	for range 5 {
		if err := other.leaveRequest(t.Context(), id(1), want); err != nil {
			t.Fatal(err)
		}
		if err := s.writer.write(t.Context(), 0, func(*writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
		select {
		case request := <-lease.Requests():
			if !reflect.DeepEqual(request, want) {
				t.Fatalf("asked for %+v", request)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the owner does not hear what it is asked for")
		}
	}
}
