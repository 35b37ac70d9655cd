package server

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// While a request that was sent again reads along, another begins a run in the session:
// that goes on when its request ends.
func TestWhoReadsAlongDoesNotStandInForWhoHasBegun(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	event := func(at time.Time, body troupe.Body) troupe.Event {
		return troupe.Event{Session: session, Run: "r", Step: "0", Time: at, Body: body}
	}
	reads := &running{events: make(chan happening), asked: time.Now()}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		w.server.watch(t.Context(), reads, newWatched(), func(yield func(troupe.Event, error) bool) {
			yield(event(reads.asked.Add(-time.Minute), &troupe.RunStarted{}), nil)
			<-over
		})
	}()
	<-reads.events

	request, leave := context.WithCancel(t.Context())
	begins := &running{events: make(chan happening), asked: time.Now()}
	goesOn := make(chan bool, 1)
	go w.server.watch(request, begins, newWatched(), func(yield func(troupe.Event, error) bool) {
		yield(event(time.Now(), &troupe.RunStarted{}), nil)
		goesOn <- yield(event(time.Now(), &troupe.RunFinished{Stop: "answered"}), nil)
	})
	<-begins.events
	leave()
	if !<-goesOn {
		t.Error("the run was cancelled with the request that began it")
	}
	close(over)
	<-done
}

// A run that ended on record and is taken up again has not ended: whoever says something meanwhile is told
// so, and does not wait until it has.
func TestARunThatIsTakenUpAgainIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, clerk(t, echo()))
		step, err := w.server.step(t.Context(), "clerk")
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := troupe.Collect(w.config.Engine.Run(t.Context(), step, troupe.Input{Text: "hello"}))
		if err != nil {
			t.Fatal(err)
		}
		w.server.active.Store(outcome.Session, &watched{over: make(chan struct{})})
		err = inBackground("", func(c *call) error {
			_, err := w.server.begun(c, outcome.Session, func(context.Context) iter.Seq2[troupe.Event, error] {
				return func(yield func(troupe.Event, error) bool) { yield(troupe.Event{}, troupe.ErrBusy) }
			})
			return err
		})
		if !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("it is answered with %v", err)
		}
	})
}

// A run that has ended on record keeps its session for a moment more: what must wait for that does.
func TestWhoeverComesAtTheEndOfARunWaits(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "hello")
	tries := 0
	err := inBackground("", func(c *call) error {
		return w.server.whenFree(c, session, func() error {
			if tries++; tries == 1 {
				return troupe.ErrBusy
			}
			return nil
		})
	})
	if err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// Whoever follows a session that is deleted hears that there is no more of it, and that is no error.
func TestDeletingASessionThatSomebodyFollowsIsNoError(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "hello")
	stream := w.send(t.Context(), "GET", "/api/sessions/"+session+"/events", nil)
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	if _, err := io.Copy(io.Discard, stream.Body); err != nil { // it ends
		t.Log(err)
	}
	if text := w.log.String(); strings.Contains(text, "level=ERROR") {
		t.Error(text)
	}
}

// Who cannot have a session is told which process has it.
func TestWhoHasASessionIsTold(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	lease, err := w.store.Acquire(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(t.Context())
	var told problem
	w.want(http.StatusConflict, &told, "POST", "/api/sessions/"+session+"/messages", map[string]string{"text": "hello"})
	if told.Code != "busy" || !strings.Contains(told.Details, "has had it since") {
		t.Errorf("told %+v", told)
	}
}
