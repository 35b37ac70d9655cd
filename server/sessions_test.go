package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestASessionIsMadeListedRenamedAndDeleted(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	var info troupe.SessionInfo
	w.want(http.StatusOK, &info, "GET", "/api/sessions/"+session, nil)
	if info.Status != sessionEmpty || info.Agent != "clerk" {
		t.Errorf("a new session is %+v", info)
	}
	w.talk(session, "Where is the moon?")
	other := w.session()
	w.talk(other, "Where is the sun?")

	var list []troupe.SessionInfo
	for query, want := range map[string]int{
		"": 2, "?limit=1": 1, "?agent=clerk": 2, "?agent=other": 0, "?status=waiting": 2, "?status=completed": 0, "?status=failed": 0, "?since=1h": 2,
		"?since=2100-01-01": 0, "?q=moon": 1, "?q=Where&limit=1": 1, "?q=comet": 0, "?q=moon&agent=other": 0,
	} {
		w.want(http.StatusOK, &list, "GET", "/api/sessions"+query, nil)
		if len(list) != want {
			t.Errorf("%s: %d sessions, not %d", query, len(list), want)
		}
	}
	w.want(http.StatusOK, &list, "GET", "/api/sessions", nil)
	if list[0].ID != other || list[0].Title != "Where is the sun?" {
		t.Errorf("the latest is %+v", list[0])
	}
	for _, query := range []string{"?limit=x", "?limit=-1", "?since=yesterday", "?status=purple"} {
		w.want(http.StatusBadRequest, nil, "GET", "/api/sessions"+query, nil)
	}

	w.want(http.StatusOK, &info, "PATCH", "/api/sessions/"+session, object{"title": "The moon"})
	if info.Title != "The moon" {
		t.Errorf("the title is %q", info.Title)
	}
	w.want(http.StatusBadRequest, nil, "PATCH", "/api/sessions/"+session, object{"title": " "})
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session, nil)
	w.want(http.StatusNotFound, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "hello?"})
	if _, err := os.Stat(filepath.Join(w.dir, session)); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
	w.want(http.StatusNotFound, nil, "POST", "/api/sessions", newSession{Agent: "nobody"})
}

// A session whose run is under way can be deleted in one request, which stops the run.
func TestDeletingASessionStopsItsRunWhereThatIsAsked(t *testing.T) {
	ended := make(chan error, 1)
	w := open(t, clerk(t, modelFunc(func(ctx context.Context, _ *troupe.Request, say func(string)) error {
		say("Well: ")
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	})))
	session := w.session()
	w.say(session, "one")
	w.follow(session, 0).until(isKind("text_delta"))
	w.want(http.StatusConflict, nil, "DELETE", "/api/sessions/"+session, nil)
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session+"?stop=1", nil)
	if err := <-ended; !errors.Is(err, troupe.ErrCancelled) {
		t.Errorf("the run was ended by %v", err)
	}
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session, nil)
}

func TestOneRunAtATimeAndThePlaceOfTheOtherIsTold(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.say(session, "one")
	w.follow(session, 0).until(isKind("text_delta"))
	var p problem
	w.want(http.StatusConflict, &p, "POST", "/api/sessions/"+session+"/messages", message{Text: "two"})
	if p.Seq != 3 {
		t.Errorf("the last event is said to be %d", p.Seq)
	}
	w.want(http.StatusConflict, nil, "DELETE", "/api/sessions/"+session, nil)
	w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/resume", nil)
	words <- "yes"
	w.follow(session, 0).until(ends)
	w.say(session, "three")
	words <- "yes"
}

func TestARunThatHasEndedOnRecordIsInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// It does not stop when its time is up: the run ends without it.
		stubborn := troupe.NewTool("stubborn", "Goes on.", func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Second)
			return "", nil
		}, troupe.Timeout(10*time.Millisecond))
		w, _ := openInMemory(t, clerk(t, troupetest.NewScript(t, troupetest.Call("stubborn", "{}"), troupetest.Say("Well."), troupetest.Say("Yes.")), stubborn))
		session := w.session()
		w.talk(session, "go")
		w.talk(session, "again")
	})
}

func TestARunIsCancelledAndResumed(t *testing.T) {
	words := make(chan string, 1)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/cancel", nil)
	run := w.say(session, "one")
	w.want(http.StatusNoContent, nil, "POST", "/api/sessions/"+session+"/cancel", nil)
	events := w.follow(session, 0).until(ends)
	if _, ok := events[len(events)-1].Body.(*troupe.RunCancelled); !ok {
		t.Errorf("the run ended with %s", events[len(events)-1].Kind())
	}
	w.want(http.StatusNoContent, nil, "POST", "/api/sessions/"+session+"/cancel", nil)
	words <- "yes"
	var started started
	w.want(http.StatusAccepted, &started, "POST", "/api/sessions/"+session+"/resume", nil)
	if started.Run != run {
		t.Errorf("run %s goes on as %s", run, started.Run)
	}
	w.follow(session, events[len(events)-1].Seq).until(isKind("run_finished"))
	w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/resume", nil)
}

