package server

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// again serves a world's parts as another process would that has taken over from one that is gone.
func (w *world) again() {
	w.t.Helper()
	w.stop()
	w.renew()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.serve(listener, &http.Transport{})
}

// A page keeps its list when the server is restarted. A conversation in it that is deleted then is
// told to be gone, though the new server has told nobody of it.
func TestWhatIsDeletedAfterARestartIsToldToBeGone(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers)
	session, bobs := w.session(), w.session(as(tokenOfBob))
	w.talk(session, "hello")
	w.talk(bobs, "hello", as(tokenOfBob))
	w.again()
	ann, bob := w.changes(), w.changes(as(tokenOfBob))
	w.want(http.StatusNoContent, nil, "POST", "/api/sessions/"+bobs+"/seen", nil, as(tokenOfBob))
	<-bob // it listens, and so does the other, which began before
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	if c := <-ann; c.Gone != session {
		t.Errorf("ann is told %+v", c)
	}
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+bobs, nil, as(tokenOfBob))
	if c := <-bob; c.Gone != bobs {
		t.Errorf("bob is told %+v", c)
	}
}

// pastSessions is the next change that tells of something else than of how a session stands.
func pastSessions(stream <-chan change) (c change) {
	for c = range stream {
		if c.Session == nil {
			break
		}
	}
	return c
}

// A stream that began before the configuration was changed hears of what is deleted after it.
func TestWhatIsDeletedAfterAHandOverIsToldToBeGone(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "hello")
	w.again()
	stream := w.changes()
	next, err := New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.server.HandOver(next)
	// That the conversation is there may be told once more, wherever a slow machine has got to.
	if c := pastSessions(stream); !c.Reconfigured {
		t.Errorf("it is told %+v", c)
	}
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	if c := pastSessions(stream); c.Gone != session {
		t.Errorf("it is told %+v", c)
	}
	late := w.changes()
	if c := <-late; c.Gone != session {
		t.Errorf("who comes later is told %+v", c)
	}
	w.want(http.StatusOK, nil, "GET", "/api/me", nil)
}

// A page has one connection for the conversation that it shows and for its lists: a browser has
// six for all its tabs. What a reader was remembered for is forgotten when it leaves.
func TestOneStreamTellsOfASessionAndOfAllOthers(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)), withUsers)
	shown, other := w.session(), w.session()
	w.say(shown, "hello")
	f := w.stream("GET", "/api/sessions/"+shown+"/events?all=1", nil)
	w.say(other, "hello")
	go func() {
		words <- "done"
		words <- "done"
	}()
	last, isOther, isWhole := int64(0), false, false
	for !isOther || !isWhole {
		data := f.next()
		var told change
		var e troupe.Event
		if json.Unmarshal([]byte(data), &told) == nil && told.Session != nil {
			isOther = isOther || told.Session.ID == other && told.Session.Status == "completed"
			continue
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Session != shown {
			t.Fatalf("%s: %v", data, err)
		}
		if e.Seq > 0 && e.Seq != last+1 {
			t.Errorf("event %d comes after %d", e.Seq, last)
		}
		last = max(last, e.Seq)
		isWhole = isWhole || ends(&e)
	}
	f.leave()
	for begun := time.Now(); len(w.server.hub.all()) > 0 || w.server.readers.size() > 0; {
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d listen and %d read after all have left", len(w.server.hub.all()), w.server.readers.size())
		}
		w.want(http.StatusOK, nil, "GET", "/api/me", nil)
	}
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+shown+"/events?all=1", nil, as(tokenOfBob))
}
