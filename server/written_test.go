package server

import (
	"net/http"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Whoever deletes a session deletes what they have seen of it: what somebody has written in it
// since, in whatever way, keeps it, and the run that answers goes on.
func TestWhatWasWrittenMeanwhileIsNotDeleted(t *testing.T) {
	for name, write := range map[string]func(w *world, path, session string, words chan<- string){
		"said": func(w *world, path, session string, words chan<- string) {
			w.say(session, "two")
			words <- "yes"
			w.eventually(func() bool { return w.info(session).Status == "completed" })
		},
		"being answered": func(w *world, _, session string, _ chan<- string) { w.say(session, "two") },
		"queued and said": func(w *world, path, session string, words chan<- string) {
			w.say(session, "two")
			w.want(http.StatusAccepted, nil, "POST", path+"/messages", message{Text: "three", When: "after"})
			words <- "yes"
			words <- "yes"
			w.eventually(func() bool { return w.info(session).Status == "completed" && w.info(session).Queued == 0 })
		},
		"renamed": func(w *world, path, _ string, _ chan<- string) {
			w.want(http.StatusOK, nil, "PATCH", path, object{"title": "Another"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			words := make(chan string)
			w := open(t, clerk(t, gated(words)))
			session := w.session()
			path := "/api/sessions/" + session
			w.say(session, "one")
			words <- "yes"
			w.eventually(func() bool { return w.info(session).Status == "completed" })
			seen := w.info(session).Written
			write(w, path, session, words)
			var p problem
			w.want(http.StatusConflict, &p, "DELETE", path+"?stop=1&written="+seen, nil)
			if p.Code != "written" {
				t.Errorf("%+v", p)
			}
			if name == "being answered" {
				words <- "yes"
				w.eventually(func() bool { return w.info(session).Status == "completed" })
			}
			w.want(http.StatusNoContent, nil, "DELETE", path+"?stop=1&written="+w.info(session).Written, nil)
			w.want(http.StatusNotFound, nil, "GET", path, nil)
		})
	}
}

// What a run does by itself is nothing that somebody has written, nor is the message of a queue
// that is said in its turn; what is changed in the queue is.
func TestARunThatGoesOnKeepsTheMarkOfItsSession(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	path := "/api/sessions/" + session
	w.say(session, "one")
	for _, text := range []string{"two", "three"} {
		w.want(http.StatusAccepted, nil, "POST", path+"/messages", message{Text: text, When: "after"})
	}
	seen := w.info(session).Written
	w.want(http.StatusOK, nil, "PATCH", path+"/queue/2", object{"text": "three and a half"})
	changed := w.info(session).Written
	words <- "yes"
	w.eventually(func() bool { return w.info(session).Queued == 1 })
	if now := w.info(session).Written; now != changed || now == seen {
		t.Errorf("the mark was %s, %s after the queue was changed and %s while the next message was answered", seen, changed, now)
	}
	w.want(http.StatusConflict, nil, "DELETE", path+"?stop=1&written="+seen, nil)
	w.want(http.StatusNoContent, nil, "DELETE", path+"?stop=1&written="+changed, nil)
}

// A call that is allowed in the whole conversation is answered by nobody.
func TestWhatIsAllowedAnywayIsNotWritten(t *testing.T) {
	var s summary
	for _, c := range []struct {
		said *troupe.UserSaid
		want int
	}{{&troupe.UserSaid{Text: "Hello."}, 1}, {&troupe.UserSaid{Answer: &troupe.Answer{}, Hidden: true}, 1}, {&troupe.UserSaid{Answer: &troupe.Answer{}}, 2}, {&troupe.UserSaid{Text: "Go on.", Hidden: true}, 3}} {
		if s.note(&troupe.Event{Body: c.said}); s.written != c.want {
			t.Errorf("after %+v it is %d, want %d", c.said, s.written, c.want)
		}
	}
}
