package main

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
)

// What lists show follows from the events: where it does not, doctor says so, and what to do,
// and that works.
func TestWhatDoesNotFollowFromTheEventsIsReportedAndMended(t *testing.T) {
	dir := write(t, "model: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n")
	shows(t, troupeIn(t, dir, "run", "clerk", "Ten laptops, please."), "")
	shows(t, troupeIn(t, dir, "doctor", "--verify"), "every event is as it was stored")
	db, err := sql.Open("sqlite", filepath.Join(dir, "data", "troupe.db"))
	if err == nil {
		_, err = db.Exec("UPDATE sessions SET status = 'failed', title = 'Nothing'")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	shows(t, troupeIn(t, dir, "doctor", "--verify"), `it is listed with the title "Nothing", and by its events it is "Ten laptops, please."`, "troupe store copy")
	shows(t, troupeIn(t, dir, "store", "copy", "sqlite:", "sqlite:new.db"), "1 session copied")
	config := "store: new.db\nmodel: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n"
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	shows(t, troupeIn(t, dir, "doctor", "--verify"), "every event is as it was stored")
	shows(t, troupeIn(t, dir, "sessions", "show", "last"), "status    completed", "title     Ten laptops, please.")
}