func TestASessionIsForkedWithItsFiles(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	events := w.talk(session, "hello")
	last := events[len(events)-1]
	// A file that the session has saved.
	w.write(session, "notes.md", "# Notes")
	saved := troupe.Event{
		Seq: last.Seq + 1, Time: last.Time, Session: session, Run: last.Run, Step: "9", Agent: "clerk",
		Body: &troupe.ArtifactSaved{Path: "{session-folder}/notes.md", Size: 7},
	}
	if err := w.server.waitForEnd(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Append(t.Context(), session, saved); err != nil {
		t.Fatal(err)
	}
	var made forked
	w.want(http.StatusCreated, &made, "POST", "/api/sessions/"+session+"/fork", cut{After: saved.Seq})
	if got := stored(w.follow(made.Session, 0).until(isKind("session_forked"))); !strings.HasSuffix(got, "run_finished artifact_saved session_forked") {
		t.Errorf("it has %s", got)
	}
	w.want(http.StatusOK, nil, "GET", "/api/sessions/"+made.Session+"/files/notes.md", nil)
	for _, after := range []int64{0, -1, 100} {
		w.want(http.StatusBadRequest, nil, "POST", "/api/sessions/"+session+"/fork", cut{After: after})
	}
}

func TestAnIdempotencyKeyMakesOneMessageOfMany(t *testing.T) {
	var mu sync.Mutex
	var told []string
	model := troupetest.NewScript(t, troupetest.Say("Once.").Expect(func(_ testing.TB, req *troupe.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, req.Messages[len(req.Messages)-1].Text)
	}))
	w := open(t, clerk(t, model))
	session := w.session()
	key := with("Idempotency-Key", "k-1")
	var wg sync.WaitGroup
	runs := make([]string, 20)
	for i := range runs {
		wg.Go(func() { runs[i] = w.say(session, "once", key) })
	}
	wg.Wait()
	for _, run := range runs {
		if run != runs[0] {
			t.Errorf("run %s is not %s", run, runs[0])
		}
	}
	events := w.follow(session, 0).until(ends)
	w.want(http.StatusUnprocessableEntity, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "other"}, key)
	if len(told) != 1 || told[0] != "once" {
		t.Errorf("the model was told %q, and the run ended with %+v", told, events[len(events)-1].Body)
	}

	// The record has the key, so that a server which starts later knows it.
	w.renew()
	again := &world{t: t, server: w.server, token: w.token}
	p := newPipe()
	again.serve(p, &http.Transport{DialContext: p.dial})
	again.token = w.server.Token()
	if run := again.say(session, "once", key); run != runs[0] {
		t.Errorf("after a restart, run %s is not %s", run, runs[0])
	}
	again.want(http.StatusUnprocessableEntity, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "other"}, key)
	again.want(http.StatusBadRequest, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "x"}, with("Idempotency-Key", strings.Repeat("k", 300)))
}

func TestARefusedRequestMayBeSentAgainWithItsKey(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session, key := w.session(), with("Idempotency-Key", "k-1")
	w.say(session, "one")
	w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "two"}, key)
	words <- "yes"
	w.follow(session, 0).until(ends)
	w.say(session, "two", key)
	words <- "yes"
}

func TestAFlowAndADeliveryRunInSessionsOfTheirOwn(t *testing.T) {
	w := open(t, clerk(t, echo()))
	var one, two, three started
	key := with("Idempotency-Key", "k-1")
	w.want(http.StatusAccepted, &one, "POST", "/api/flows/round/runs", message{Text: "go"}, key)
	w.want(http.StatusAccepted, &two, "POST", "/api/flows/round/runs", message{Text: "go"}, key)
	w.want(http.StatusAccepted, &three, "POST", "/api/deliveries", delivery{Request: "a shop"})
	if one != two || one.Session == three.Session {
		t.Errorf("runs are %v, %v and %v", one, two, three)
	}
	events := w.follow(three.Session, 0).until(ends)
	if events[0].Agent != Pipeline {
		t.Errorf("the delivery is a run of %s", events[0].Agent)
	}
	w.follow(one.Session, 0).until(ends)
	w.want(http.StatusNotFound, nil, "POST", "/api/flows/none/runs", message{Text: "go"})
}

