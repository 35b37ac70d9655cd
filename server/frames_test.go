package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sse"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestOneEventIsEncodedOnceHoweverManyReadIt(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.say(session, "hello")
	var wg sync.WaitGroup
	for range 30 {
		f := w.follow(session, 0)
		wg.Go(func() {
			if got := stored(f.until(ends)); got != "run_started user_said context_loaded model_replied run_finished" {
				t.Errorf("a reader got %s", got)
			}
		})
	}
	words <- "yes"
	wg.Wait()
	w.server.frames.mu.Lock()
	defer w.server.frames.mu.Unlock()
	if w.server.frames.encoded != 5 {
		t.Errorf("5 events were encoded %d times for 30 readers", w.server.frames.encoded)
	}
}

// longWinded is a model that says something large in pieces, then calls a tool, then
// says it again.
func longWinded(size int) troupe.Model {
	return modelFunc(func(_ context.Context, req *troupe.Request, say func(string)) error {
		text := strings.Repeat("æther ", size/7)
		for len(text) > 0 {
			n := min(len(text), 7001)
			say(text[:n])
			text = text[n:]
		}
		return nil
	})
}

// readAll reads a session's stream to the end of its first run and returns the numbers
// of what was stored, and the text of all deltas.
func (w *world) readAll(session string, pause func()) (seen []int64, text string, reply string) {
	w.t.Helper()
	response := w.send(context.Background(), "GET", "/api/sessions/"+session+"/events", nil)
	defer response.Body.Close()
	events := sse.NewReader(response.Body, 32<<20)
	var said strings.Builder
	for {
		message, err := events.Next()
		if err != nil {
			w.t.Errorf("after %v: %v", seen, err)
			return seen, said.String(), reply
		}
		var e troupe.Event
		if err := json.Unmarshal(message.Data, &e); err != nil {
			w.t.Errorf("%.100s: %v", message.Data, err)
			return seen, said.String(), reply
		}
		if e.Seq > 0 {
			seen = append(seen, e.Seq)
		}
		switch b := e.Body.(type) {
		case *troupe.TextDelta:
			said.WriteString(b.Text)
		case *troupe.ModelReplied:
			reply += b.Message.Text
		}
		if ends(&e) {
			return seen, said.String(), reply
		}
		pause()
	}
}

func TestLargeEventsComeWholeAndOnceToFastAndSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := openInMemory(t, clerk(t, longWinded(1<<20)))
		session := w.session()
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				n := 0
				seen, text, reply := w.readAll(session, func() {
					if n++; i%2 == 1 && n%20 == 1 {
						time.Sleep(2 * behind)
					}
				})
				if fmt.Sprint(seen) != "[1 2 3 4 5]" {
					t.Errorf("reader %d got %v", i, seen)
				}
				if text != "" && text != reply {
					t.Errorf("reader %d was shown %d bytes of a reply of %d", i, len(text), len(reply))
				}
				if !strings.HasSuffix(reply, "æther ") || len(reply) < 1<<19 {
					t.Errorf("reader %d got a reply of %d bytes", i, len(reply))
				}
			})
		}
		w.say(session, strings.Repeat("long ", 200_000))
		wg.Wait()
		synctest.Wait()
		if n := w.server.frames.inHand; n != 0 {
			t.Errorf("%d bytes are in the hands of readers that have left", n)
		}
	})
}

func TestAReaderThatComesBackInTheMiddleIsShownNoMoreAndNoLess(t *testing.T) {
	f := &following{told: map[replyKey]growth{}, given: map[replyKey]growth{}}
	delta := func(text string, attempt int) *troupe.Event {
		return &troupe.Event{Run: "r", Step: "1", Body: &troupe.TextDelta{Text: text, Attempt: attempt}}
	}
	var shown string
	give := func(text string, attempt int) {
		if e := delta(text, attempt); f.isNew(e) {
			shown += e.Body.(*troupe.TextDelta).Text
		}
	}
	give("one ", 1)
	give("two ", 1)
	f.given = map[replyKey]growth{} // it follows again, from the reply's beginning
	give("one ", 1)
	give("two three ", 1)
	if shown != "one two three " {
		t.Errorf("it was shown %q", shown)
	}
	replied := &troupe.Event{Seq: 9, Run: "r", Step: "1", Body: &troupe.ModelReplied{Attempt: 1, Message: &troupe.Message{Text: "one two three four", Thought: "hm"}}}
	rest := f.restOf(replied)
	if len(rest) != 2 || rest[0].Body.(*troupe.ThoughtDelta).Text != "hm" || rest[1].Body.(*troupe.TextDelta).Text != "four" {
		t.Errorf("the rest is %+v", rest)
	}
	if again := f.restOf(replied); again != nil {
		t.Errorf("of a reply that was never begun it is shown %+v", again)
	}
	give("thought ", 1) // as it turns out
	recast := &troupe.Event{Seq: 10, Run: "r", Step: "1", Body: &troupe.ModelReplied{Attempt: 1, Recast: true, Message: &troupe.Message{Text: "and the answer", Thought: "thought"}}}
	if rest := f.restOf(recast); len(rest) != 2 || *rest[0].Body.(*troupe.ThoughtDelta) != (troupe.ThoughtDelta{Text: "thought", Attempt: -1}) || *rest[1].Body.(*troupe.TextDelta) != (troupe.TextDelta{Text: "and the answer", Attempt: -1}) {
		t.Errorf("of an answer that was taken for a thought it is shown %+v", rest)
	}
	give("another ", 1)
	give("try ", 2)
	f.given = map[replyKey]growth{}
	shown = ""
	give("try again", 2)
	if shown != "again" {
		t.Errorf("of another attempt it was shown %q", shown)
	}
}

