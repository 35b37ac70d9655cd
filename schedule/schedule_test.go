package schedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestTimesAreInTheScheduleOwnZone(t *testing.T) {
	for _, test := range []struct{ cron, zone, from, until, want string }{
		{"30 7 * * 1-5", "", "2026-01-02T00:00:00Z", "2026-01-06T00:00:00Z", "02T07:30 05T07:30"},
		{"30 7 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z", "28T06:30 29T05:30"},
		{"@every 90m", "", "2026-01-02T00:00:00Z", "2026-01-02T03:10:00Z", "02T01:30 02T03:00"},
		{"@every 90m", "", "2025-12-31T20:00:00Z", "2026-01-01T01:30:00Z", "31T21:00 31T22:30 01T00:00 01T01:30"}, // before it was added
	} {
		s := Schedule{Cron: test.cron, Zone: test.zone, Created: at("2026-01-01T00:00:00Z")}
		times, err := s.Times(at(test.from), at(test.until))
		var got []string
		for _, due := range times {
			got = append(got, due.Format("02T15:04"))
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s %s: %v, %v; want %s", test.cron, test.zone, got, err, test.want)
		}
	}
}

func TestWhatCannotBeCarriedOutIsRefused(t *testing.T) {
	good := Schedule{Name: "news", Cron: "0 7 * * *", Step: "mira", Text: "What is new?"}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Schedule){
		"five fields":         func(s *Schedule) { s.Cron = "soon" },
		"there is no such":    func(s *Schedule) { s.Cron = "0 0 30 2 *" },
		"Europe/Berlin":       func(s *Schedule) { s.Zone = "Berlin" },
		"small letters":       func(s *Schedule) { s.Name = "../news" },
		"the task is empty":   func(s *Schedule) { s.Text = "" },
		"no agent or flow":    func(s *Schedule) { s.Step = "" },
		"one of [skip buffer": func(s *Schedule) { s.Overlap = "maybe" },
	} {
		s := good
		if change(&s); s.Check() == nil || !strings.Contains(s.Check().Error(), want) {
			t.Errorf("%v, want %s", s.Check(), want)
		}
	}
}

// runs are sessions that tests start, by how long they take.
type runs struct {
	mu        sync.Mutex
	takes     time.Duration
	started   []string
	until     map[string]time.Time
	cancelled int
	fails     error
}

func (r *runs) clock(book Book) *Clock {
	return &Clock{
		Book: book,
		Start: func(_ context.Context, s Schedule, session string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.fails != nil || slices.Contains(r.started, session) {
				return r.fails
			}
			r.started = append(r.started, session)
			r.until[session] = time.Now().Add(r.takes)
			return nil
		},
		IsUnderWay: func(_ context.Context, session string) (bool, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return time.Now().Before(r.until[session]), nil
		},
		Cancel: func(_ context.Context, session string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.cancelled++
			r.until[session] = time.Now()
			return nil
		},
	}
}

// carry has clocks carry out a book for a while.
func carry(t *testing.T, r *runs, book Book, clocks int, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	for range clocks {
		all.Go(func() { r.clock(book).Run(ctx) })
	}
	all.Wait()
}

func TestATimeIsCarriedOutOnceByManyServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, r := Book{Folder(t.TempDir())}, &runs{takes: time.Second, until: map[string]time.Time{}}
		if _, err := book.Add(t.Context(), Schedule{Name: "often", Cron: "* * * * *", Step: "mira", Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		carry(t, r, book, 3, 10*time.Minute+time.Second)
		if len(r.started) != 10 {
			t.Errorf("%d runs in ten minutes", len(r.started))
		}
	})
}

func TestWhatBecomesOfATimeAtWhichTheRunBeforeIsUnderWay(t *testing.T) {
	for overlap, want := range map[Overlap]struct{ started, skipped, cancelled int }{
		Skip: {4, 6, 0}, Buffer: {4, 0, 0}, Allow: {10, 0, 0}, Cancel: {10, 0, 9},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				book, r := Book{Folder(t.TempDir())}, &runs{takes: 150 * time.Second, until: map[string]time.Time{}}
				if _, err := book.Add(t.Context(), Schedule{Name: "often", Cron: "* * * * *", Step: "mira", Text: "hi", Overlap: overlap}); err != nil {
					t.Fatal(err)
				}
				carry(t, r, book, 1, 10*time.Minute+time.Second)
				s, err := book.Find(t.Context(), "often")
				if err != nil || len(r.started) != want.started || s.Skipped != want.skipped || r.cancelled != want.cancelled {
					t.Errorf("%d started, %d skipped, %d cancelled, %v; want %+v", len(r.started), s.Skipped, r.cancelled, err, want)
				}
			})
		})
	}
}

func TestTimesThatPassedAreMadeUpForWhereThatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, r := Book{Folder(t.TempDir())}, &runs{until: map[string]time.Time{}}
		for name, catchUp := range map[string]time.Duration{"forgets": 0, "remembers": 5 * time.Minute} {
			if _, err := book.Add(t.Context(), Schedule{Name: name, Cron: "* * * * *", Step: "mira", Text: "hi", CatchUp: catchUp}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour + 30*time.Second) // no server is there
		carry(t, r, book, 1, time.Second)
		if len(r.started) != 5 {
			t.Errorf("%d runs were made up for", len(r.started))
		}
		carry(t, r, book, 1, time.Second)
		if len(r.started) != 5 {
			t.Errorf("%d runs after another start", len(r.started))
		}
		n, err := book.Backfill(t.Context(), "forgets", time.Now().Add(-10*time.Minute), time.Now())
		if n != 10 || err != nil {
			t.Errorf("%d times, %v", n, err)
		}
		carry(t, r, book, 1, time.Second)
		if len(r.started) != 15 {
			t.Errorf("%d runs after the backfill", len(r.started))
		}
	})
}

func TestASchedulesProblemIsOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, r := Book{Folder(t.TempDir())}, &runs{until: map[string]time.Time{}, fails: errors.New("there is no agent named mira")}
		s := Schedule{Name: "often", Cron: "* * * * *", Step: "mira", Text: "hi"}
		if added, err := book.Add(t.Context(), s); err != nil || !added.Created.Equal(time.Now()) {
			t.Fatalf("added at %v, %v", added.Created, err)
		}
		if _, err := book.Add(t.Context(), s); !errors.Is(err, ErrTaken) {
			t.Errorf("added twice: %v", err)
		}
		carry(t, r, book, 1, 2*time.Minute+time.Second)
		if s, err := book.Find(t.Context(), "often"); err != nil || s.Problem != r.fails.Error() {
			t.Errorf("%+v, %v", s, err)
		}
		if err := book.Remove(t.Context(), "often"); err != nil {
			t.Error(err)
		}
		if err := book.Remove(t.Context(), "often"); !errors.Is(err, ErrNone) {
			t.Errorf("removed twice: %v", err)
		}
	})
}
