package server

import (
	"net/http"
	"sync"
	"testing"
)

// Another program chooses a model for a session that a server has: the server goes by it,
// and neither loses what the other has noted.
func TestAModelThatAnotherProgramChoosesIsTheSessions(t *testing.T) {
	dir := t.TempDir()
	words := make(chan string)
	w := open(t, clerk(t, gated(words)), func(c *Config) { c.Dir = dir })
	session := w.session()
	if chosen, err := ChosenModel(dir, nil, session); chosen != "" || err != nil {
		t.Fatalf("%q was chosen, %v", chosen, err)
	}
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "one"})
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "two", When: "after"})
	w.want(http.StatusOK, nil, "PATCH", "/api/sessions/"+session, object{"pinned": true})
	if err := ChooseModel(dir, nil, session, "another/model"); err != nil {
		t.Fatal(err)
	}
	var seen sessionView
	w.want(http.StatusOK, &seen, "GET", "/api/sessions/"+session, nil)
	if seen.Chosen != "another/model" || !seen.Pinned {
		t.Errorf("the server shows %q as chosen, pinned: %v", seen.Chosen, seen.Pinned)
	}
	var q queueView
	w.want(http.StatusOK, &q, "GET", "/api/sessions/"+session+"/queue", nil)
	if q.Held || len(q.Messages) != 1 {
		t.Errorf("the queue is %+v: it does not wait for anybody's word", q)
	}
	w.want(http.StatusOK, nil, "PATCH", "/api/sessions/"+session, object{"pinned": false})
	if chosen, err := ChosenModel(dir, nil, session); chosen != "another/model" || err != nil {
		t.Errorf("after a change by the server %q is chosen, %v", chosen, err)
	}
	var made forked
	w.want(http.StatusCreated, &made, "POST", "/api/sessions/"+session+"/fork", object{"after": 2})
	if chosen, err := ChosenModel(dir, nil, made.Session); chosen != "another/model" || err != nil {
		t.Errorf("for a fork %q is chosen, %v", chosen, err)
	}
	words <- "One."
	words <- "Two."
	w.eventually(func() bool { return w.info(session).Status == "completed" })
}

func TestProgramsThatNoteAtTheSameTimeLoseNothing(t *testing.T) {
	dir := t.TempDir()
	const each = 20
	var all sync.WaitGroup
	for range 4 {
		book, err := newNoteBook(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range each {
				if err := book.change("a", func(n *notes) { n.Next++ }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n, err := openNoteBook(dir, nil).of("a"); err != nil || n.Next != 4*each {
		t.Errorf("%d of %d changes are on record, %v", n.Next, 4*each, err)
	}
}
