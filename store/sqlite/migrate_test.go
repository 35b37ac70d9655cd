package sqlite

import (
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// A file of the first schema is taken to the latest with all that is in it.
func TestAnOlderFileIsTakenToTheLatestSchema(t *testing.T) {
	path := sound(t)
	s := openAt(t, path)
	paid := func(cost float64) troupe.Body {
		return &troupe.ModelReplied{Message: &troupe.Message{Role: troupe.RoleAssistant, Text: "\x00"}, Cost: cost}
	}
	mustAppend(t, s, eventsOf(id(50), 1, paid(0.25), paid(0.5), said("free"))...)
	mustAppend(t, s, eventsOf(id(51), 1, paid(4), &troupe.SessionForked{From: id(50), After: 1}, paid(1.5e-7))...)
	var before []troupe.SessionInfo
	for info, err := range s.Sessions(t.Context(), troupe.SessionFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, info)
	}
	if err := s.Close(); err != nil || len(before) == 0 {
		t.Fatal(before, err)
	}
	// As the first schema had it.
	alter(t, path, "DROP INDEX events_forked; DROP INDEX sessions_of_user; DROP INDEX sessions_of_status; ALTER TABLE sessions DROP COLUMN user; ALTER TABLE sessions DROP COLUMN chain;"+
		"ALTER TABLE events DROP COLUMN sum; ALTER TABLE indexed DROP COLUMN given; DROP TABLE leases; DROP TABLE requests; DROP TABLE live; DROP TABLE spent; PRAGMA user_version = 1")
	s = openAt(t, path)
	n := 0
	for info, err := range s.Sessions(t.Context(), troupe.SessionFilter{}) {
		if err != nil || info != before[n] {
			t.Errorf("got %+v, %v; want %+v", info, err, before[n])
		}
		n++
	}
	if n != len(before) {
		t.Errorf("%d sessions are left of %d", n, len(before))
	}
	for got, err := range s.Costs(t.Context(), time.Time{}) {
		if want := (troupe.DayCost{Day: "2024-02-29", Agent: "alex", Cost: 0.75 + 1.5e-7}); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	info := before[0]
	mustAppend(t, s, troupe.Event{Seq: info.Events + 1, Session: info.ID, Time: info.Updated, Run: "r", Step: "0", Body: &troupe.SessionRenamed{Title: "new"}})
	for got, err := range s.Sessions(t.Context(), troupe.SessionFilter{ID: info.ID}) {
		if err != nil || got.Title != "new" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
