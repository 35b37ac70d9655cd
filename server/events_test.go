package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestAMessageIsAnsweredAndEveryEventHasItsNumber(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	run := w.say(session, "hello")
	follower := w.follow(session, 0)
	events := follower.until(ends)
	if got, want := stored(events), "run_started user_said context_loaded model_replied run_finished"; got != want {
		t.Errorf("events are %s, not %s", got, want)
	}
	for _, e := range events {
		if e.Run != run || e.Session != session {
			t.Errorf("event %d is of run %s in session %s", e.Seq, e.Run, e.Session)
		}
	}
	if follower.last != "5" {
		t.Errorf("the last id is %s", follower.last)
	}
}

func TestADeltaHasNoIdOfItsOwn(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.say(session, "hello")
	f := w.follow(session, 0)
	for {
		if e := f.event(); e.Seq == 0 {
			break
		} else if f.last != strconv.FormatInt(e.Seq, 10) {
			t.Errorf("event %d has the id %s", e.Seq, f.last)
		}
	}
	if f.last != "3" {
		t.Errorf("after a delta, a reader would come back with %q", f.last)
	}
	words <- "yes"
	f.until(ends)
}

// readInPieces reads a session through connections that are cut after so many events, as
// the function says, and returns the numbers of what was stored in the order it came.
func (w *world) readInPieces(session string, pieces func() int) (seen []int64, text string) {
	last := ""
	for {
		f := w.stream("GET", "/api/sessions/"+session+"/events", nil, with("Last-Event-ID", last))
		for range pieces() {
			e := f.event()
			if e.Seq > 0 {
				last = f.last
				seen = append(seen, e.Seq)
			}
			if replied, ok := e.Body.(*troupe.ModelReplied); ok {
				text += replied.Message.Text
			}
			if ends(&e) {
				f.leave()
				return seen, text
			}
		}
		f.leave()
	}
}

func wantAll(t interface{ Errorf(string, ...any) }, seen []int64, total int) {
	for i, seq := range seen {
		if seq != int64(i+1) {
			t.Errorf("event %d came as number %d: %v", seq, i+1, seen)
			return
		}
	}
	if len(seen) != total {
		t.Errorf("%d events came, not %d: %v", len(seen), total, seen)
	}
}

func TestAReaderThatIsCutOffAtAnyEventMissesNothingAndGetsNothingTwice(t *testing.T) {
	add := troupe.NewTool("add", "Adds.", func(context.Context, struct{}) (string, error) { return "5", nil })
	w := open(t, clerk(t, troupetest.NewScript(t, troupetest.Say("I ", "add").Call("add", "{}"), troupetest.Say("It ", "is ", "5.")), add))
	session := w.session()
	events := w.talk(session, "2+3?")
	total := len(strings.Fields(stored(events)))
	for n := 1; n <= len(events); n++ {
		first := true
		seen, text := w.readInPieces(session, func() int {
			if first {
				first = false
				return n
			}
			return len(events) + 1
		})
		wantAll(t, seen, total)
		if text != "I addIt is 5." {
			t.Errorf("cut after %d: the text is %q", n, text)
		}
	}
}

func TestAReaderOfALiveRunThatComesAndGoesMissesNothing(t *testing.T) {
	var words chan string // of the run that is under way
	w := open(t, clerk(t, modelFunc(func(_ context.Context, _ *troupe.Request, say func(string)) error {
		for word := range words {
			say(word)
		}
		return nil
	})))
	rapid.Check(t, func(r *rapid.T) {
		pieces := rapid.SliceOfN(rapid.StringMatching("[a-z]{1,5} "), 1, 12).Draw(r, "pieces")
		cuts := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 12).Draw(r, "cuts")
		words = make(chan string)
		session := w.session()
		w.say(session, "hello")
		var saying sync.WaitGroup
		saying.Go(func() {
			for _, piece := range pieces {
				words <- piece
			}
			close(words)
		})
		next := 0
		seen, text := w.readInPieces(session, func() int {
			next++
			return cuts[next%len(cuts)]
		})
		saying.Wait()
		wantAll(r, seen, 5)
		if want := strings.Join(pieces, ""); text != want {
			r.Errorf("the text is %q, not %q", text, want)
		}
	})
}

func TestARunGoesOnWhenItsReaderLeaves(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.say(session, "hello")
	w.follow(session, 0).until(isKind("text_delta"))
	words <- "yes"
	events := w.follow(session, 0).until(ends)
	if end, ok := events[len(events)-1].Body.(*troupe.RunFinished); !ok || end.Output.Summary != "Well: yes" {
		t.Errorf("the run ended with %#v", events[len(events)-1].Body)
	}
}

func TestASessionCanBeFollowedBeforeItsFirstMessage(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	f := w.follow(session, 0)
	w.say(session, "hello")
	if got := stored(f.until(ends)); !strings.HasPrefix(got, "run_started user_said") {
		t.Errorf("events are %s", got)
	}
}

func TestAReaderOfASessionThatIsDeletedBeforeItBeginsIsLetGo(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	f := w.follow(session, 0)
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	if _, err := f.reader.Next(); err == nil {
		t.Error("the stream goes on")
	}
}

func TestAStreamShowsThatItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := openInMemory(t, clerk(t, echo()))
		conn, _ := p.dial(t.Context(), "", "")
		session := w.session()
		began := time.Now()
		conn.Write([]byte("GET /api/sessions/" + session + "/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + w.token + "\r\n\r\n"))
		var got strings.Builder
		for beats := 0; beats < 3; {
			b := make([]byte, 1024)
			n, err := conn.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(b[:n])
			beats = strings.Count(got.String(), "\n: \n\n") + strings.Count(got.String(), "\n: \n\r")
		}
		if took := time.Since(began); took != 2*heartbeat {
			t.Errorf("three signs of life took %v", took)
		}
		conn.Close()
	})
}

func TestAReaderThatTakesNothingInIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := openInMemory(t, clerk(t, echo()))
		session := w.session()
		w.talk(session, "hello")
		conn, _ := p.dial(t.Context(), "", "")
		defer conn.Close()
		conn.Write([]byte("GET /api/sessions/" + session + "/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + w.token + "\r\n\r\n"))
		synctest.Wait()
		if n := w.server.readers.size(); n != 1 {
			t.Fatalf("there are %d readers", n)
		}
		time.Sleep(stalled + time.Second)
		synctest.Wait()
		if n := w.server.readers.size(); n != 0 {
			t.Errorf("there are %d readers", n)
		}
	})
}

func TestStacksAreNotShown(t *testing.T) {
	boom := troupe.NewTool("boom", "Panics.", func(context.Context, struct{}) (string, error) { panic("boom") })
	w := open(t, clerk(t, troupetest.NewScript(t, troupetest.Call("boom", "{}"), troupetest.Say("Sorry.")), boom))
	session := w.session()
	for _, e := range w.talk(session, "go") {
		if returned, ok := e.Body.(*troupe.ToolReturned); ok && (returned.Stack != "" || returned.Class != "panicked") {
			t.Errorf("the client is told %+v", returned)
		}
	}
	for e := range w.store.Events(t.Context(), session, 0) {
		if returned, ok := e.Body.(*troupe.ToolReturned); ok && returned.Stack == "" {
			t.Error("the record has lost the stack")
		}
	}
}