// A reply may become whole just between what a reader catches up with and what it then
// follows: it is shown the rest of it all the same.
func TestAReplyThatBecomesWholeWhileAReaderCatchesUpIsShownWhole(t *testing.T) {
	recorder := httptest.NewRecorder()
	s := &Server{frames: newFrames()}
	f := &following{
		Server: s, out: &events{raw: recorder, control: http.NewResponseController(recorder)},
		told: map[replyKey]growth{}, given: map[replyKey]growth{},
	}
	if err := f.sendDelta(t.Context(), &troupe.Event{Run: "r", Step: "1", Body: &troupe.TextDelta{Text: "one ", Attempt: 1}}); err != nil {
		t.Fatal(err)
	}
	f.given = map[replyKey]growth{}
	replied := &troupe.Event{Seq: 9, Session: "s", Run: "r", Step: "1", Body: &troupe.ModelReplied{Attempt: 1, Message: &troupe.Message{Text: "one two"}}}
	if _, err := f.sendStored(replied); err != nil {
		t.Fatal(err)
	}
	shown := ""
	events := sse.NewReader(recorder.Body, 0)
	for {
		message, err := events.Next()
		if err != nil {
			break
		}
		var e troupe.Event
		if err := json.Unmarshal(message.Data, &e); err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*troupe.TextDelta); ok {
			shown += b.Text
		}
	}
	if shown != "one two" {
		t.Errorf("it was shown %q", shown)
	}
}

// Pieces of a reply that come faster than anybody reads are held back, so that what
// comes meanwhile goes with the next; the first piece, and those of other replies, go at
// once.
func TestPiecesOfAReplyKeepApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := httptest.NewRecorder()
		f := &following{
			Server: &Server{frames: newFrames()}, out: &events{raw: recorder, control: http.NewResponseController(recorder)},
			told: map[replyKey]growth{}, given: map[replyKey]growth{},
		}
		began := time.Now()
		for i, c := range []struct {
			step  string
			after time.Duration
		}{{"1", 0}, {"2", 0}, {"1", atOnce}, {"2", atOnce}, {"1", 2 * atOnce}} {
			if err := f.sendDelta(t.Context(), &troupe.Event{Run: "r", Step: c.step, Body: &troupe.TextDelta{Text: "word ", Attempt: 1}}); err != nil {
				t.Fatal(err)
			}
			if at := time.Since(began); at != c.after {
				t.Errorf("piece %d went after %v, not %v", i, at, c.after)
			}
		}
		if n := strings.Count(recorder.Body.String(), "word "); n != 5 {
			t.Errorf("%d of 5 pieces came", n)
		}
	})
}

func TestAnswersAreLimitedInBytesAndPaged(t *testing.T) {
	large := strings.Repeat("x", 1_500_000)
	w := open(t, clerk(t, troupetest.NewScript(t, troupetest.Say(large), troupetest.Say("Small."))))
	session := w.session()
	w.talkLarge(session, large)
	w.server.waitForEnd(t.Context(), session)
	w.talkLarge(session, large)
	var seen []int64
	before, pages := "", 0
	for before != "1" {
		response := w.send(t.Context(), "GET", "/api/sessions/"+session+"/events?limit=5000&before="+before, nil)
		var page struct {
			Events []troupe.Event `json:"events"`
			Last   int64          `json:"last"`
		}
		err := json.NewDecoder(response.Body).Decode(&page)
		response.Body.Close()
		if err != nil || len(page.Events) == 0 {
			t.Fatalf("before %s: %d events: %v", before, len(page.Events), err)
		}
		var numbers []int64
		size := 0
		for _, e := range page.Events {
			numbers = append(numbers, e.Seq)
			data, _ := e.MarshalJSON()
			size += len(data)
		}
		if size > mostAnswer && len(page.Events) > 1 {
			t.Errorf("a page has %d bytes", size)
		}
		seen = append(numbers, seen...)
		before = fmt.Sprint(page.Events[0].Seq)
		pages++
	}
	for i, n := range seen {
		if n != int64(i+1) {
			t.Fatalf("the pages have %v", seen)
		}
	}
	if pages < 2 {
		t.Errorf("all of it came in %d page", pages)
	}
	status, text := w.do("GET", "/api/logs?q=x&limit=1000", nil)
	if status != http.StatusOK || len(text) > mostAnswer+(2<<20) {
		t.Errorf("the logs answer with %d bytes, %d", len(text), status)
	}
}

// talkLarge is talk for answers that are too long for a usual reader.
func (w *world) talkLarge(session, text string) {
	w.t.Helper()
	w.say(session, text)
	w.eventually(func() bool { return w.info(session).Status == "completed" })
}
