package sqlite

import (
	"fmt"
	"testing"
)

func faults(t *testing.T, r *Reader) (found []string) {
	t.Helper()
	for fault, err := range r.Verify(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s %d: %s", fault.Session, fault.Seq, fault.Problem))
	}
	return found
}

func TestAChangedOrMissingEventIsNoticed(t *testing.T) {
	of := func(table, where string) string {
		return fmt.Sprintf(where, "SELECT key FROM events WHERE session = 2 AND seq = "+table)
	}
	for change, want := range map[string]string{
		"UPDATE sessions SET title = 'another' WHERE number = 2":                                                                          `0: it is listed with the title "another", and by its events it is "number 1"`,
		"UPDATE sessions SET status = 'failed' WHERE number = 2":                                                                          `0: it is listed with the status "failed", and by its events it is "running"`,
		"UPDATE sessions SET user = 'bob' WHERE number = 2":                                                                               `0: it is listed with the user "bob", and by its events it is ""`,
		"UPDATE sessions SET updated = started WHERE number = 2":                                                                          "0: it is listed with another time of its last event than that says",
		"DELETE FROM sessions WHERE number = 2":                                                                                           "0: its events are there, and it is in no list: its own row was deleted",
		of("3", "UPDATE events SET kind = 'noted' WHERE key = (%s)"):                                                                      `3: the store has it with the kind "noted", and the event itself has "user_said"`,
		of("3", "UPDATE events SET time = 1 WHERE key = (%s)"):                                                                            "3: the store has it at another time than it says itself",
		of("3", "UPDATE events SET class = 'failed' WHERE key = (%s)"):                                                                    `3: the store has it with the class "failed", and the event itself has ""`,
		of("2", "UPDATE contents SET event = replace(event, 'number 2', 'number 9') WHERE key = (%s)"):                                    "2: it was changed, or one before it was",
		of("2", "DELETE FROM contents WHERE key = (%s)"):                                                                                  "2: its content is missing",
		of("3", "DELETE FROM events WHERE key = (%s)"):                                                                                    "3: it is missing",
		of("4", "DELETE FROM events WHERE key = (%s)"):                                                                                    "4: it is missing",
		of("2", "UPDATE events SET sum = NULL WHERE key = (%s)"):                                                                          "2: its checksum is missing",
		"DELETE FROM events WHERE session = 2 AND seq = 4; UPDATE sessions SET events = 3 WHERE number = 2":                               "3: it is not the one that was stored last",
		"UPDATE events SET seq = -seq WHERE session = 2 AND seq IN (2, 3); UPDATE events SET seq = 5 + seq WHERE session = 2 AND seq < 0": "2: it was changed, or one before it was",
	} {
		path := file(t)
		s := openAt(t, path)
		for n := 1; n <= 3; n++ {
			mustAppend(t, s, eventsOf(id(n), 1, said("number 1"), said("number 2"))...)
			mustAppend(t, s, eventsOf(id(n), 3, said("number 3"))...)
			mustAppend(t, s, eventsOf(id(n), 4, said("number 4"))...)
		}
		if got := faults(t, s.Reader); len(got) != 0 {
			t.Errorf("of what is sound is said: %v", got)
		}
		mustClose(t, s)
		alter(t, path, change)
		got := faults(t, readAt(t, path))
		if len(got) != 1 || got[0] != id(2)+" "+want {
			t.Errorf("%s: found %v; want %s", change, got, want)
		}
	}
}
