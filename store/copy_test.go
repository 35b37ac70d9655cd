package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// say adds texts to a session, after so many events.
func say(t *testing.T, s troupe.Store, after int64, texts ...string) {
	t.Helper()
	var events []troupe.Event
	for i, text := range texts {
		seq := after + int64(i) + 1
		events = append(events, troupe.Event{
			Seq: seq, Time: time.Unix(seq, 0).UTC(), Session: "s", Run: "r", Step: fmt.Sprint(seq), Agent: "alex", Body: &troupe.UserSaid{Text: text},
		})
	}
	if err := s.Append(t.Context(), "s", events...); err != nil {
		t.Fatal(err)
	}
}

func TestACopyGoesOnAndNeverMixesSessions(t *testing.T) {
	from, to := troupe.NewMemoryStore(), troupe.NewMemoryStore()
	added := func() (n int64, err error) {
		err = store.Copy(t.Context(), from, to, func(c store.Copied) { n += c.Added })
		return n, err
	}
	say(t, from, 0, "one", "two", "three")
	for _, want := range []int64{3, 0} {
		if n, err := added(); n != want || err != nil {
			t.Errorf("%d events were added, %v; want %d", n, err, want)
		}
	}
	say(t, from, 3, "four")
	if n, err := added(); n != 1 || err != nil {
		t.Errorf("%d events were added, %v", n, err)
	}
	say(t, to, 4, "somebody goes on there")
	if n, err := added(); n != 0 || err != nil {
		t.Errorf("%d events were added to a log that is ahead, %v", n, err)
	}
	say(t, from, 4, "somebody goes on here")
	if n, err := added(); n != 0 || !errors.Is(err, troupe.ErrConflict) {
		t.Errorf("%d events were added to another log, %v", n, err)
	}
}
