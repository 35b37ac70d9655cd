package server

import (
	"testing"

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
