package server

import (
	"net/http"
	"testing"

	"github.com/troupe-dev/troupe/explain"
)

func TestASessionIsExplained(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "hello")
	var s explain.Session
	w.want(http.StatusOK, &s, "GET", "/api/sessions/"+session+"/explain?turn=1", nil)
	if len(s.Turns) != 1 || len(s.Turns[0].Parts) == 0 || len(s.Ends) != 1 || s.Ends[0].Stop != "answered" {
		t.Errorf("%+v", s)
	}
	for query, want := range map[string]int{"?turn=9": http.StatusNotFound, "?turn=x": http.StatusBadRequest} {
		if status := w.status("GET", "/api/sessions/"+session+"/explain"+query, ""); status != want {
			t.Errorf("%s: %d", query, status)
		}
	}
}
