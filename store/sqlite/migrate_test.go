package sqlite

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// A file of the first schema is taken to the latest with all that is in it.
func TestAnOlderFileIsTakenToTheLatestSchema(t *testing.T) {
	path := sound(t)
	s := openAt(t, path)
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
	alter(t, path, "DROP INDEX sessions_of_user; DROP INDEX sessions_of_status; ALTER TABLE sessions DROP COLUMN user; ALTER TABLE sessions DROP COLUMN chain;"+
		"ALTER TABLE events DROP COLUMN sum; ALTER TABLE indexed DROP COLUMN given; DROP TABLE leases; DROP TABLE requests; DROP TABLE live; PRAGMA user_version = 1")
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
	info := before[0]
	mustAppend(t, s, troupe.Event{Seq: info.Events + 1, Session: info.ID, Time: info.Updated, Run: "r", Step: "0", Body: &troupe.SessionRenamed{Title: "new"}})
	for got, err := range s.Sessions(t.Context(), troupe.SessionFilter{ID: info.ID}) {
		if err != nil || got.Title != "new" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
