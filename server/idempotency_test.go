package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
)

// restarted is a world with another server of the same parts, as after a restart.
func (w *world) restarted() *world {
	w.t.Helper()
	w.renew()
	again := &world{t: w.t, server: w.server, store: w.store, config: w.config, dir: w.dir, log: w.log}
	p := newPipe()
	again.serve(p, &http.Transport{DialContext: p.dial})
	if again.token = w.server.Token(); again.token == "" {
		again.token = tokenOfAnn
	}
	return again
}

func TestKeysOfAllKindsOfRequestsOutliveTheServer(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Dir = t.TempDir() })
	key := with("Idempotency-Key", "k-1")
	flow, request := message{Text: "go"}, delivery{Request: "a shop"}
	var made, madeAgain sessionView
	var flowed, delivered, again started
	w.want(http.StatusCreated, &made, "POST", "/api/sessions", newSession{Agent: "clerk"}, key)
	w.want(http.StatusAccepted, &flowed, "POST", "/api/flows/round/runs", flow, key)
	w.want(http.StatusAccepted, &delivered, "POST", "/api/deliveries", request, key)
	w.want(http.StatusCreated, &madeAgain, "POST", "/api/sessions", newSession{Agent: "clerk"}, key)
	if madeAgain.ID != made.ID {
		t.Errorf("two sessions were made: %s and %s", made.ID, madeAgain.ID)
	}
	w.follow(flowed.Session, 0).until(ends)
	w.follow(delivered.Session, 0).until(ends)
	for range 2 {
		w = w.restarted()
		w.want(http.StatusAccepted, &again, "POST", "/api/flows/round/runs", flow, key)
		if again != flowed {
			t.Errorf("the flow %v is %v when it is asked for again", flowed, again)
		}
		w.want(http.StatusAccepted, &again, "POST", "/api/deliveries", request, key)
		if again != delivered {
			t.Errorf("the delivery %v is %v when it is asked for again", delivered, again)
		}
		w.want(http.StatusUnprocessableEntity, nil, "POST", "/api/deliveries", delivery{Request: "something else"}, key)
		w.want(http.StatusCreated, &madeAgain, "POST", "/api/sessions", newSession{Agent: "clerk"}, key)
		if madeAgain.ID != made.ID {
			t.Errorf("after a restart, the session is %s, not %s", madeAgain.ID, made.ID)
		}
	}
	// To somebody else the same key means something of their own.
	w.want(http.StatusAccepted, &again, "POST", "/api/flows/round/runs", flow, key, as(tokenOfBob))
	if again.Session == flowed.Session {
		t.Error("a key of one user's is another's")
	}
	w.follow(again.Session, 0, as(tokenOfBob)).until(ends)
}

func TestAKeyIsKnownHoweverManyCameAfterIt(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	first := w.say(session, "first", with("Idempotency-Key", "first"))
	w.follow(session, 0).until(ends)
	for i := range 50 { // in the session, and many more elsewhere
		w.server.waitForEnd(t.Context(), session)
		w.say(session, fmt.Sprint("later ", i), with("Idempotency-Key", fmt.Sprint("later-", i)))
	}
	for i := range mostRemembered + 1 {
		w.server.summaries.put(fmt.Sprint(i), &summary{})
	}
	if run := w.say(session, "first", with("Idempotency-Key", "first")); run != first {
		t.Errorf("sent again, it is run %s, not %s", run, first)
	}
	w.server.waitForEnd(t.Context(), session)
}

func TestAnAnswerIsGivenOnceAlsoAfterARestart(t *testing.T) {
	calls := 0
	guarded := approve.Policy{{Tool: "act", Do: approve.Ask}}.Tools(troupe.NewTool("act", "Acts.", func(context.Context, struct{}) (string, error) {
		calls++
		return "done", nil
	}))
	w := open(t, clerk(t, calling("act", `{}`), guarded...))
	session := w.session()
	w.talk(session, "act")
	question := w.info(session).Question
	if question == nil {
		t.Fatal("nothing is asked")
	}
	key, yes := with("Idempotency-Key", "k-1"), decision{Question: question.ID, Allow: "once"}
	var first, again started
	w.want(http.StatusAccepted, &first, "POST", "/api/sessions/"+session+"/answers", yes, key)
	w.eventually(func() bool { return w.info(session).Status == "completed" })
	for range 2 {
		w = w.restarted()
		w.want(http.StatusAccepted, &again, "POST", "/api/sessions/"+session+"/answers", yes, key)
		if again != first {
			t.Errorf("the answer is run %v, and then %v", first, again)
		}
		w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/answers", yes)
		w.want(http.StatusUnprocessableEntity, nil, "POST", "/api/sessions/"+session+"/answers", decision{Question: question.ID, Allow: "no"}, key)
	}
	if calls != 1 {
		t.Errorf("what was approved was done %d times", calls)
	}
}