func TestAttachmentsReachTheModelAndBadOnesAreRefused(t *testing.T) {
	model := troupetest.NewScript(t, troupetest.Say("A picture.").Expect(func(tb testing.TB, req *troupe.Request) {
		last := req.Messages[len(req.Messages)-1]
		if len(last.Parts) != 1 || last.Parts[0].MIME != "image/png" || last.Parts[0].Name != "a.png" || string(last.Parts[0].Data) != "PNG" {
			tb.Errorf("the model is told %+v", last)
		}
	}))
	w := open(t, clerk(t, model), func(c *Config) { c.Limits.Attachment = 100 })
	session := w.session()
	x := []byte("x")
	for _, bad := range []attachment{
		{"a", "no type", x}, {"a\u202eb", "text/plain", x}, {"", "text/plain", x}, {"a", "text/plain", nil}, {"a", "text/plain", []byte{}},
	} {
		w.want(http.StatusBadRequest, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "look", Attachments: []attachment{bad}})
	}
	large, many := []attachment{{"a", "text/plain", make([]byte, 101)}}, slices.Repeat([]attachment{{"a", "text/plain", x}}, 11)
	for _, bad := range [][]attachment{large, many} {
		w.want(http.StatusRequestEntityTooLarge, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "look", Attachments: bad})
	}
	w.want(http.StatusBadRequest, nil, "POST", "/api/sessions/"+session+"/messages", message{})
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Attachments: []attachment{{"a.png", "image/png", []byte("PNG")}}})
	w.follow(session, 0).until(ends)
}

func TestAnotherUsersSessionIsNotThere(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers)
	session, draft := w.session(), w.session()
	w.talk(session, "a secret")
	w.write(session, "secret.md", "secret")
	bob := as(tokenOfBob)
	for _, id := range []string{session, draft} {
		for i := range w.server.routes {
			r := &w.server.routes[i]
			if !strings.Contains(r.path, "{id}") {
				continue
			}
			body := map[string]any{
				"/api/sessions/{id}": object{"title": "mine"}, "/api/sessions/{id}/messages": message{Text: "hello"}, "/api/sessions/{id}/fork": cut{After: 1},
				"/api/sessions/{id}/answers": decision{Question: 1, Text: "yes"}, "/api/sessions/{id}/queue/{n}": object{"text": "x"},
				"/api/sessions/{id}/files": fileEdit{Path: "secret.md", Content: "x"}, "/api/sessions/{id}/restore": restore{"secret.md", 1},
				"/api/deliveries/{id}/plan": object{"steps": []object{{"id": "1", "title": "x"}}}, "/api/deliveries/{id}/continue": continuation{}, "/api/deliveries/{id}/act": deliveryAct{"revert"},
			}[r.path]
			if r.in == nil {
				body = nil
			}
			path := strings.NewReplacer("{id}", id, "{path...}", "secret.md", "{n}", "1", "{step}", "1").Replace(r.path)
			want := http.StatusNotFound
			if r.operator {
				want = http.StatusForbidden
			}
			if got, text := w.do(r.method, path, body, bob); got != want {
				t.Errorf("%s %s: %d %s", r.method, path, got, text)
			}
		}
	}
	w.want(http.StatusNotFound, nil, "POST", "/api/chat", chatMessage{AgentID: "clerk", Message: "x", ConversationID: session}, bob)
	w.want(http.StatusNotFound, nil, "POST", "/api/chat", chatMessage{AgentID: "clerk", Message: "x", Attachments: []chatAttachment{{Filepath: session + "/secret.md"}}}, bob)
	for _, named := range []map[string]any{{"user": session}, {"metadata": object{"session": session}}} {
		named["model"], named["messages"] = "clerk", []object{{"role": "user", "content": "x"}}
		w.want(http.StatusNotFound, nil, "POST", "/v1/chat/completions", named, bob)
	}
	for _, path := range []string{"/api/sessions", "/api/sessions?q=secret", "/api/logs?q=secret", "/api/logs?session=" + session} {
		if status, text := w.do("GET", path, nil, bob); status != http.StatusOK || strings.TrimSpace(text) != "[]" {
			t.Errorf("%s: %d %s", path, status, text)
		}
		if status, text := w.do("GET", path, nil); status != http.StatusOK || !strings.Contains(text, session) {
			t.Errorf("the owner gets %s: %d %s", path, status, text)
		}
	}
	w.want(http.StatusOK, nil, "GET", "/api/sessions/"+session, nil)
}

// write writes a file into a session's folder.
func (w *world) write(session, name, content string) {
	w.t.Helper()
	file := filepath.Join(w.dir, session, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
