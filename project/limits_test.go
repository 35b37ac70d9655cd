package project_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// post sends a request to a server that is to accept it, and returns the session it names.
func post(t *testing.T, s *server.Server, path, body string) string {
	t.Helper()
	status, text := request(s, "POST", path, body)
	var about struct{ ID, Session string }
	if err := json.Unmarshal([]byte(text), &about); err != nil || status >= http.StatusBadRequest {
		t.Fatalf("%s: %d %s, %v", path, status, text, err)
	}
	return about.ID + about.Session
}

// change changes settings as the page does.
func change(t *testing.T, s *server.Server, values string) {
	t.Helper()
	if status, text := request(s, "PATCH", "/api/settings", `{"values":{`+values+`}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
}

// begunWith are the limits that a session's first run has begun with, which is stopped.
func begunWith(t *testing.T, p *project.Project, s *server.Server, session string) troupe.Limits {
	t.Helper()
	store, err := p.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer request(s, "POST", "/api/sessions/"+session+"/cancel", "")
	for e, err := range store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*troupe.RunStarted); ok {
			return b.Limits
		}
	}
	t.Fatal("nothing has begun")
	return troupe.Limits{}
}

// A limit that an operator changes on the page of a program's own server holds for what begins
// from then on, deliveries included, and so does that there is none any more.
func TestLimitsOfThePageHoldAtOnce(t *testing.T) {
	d := newDeliverer(t)
	s, err := d.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	delivered := func() troupe.Limits {
		t.Helper()
		return begunWith(t, d.Project, s, post(t, s, "/api/deliveries", `{"request":"Create a todo app"}`))
	}
	if l := delivered(); l.Cost > 0 || l.Time > 0 || l.Tokens > 0 || l.Turns != 500 {
		t.Errorf("before: %+v", l)
	}
	change(t, s, `"limits.cost":"0.5","limits.time":"90m","limits.tokens":"200000","limits.turns":"12"`)
	if l := delivered(); l.Cost != 0.5 || l.Time != 90*time.Minute || l.Tokens != 200000 || l.Turns != 12 {
		t.Errorf("after: %+v", l)
	}
	if _, text := request(s, "GET", "/api/deliveries/usual", ""); !strings.Contains(text, `"budget":0.5`) {
		t.Errorf("said to be usual: %s", text)
	}
	change(t, s, `"limits.cost":"","limits.time":"","limits.tokens":"","limits.turns":""`)
	if l := delivered(); l.Cost > 0 || l.Time > 0 || l.Tokens > 0 || l.Turns != 500 {
		t.Errorf("without: %+v", l)
	}
}

// Where a project is opened with limits, removing them on the page removes them for
// conversations, too, which then have the usual number of turns.
func TestLimitsThatAreRemovedOnThePageAreGone(t *testing.T) {
	p := open(t, write(t, "model: rehearsal\nlimits: {turns: 7, cost: 0.5}\nagents: {clerk: {instructions: You answer.}}\n"), project.Options{})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begin := func() troupe.Limits {
		t.Helper()
		session := post(t, s, "/api/sessions", `{"agent":"clerk"}`)
		if status, text := request(s, "POST", "/api/sessions/"+session+"/messages", `{"text":"Hello"}`); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
		return begunWith(t, p, s, session)
	}
	if l := begin(); l != (troupe.Limits{}) { // the engine has them
		t.Errorf("before: %+v", l)
	}
	change(t, s, `"limits.turns":"","limits.cost":""`)
	if l := begin(); l.Turns != 50 || l.Cost >= 0 {
		t.Errorf("after: %+v", l)
	}
}