func TestASessionInWhichNothingWasSaidOutlivesTheServer(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Dir = t.TempDir() })
	session := w.session()
	w = w.restarted()
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session, nil, as(tokenOfBob))
	if got := stored(w.talk(session, "hello")); got != "run_started user_said context_loaded model_replied run_finished" {
		t.Errorf("it has %s", got)
	}
	gone := w.session()
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+gone, nil)
	w = w.restarted()
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+gone, nil)
}

func TestAQueuedMessageIsQueuedAndSaidOnce(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.say(session, "one")
	key, later := with("Idempotency-Key", "k-1"), message{Text: "two", When: "after"}
	for range 3 {
		var got posted
		w.want(http.StatusAccepted, &got, "POST", "/api/sessions/"+session+"/messages", later, key)
		if !got.Queued {
			t.Errorf("it is %+v", got)
		}
	}
	w.want(http.StatusUnprocessableEntity, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "three", When: "after"}, key)
	if n := w.info(session).Queued; n != 1 {
		t.Errorf("%d messages wait", n)
	}
	words <- "One."
	words <- "Two."
	w.eventually(func() bool { i := w.info(session); return i.Status == "completed" && i.Queued == 0 })
	w.server.waitForEnd(t.Context(), session)
	var got posted
	w.want(http.StatusAccepted, &got, "POST", "/api/sessions/"+session+"/messages", later, key)
	if got.Queued || got.Run == "" {
		t.Errorf("after it was said it is %+v", got)
	}
	said := 0
	for e := range w.store.Events(t.Context(), session, 0) {
		if b, ok := e.Body.(*troupe.UserSaid); ok && b.Text == "two" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("it was said %d times", said)
	}
}

// A client that leaves before it is answered has asked once when it asks again.
func TestADroppedConnectionNeitherDoublesNorLoses(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		r, err := http.NewRequestWithContext(ctx, "POST", w.url+"/api/sessions/"+session+"/messages", jsonBody(message{Text: fmt.Sprint("number ", i)}))
		if err != nil {
			t.Fatal(err)
		}
		as(w.token)(r)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", fmt.Sprint("key ", i))
		if response, err := w.client.Do(r); err == nil {
			response.Body.Close()
		}
		cancel()
		w.eventually(func() bool {
			status, _ := w.do("POST", "/api/sessions/"+session+"/messages", message{Text: fmt.Sprint("number ", i)}, with("Idempotency-Key", fmt.Sprint("key ", i)))
			return status == http.StatusAccepted
		})
		w.server.waitForEnd(t.Context(), session)
	}
	said := map[string]int{}
	for e := range w.store.Events(t.Context(), session, 0) {
		if b, ok := e.Body.(*troupe.UserSaid); ok {
			said[b.Text]++
		}
	}
	for i := range 20 {
		if n := said[fmt.Sprint("number ", i)]; n != 1 {
			t.Errorf("message %d was said %d times", i, n)
		}
	}
}

func jsonBody(value any) io.Reader {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(data)
}

// A completion that is sent again with its key is the answer that it was: of a new
// conversation, of one that goes on, and of one that goes on from an earlier place.
func TestACompletionWithAKeyIsMadeOnce(t *testing.T) {
	w := open(t, clerk(t, recited()))
	once := func(key string, said ...string) (string, string) {
		t.Helper()
		text, session := w.complete(turns(said...), nil, with("Idempotency-Key", key))
		again, same := w.complete(turns(said...), nil, with("Idempotency-Key", key))
		if again != text || same != session {
			t.Errorf("%s: %q in %s, and again %q in %s", key, text, session, again, same)
		}
		runs := 0
		for e := range w.store.Events(t.Context(), session, 0) {
			if b, ok := e.Body.(*troupe.RunStarted); ok && b.IdempotencyKey == key {
				runs++
			}
		}
		if runs != 1 {
			t.Errorf("%s: there are %d runs", key, runs)
		}
		return text, session
	}
	one, first := once("k1", "hello")
	if _, session := once("k2", "hello", one, "and?"); session != first {
		t.Errorf("it went on in %s, not %s", session, first)
	}
	if _, session := once("k3", "hello", one, "or?"); session == first {
		t.Error("another way to go on went on in the same session")
	}
	status, answer := w.do("POST", "/v1/chat/completions", object{"model": "clerk", "messages": turns("something else")}, with("Idempotency-Key", "k1"))
	if status != http.StatusUnprocessableEntity {
		t.Errorf("another request with a known key: %d %s", status, answer)
	}
}

// Who may ask again wants the answer, though the connection is gone.
func TestACompletionWithAKeyOutlivesItsConnection(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session, key := w.session(), with("Idempotency-Key", "k1")
	body := object{"model": "clerk", "messages": turns("hi"), "stream": true, "user": session}
	f := w.stream("POST", "/v1/chat/completions", body, key)
	f.next()
	f.leave()
	words <- "yes."
	if text, same := w.complete(turns("hi"), object{"user": session}, key); text != "Well: yes." || same != session {
		t.Errorf("it is %q in %s", text, same)
	}
}
