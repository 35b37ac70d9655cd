package server

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/explain"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/tool/approve"
)

// saving is a tool that saves what it is given, as the tools of agents do.
func saving(w func() *world) troupe.Tool {
	type text struct {
		Content string `json:"content"`
	}
	return troupe.NewToolWithCall("save", "Saves a text.", func(ctx context.Context, call *troupe.Invocation, in text) (string, error) {
		w().write(call.Run.Session(), "brief.md", in.Content)
		return "saved", call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: "{session-folder}/brief.md", Size: int64(len(in.Content)), SHA256: sumOf(in.Content)})
	})
}

// A scriptedFunc is a model that answers with one chunk.
type scriptedFunc func(req *troupe.Request) troupe.Chunk

func (f scriptedFunc) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		chunk := f(req)
		finish := troupe.FinishStop
		if chunk.Call != nil {
			finish = troupe.FinishCalls
		}
		if yield(chunk, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: finish, Usage: troupe.Usage{Input: 7, Output: 3}, Model: "stub"}}, nil)
		}
	}
}

func TestWhatIsQueuedIsSaidWhenTheRunHasEnded(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)), func(c *Config) { c.Dir = t.TempDir() })
	session := w.session()
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "one"})
	var p posted
	for _, text := range []string{"two", "three"} {
		w.want(http.StatusAccepted, &p, "POST", "/api/sessions/"+session+"/messages", message{Text: text, When: "after"})
		if !p.Queued {
			t.Fatalf("%+v", p)
		}
	}
	w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "now"})
	var q queueView
	w.want(http.StatusOK, &q, "GET", "/api/sessions/"+session+"/queue", nil)
	if len(q.Messages) != 2 || q.Messages[0].Text != "two" || q.Held {
		t.Fatalf("%+v", q)
	}
	w.want(http.StatusOK, &q, "PATCH", "/api/sessions/"+session+"/queue/1", object{"text": "two and a half"})
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session+"/queue/2", nil)
	w.want(http.StatusNotFound, nil, "DELETE", "/api/sessions/"+session+"/queue/2", nil)
	words <- "first"
	words <- "second"
	w.eventually(func() bool { return w.info(session).Status == "completed" && w.info(session).Queued == 0 })
	if said := w.said(session); said != "one|two and a half" {
		t.Errorf("the user has said %q", said)
	}
	w.want(http.StatusOK, &q, "GET", "/api/sessions/"+session+"/queue", nil)
	if len(q.Messages) != 0 {
		t.Errorf("%+v", q)
	}
}

// said is what the user has said in a session.
func (w *world) said(session string) string {
	var said []string
	for e, err := range w.store.Events(w.t.Context(), session, 0) {
		if b, ok := e.Body.(*troupe.UserSaid); ok && err == nil {
			said = append(said, b.Text)
		}
	}
	return strings.Join(said, "|")
}

func TestAStopHoldsTheQueueAndARestartKeepsIt(t *testing.T) {
	words := make(chan string)
	dir := t.TempDir()
	w := open(t, clerk(t, gated(words)), func(c *Config) { c.Dir = dir })
	session := w.session()
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "one"})
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "two", When: "after"})
	follow := w.follow(session, 0)
	w.want(http.StatusNoContent, nil, "POST", "/api/sessions/"+session+"/cancel", nil)
	follow.until(ends)
	w.eventually(func() bool {
		var q queueView
		w.want(http.StatusOK, &q, "GET", "/api/sessions/"+session+"/queue", nil)
		return q.Held && len(q.Messages) == 1
	})
	book, err := newNoteBook(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := book.of(session)
	if err != nil || len(n.Queue) != 1 || !n.Held {
		t.Errorf("after a restart there is %+v, %v", n, err)
	}
	var q queueView
	w.want(http.StatusOK, &q, "PATCH", "/api/sessions/"+session+"/queue/1", object{"now": true})
	words <- "Two."
	w.eventually(func() bool { return w.info(session).Status == "completed" })
}

// Whoever sends a message now stops what is under way, and what waits besides goes out after it. That the
// run before was stopped holds nothing, however late that is known.
func TestWhatIsSentNowGoesOutInPlaceOfTheAnswer(t *testing.T) {
	for range 20 {
		words := make(chan string)
		w := open(t, clerk(t, gated(words)), func(c *Config) { c.Dir = t.TempDir() })
		session := w.session()
		w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "one"})
		for _, text := range []string{"two", "three"} {
			w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: text, When: "after"})
		}
		var q queueView
		w.want(http.StatusOK, &q, "PATCH", "/api/sessions/"+session+"/queue/2", object{"now": true})
		if q.Held || len(q.Messages) != 1 || q.Messages[0].Text != "two" {
			t.Fatalf("%+v", q)
		}
		words <- "Three."
		words <- "Two."
		w.eventually(func() bool { return w.info(session).Status == "completed" && w.info(session).Queued == 0 })
		if said := w.said(session); said != "one|three|two" {
			t.Errorf("the user has said %q", said)
		}
	}
}

func TestGoingOnGoesOnWithTheQueue(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "one"})
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "two", When: "after"})
	follow := w.follow(session, 0)
	w.want(http.StatusNoContent, nil, "POST", "/api/sessions/"+session+"/cancel", nil)
	follow.until(ends)
	queue := func() (q queueView) {
		w.want(http.StatusOK, &q, "GET", "/api/sessions/"+session+"/queue", nil)
		return q
	}
	w.eventually(func() bool { return queue().Held })
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/resume", nil)
	words <- "One."
	words <- "Two."
	w.eventually(func() bool { return w.info(session).Status == "completed" && len(queue().Messages) == 0 })
	w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/resume", nil) // there is nothing to go on with
}

// eventually waits for something that happens a moment after its event.
func (w *world) eventually(holds func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			w.t.Fatal("it does not come to hold")
		}
	}
}

func TestWhatWaitsIsInListsAndIsAnsweredByItsID(t *testing.T) {
	var w *world
	guarded := approve.Policy{{Tool: "save", Do: approve.Ask}}.Tools(saving(func() *world { return w }))
	w = open(t, clerk(t, calling("save", `{"content":"# Brief"}`), guarded...))
	session := w.session()
	w.talk(session, "save it")
	var list []sessionView
	w.want(http.StatusOK, &list, "GET", "/api/sessions?status=waiting", nil)
	if len(list) != 1 || list[0].Status != "waiting" || list[0].Question == nil || list[0].Question.Kind != "approval" || list[0].Question.Tool != "save" {
		t.Fatalf("%+v", list)
	}
	id := list[0].Question.ID
	w.want(http.StatusConflict, nil, "POST", "/api/sessions/"+session+"/answers", decision{Question: id + 1, Allow: "once"})
	w.want(http.StatusBadRequest, nil, "POST", "/api/sessions/"+session+"/answers", decision{Question: id})
	w.want(http.StatusBadRequest, nil, "POST", "/api/sessions/"+session+"/answers", decision{Question: id, Allow: "maybe"})
	follow := w.follow(session, list[0].Events)
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/answers", decision{Question: id, Allow: "session"})
	follow.until(ends)
	w.want(http.StatusOK, &list, "GET", "/api/sessions?status=waiting", nil)
	if len(list) != 0 {
		t.Errorf("it still waits: %+v", list)
	}
	// What is allowed in the session is not asked again.
	last := w.info(session).Events
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "save it again"})
	w.eventually(func() bool { i := w.info(session); return i.Status == "completed" && i.Events > last+5 })
	if text, err := w.server.readFile(t.Context(), session, "brief.md"); err != nil || text != "# Brief" {
		t.Errorf("%q, %v", text, err)
	}
	// The log says which answers a person has given.
	var feed struct{ Events []troupe.Event }
	w.want(http.StatusOK, &feed, "GET", "/api/sessions/"+session+"/events?before=&limit=50", nil)
	var hidden []bool
	for _, e := range feed.Events {
		if said, ok := e.Body.(*troupe.UserSaid); ok && said.Answer != nil {
			hidden = append(hidden, said.Hidden)
		}
	}
	if !slices.Equal(hidden, []bool{false, true}) {
		t.Errorf("no person has given the answers %v", hidden)
	}
}

// An answer that the engine finds no question for is refused in words.
func TestAnAnswerToNothingIsRefusedInWords(t *testing.T) {
	p := problemOf(fmt.Errorf("session x: %w", troupe.ErrNoQuestion))
	if p.Status != http.StatusConflict || p.Code != "answered" || p.hidden != nil || p.Detail != errAnswered.Detail {
		t.Errorf("%+v", p)
	}
}

func (w *world) info(session string) sessionView {
	w.t.Helper()
	var v sessionView
	w.want(http.StatusOK, &v, "GET", "/api/sessions/"+session, nil)
	return v
}

// calling is a model that calls a tool once for each message, and then says that it is
// done.
func calling(tool, arguments string) troupe.Model {
	return scriptedFunc(func(req *troupe.Request) troupe.Chunk {
		if req.Messages[len(req.Messages)-1].Role == troupe.RoleUser {
			return troupe.Chunk{Call: &troupe.ToolCall{ID: "c", Name: tool, Arguments: arguments}}
		}
		return troupe.Chunk{Text: "Done."}
	})
}

func TestVersionsOfAFileAreKeptComparedAndBroughtBack(t *testing.T) {
	var w *world
	contents := []string{"# One", "# Two"}
	at := 0
	model := scriptedFunc(func(req *troupe.Request) troupe.Chunk {
		if req.Messages[len(req.Messages)-1].Role != troupe.RoleUser {
			return troupe.Chunk{Text: "Done."}
		}
		at++
		arguments, _ := json.Marshal(object{"content": contents[at-1]})
		return troupe.Chunk{Call: &troupe.ToolCall{ID: "c", Name: "save", Arguments: string(arguments)}}
	})
	w = open(t, clerk(t, model, saving(func() *world { return w })))
	session := w.session()
	w.talk(session, "one")
	w.talk(session, "two")
	path := "/api/sessions/" + session
	read := func(query string) string {
		t.Helper()
		status, text := w.do("GET", path+"/files/brief.md?raw"+query, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, status, text)
		}
		return text
	}
	var versions []Version
	w.want(http.StatusOK, &versions, "GET", path+"/versions?path=brief.md", nil)
	if len(versions) != 2 || versions[0].Number != 2 || versions[0].By != "clerk" || !versions[1].Known || read("&version=1") != "# One" || read("") != "# Two" {
		t.Fatalf("%+v", versions)
	}
	var v Version
	w.want(http.StatusOK, &v, "PUT", path+"/files", fileEdit{Path: "brief.md", Content: "# By hand", Version: 2})
	if v.Number != 3 || !v.ByHand || read("") != "# By hand" {
		t.Errorf("%+v", v)
	}
	w.want(http.StatusConflict, nil, "PUT", path+"/files", fileEdit{Path: "brief.md", Content: "# Too late", Version: 2})
	w.want(http.StatusNotFound, nil, "PUT", path+"/files", fileEdit{Path: "new.md", Content: "x"})
	w.want(http.StatusNotFound, nil, "PUT", path+"/files", fileEdit{Path: "../other/brief.md", Content: "x"})
	w.want(http.StatusOK, &v, "POST", path+"/restore", restore{"brief.md", 1})
	if v.Number != 4 || read("") != "# One" || read("&version=3") != "# By hand" {
		t.Errorf("%+v", v)
	}

	var list libraryList
	for query, want := range map[string]int{"": 1, "?q=brief": 1, "?q=one": 1, "?q=nowhere": 0, "?kind=image": 0, "?kind=document": 1, "?by=clerk": 0, "?by=bob": 0} {
		if w.want(http.StatusOK, &list, "GET", "/api/files"+query, nil); len(list.Files) != want {
			t.Errorf("%s: %+v", query, list)
		}
	}
	status, text := w.do("POST", "/api/files/zip", zipOrder{[]fileName{{session, "brief.md"}, {session, "brief.md"}}})
	archive, err := zip.NewReader(bytes.NewReader([]byte(text)), int64(len(text)))
	if err != nil || status != http.StatusOK || len(archive.File) != 2 || archive.File[0].Name == archive.File[1].Name {
		t.Errorf("%d %v", status, err)
	}
	w.want(http.StatusNotFound, nil, "POST", "/api/files/zip", zipOrder{[]fileName{{session, "absent.md"}}})
	var found searchResult
	if w.want(http.StatusOK, &found, "GET", "/api/search?q=brief", nil); len(found.Files) != 1 {
		t.Errorf("%+v", found)
	}
}

// What is sent to a model may be megabytes, at every turn again: the answer shows the
// beginnings, and each part can be had whole.
func TestACallOfMegabytesIsShownByItsBeginnings(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session, long := w.session(), strings.Repeat("é", shownPartBytes/2+1)
	events := w.talk(session, long)
	at := "/api/sessions/" + session + "/calls/"
	for _, e := range events {
		if e.Kind() == "model_replied" {
			at += number(e.Seq)
		}
	}
	var v callView
	w.want(http.StatusOK, &v, "GET", at, nil)
	if p := v.Parts[1]; p.Bytes != len(long) || len(p.Text) != shownPartBytes || v.Parts[0].Bytes != 0 {
		t.Errorf("%d bytes of %d are shown", len(p.Text), p.Bytes)
	}
	if status, text := w.do("GET", at+"?part=1", nil); status != http.StatusOK || text != long {
		t.Errorf("%d, %d bytes", status, len(text))
	}
	w.want(http.StatusNotFound, nil, "GET", at+"?part=2", nil)
	w.want(http.StatusBadRequest, nil, "GET", at+"?part=x", nil)

	parts := []explain.Part{{Text: "one"}, {Text: strings.Repeat("x", 100)}, {Text: "three"}}
	if left := cutParts(parts, 20); left != 0 || len(parts[1].Text) != 17 || parts[1].Bytes != 100 || parts[2].Text != "" || parts[2].Bytes != 5 {
		t.Errorf("%d are left of %+v", left, parts)
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func TestACallShowsWhatWasSentPartByPart(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "first")
	w.talk(session, "second")
	var calls []int64
	for e := range w.store.Events(t.Context(), session, 0) {
		if _, ok := e.Body.(*troupe.ModelReplied); ok {
			calls = append(calls, e.Seq)
		}
	}
	var v callView
	w.want(http.StatusOK, &v, "GET", "/api/sessions/"+session+"/calls/"+number(calls[1]), nil)
	var texts []string
	tokens := 0
	for _, p := range v.Parts {
		tokens += p.Tokens
		mark := ""
		if p.New {
			mark = "+"
		}
		texts = append(texts, mark+p.Kind+": "+p.Text)
	}
	want := "instructions: You are a clerk.|user: first|+assistant: You said: first|+user: second"
	if got := strings.Join(texts, "|"); got != want {
		t.Errorf("sent\n%s, want\n%s", got, want)
	}
	if v.Before != calls[0] || v.Answer.Text != "You said: second" || v.Input != 7 || tokens > 7 {
		t.Errorf("%+v", v)
	}
	status, curl := w.do("GET", "/api/sessions/"+session+"/calls/"+number(calls[1])+"?as=curl", nil)
	if status != http.StatusOK || !strings.Contains(curl, "$OPENAI_API_KEY") || !strings.Contains(curl, `"content": "second"`) || !strings.HasPrefix(curl, "# The messages as they were sent. What is not on record is not in it: the descriptions of tools,") {
		t.Errorf("%d %s", status, curl)
	}
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session+"/calls/1", nil)
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session+"/calls/x", nil)
	var page eventPage
	w.want(http.StatusOK, &page, "GET", "/api/sessions/"+session+"/events?before=&limit=2", nil)
	if len(page.Events) != 2 || page.Last != w.info(session).Events {
		t.Errorf("%+v", page)
	}
}

// fakeSettings are settings by hand. Its key is never shown.
type fakeSettings struct {
	values map[string]string
	key    string
}

func (f *fakeSettings) Settings(context.Context) ([]Setting, error) {
	return []Setting{{Key: "model", Value: f.values["model"]}}, nil
}
func (f *fakeSettings) Change(_ context.Context, values map[string]string) error {
	if values["model"] == "bad" {
		return errors.New("there is no such model")
	}
	f.values = values
	return nil
}
func (f *fakeSettings) Providers(context.Context) ([]Provider, error) {
	return []Provider{{Name: "stub", NeedsKey: true, HasKey: f.key != ""}}, nil
}
func (f *fakeSettings) SetKey(_ context.Context, _, key, _ string) error                 { f.key = key; return nil }
func (f *fakeSettings) SetAddress(context.Context, string, string, string, string) error { return nil }
func (f *fakeSettings) RemoveProvider(_ context.Context, name string) error {
	if name != "stub" {
		return fmt.Errorf("there is no provider %q", name)
	}
	f.key = ""
	return nil
}
func (f *fakeSettings) Test(context.Context, string) (Provider, error) {
	return Provider{Name: "stub", State: "answers"}, nil
}

func TestSettingsAreForOperatorsAndKeysAreNeverShown(t *testing.T) {
	settings := &fakeSettings{values: map[string]string{"model": "stub/a"}}
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Settings, c.Operators = settings, []string{"ann"} })
	bob := as(tokenOfBob)
	for _, r := range w.server.routes {
		if !r.operator {
			continue
		}
		var body any
		if r.in != nil {
			body = map[string]any{"/api/settings": object{"values": object{}}, "/api/providers/{name}/key": object{"key": "x"}}[r.path]
		}
		if status, text := w.do(r.method, strings.NewReplacer("{name}", "stub").Replace(r.path), body, bob); status != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, text)
		}
	}
	const key = "sk-secret-0123456789"
	w.want(http.StatusNoContent, nil, "PUT", "/api/providers/stub/key", providerKey{key})
	if settings.key != key {
		t.Error("the key was not set")
	}
	for _, path := range []string{"/api/settings", "/api/models", "/api/me", "/api/logs"} {
		if _, text := w.do("GET", path, nil); strings.Contains(text, key) {
			t.Errorf("%s shows the key", path)
		}
	}
	if strings.Contains(w.log.String(), key) {
		t.Error("the log has the key")
	}
	w.want(http.StatusOK, nil, "PATCH", "/api/settings", settingValues{Values: map[string]string{"model": "stub/b"}})
	w.want(http.StatusUnprocessableEntity, nil, "PATCH", "/api/settings", settingValues{Values: map[string]string{"model": "bad"}})
	w.want(http.StatusUnprocessableEntity, nil, "DELETE", "/api/providers/other", nil)
	if w.want(http.StatusNoContent, nil, "DELETE", "/api/providers/stub", nil); settings.key != "" {
		t.Error("the provider was not removed")
	}
	var me person
	if w.want(http.StatusOK, &me, "GET", "/api/me", nil, bob); me.Operator || me.Name != "bob" {
		t.Errorf("%+v", me)
	}
	// A link lets in whom it was made for, and nobody makes one for others but operators.
	var link signInLink
	w.want(http.StatusOK, &link, "POST", "/api/people/bob/link", nil)
	token := strings.TrimPrefix(link.Fragment, "#token=")
	if w.want(http.StatusOK, &me, "GET", "/api/me", nil, as(token)); me.Name != "bob" {
		t.Errorf("the link lets in %+v", me)
	}
	w.want(http.StatusNoContent, nil, "POST", "/api/login", login{token})
	w.want(http.StatusNotFound, nil, "POST", "/api/people/eve/link", nil)
}

func TestAPersonsStreamTellsHowTheirSessionsStand(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)), withUsers)
	session := w.session()
	ann, bob := w.changes(as(tokenOfAnn)), w.changes(as(tokenOfBob))
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "hello"})
	if c := <-ann; c.Session == nil || c.Session.ID != session || c.Session.Status != "running" {
		t.Errorf("%+v", c)
	}
	words <- "done"
	for c := range ann {
		if c.Session.Status == "completed" {
			if !c.Session.Unseen {
				t.Error("an answer that nobody has seen is not marked")
			}
			break
		}
	}
	w.want(http.StatusNoContent, nil, "POST", "/api/sessions/"+session+"/seen", nil)
	for c := range ann {
		if !c.Session.Unseen {
			break
		}
	}
	select {
	case c := <-bob:
		t.Errorf("bob is told of ann's session: %+v", c)
	default:
	}
}

// A page lists sessions, and begins its stream then: what is deleted in between is told to it.
func TestAStreamThatBeginsTellsWhatWasDeletedBefore(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers)
	session := w.session()
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+session+"/messages", message{Text: "hello"})
	w.follow(session, 0).until(ends)
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	ann, bob := w.changes(as(tokenOfAnn)), w.changes(as(tokenOfBob))
	if c := <-ann; c.Gone != session {
		t.Errorf("ann is told %+v", c)
	}
	// Bob's own is the first that he is told of.
	own := w.session(as(tokenOfBob))
	w.want(http.StatusAccepted, nil, "POST", "/api/sessions/"+own+"/messages", message{Text: "hello"}, as(tokenOfBob))
	if c := <-bob; c.Session == nil || c.Session.ID != own {
		t.Errorf("bob is told %+v", c)
	}
}

// A page that goes from one stream to another may leave the first before it is told of a change:
// the second begins with what has just changed, and does not wait until it looks for the work of
// other processes.
func TestAStreamThatBeginsTellsWhatHasJustChanged(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "hello")
	stream := w.changes()
	w.eventually(func() bool { return len(w.server.hub.all()) == 1 })
	w.server.hub.saved("") // which is told after what is known of sessions by then
	if c := <-stream; c.Session == nil || c.Session.ID != session || c.Session.Status != "completed" {
		t.Errorf("it is told %+v", c)
	}
}

// A name that was somebody's is given to another only by an operator who was told so: the
// conversations of that name come with it.
func TestANameThatHadConversationsIsAskedAbout(t *testing.T) {
	var added []string
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) {
		c.Operators = []string{"ann"}
		c.AddPerson = func(_ context.Context, name string) (string, error) {
			added = append(added, name)
			return "token-of-" + name, nil
		}
	})
	step, err := w.config.Cast.Step(t.Context(), "clerk")
	if err == nil {
		_, err = troupe.Collect(w.config.Engine.Run(t.Context(), step, troupe.Input{Text: "hello", User: "zoe"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	var p problem
	w.want(http.StatusConflict, &p, "POST", "/api/people", newPerson{Name: "zoe"})
	if p.Code != "known_name" || !strings.Contains(p.Detail, "somebody called zoe who was here before (1, ") || len(added) > 0 {
		t.Errorf("%+v, added are %q", p, added)
	}
	var link signInLink
	w.want(http.StatusCreated, &link, "POST", "/api/people", newPerson{Name: "zoe", TakeOver: true})
	w.want(http.StatusCreated, &link, "POST", "/api/people", newPerson{Name: "max"})
	if link.Fragment != "#token=token-of-max" || len(added) != 2 {
		t.Errorf("%+v, added are %q", link, added)
	}
	// They are in the list at once, though the configuration is read again in a moment.
	var list []personView
	w.want(http.StatusOK, &list, "GET", "/api/people", nil)
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "ann bob max zoe" || list[2].Operator {
		t.Errorf("the list is %+v", list)
	}
	w.want(http.StatusOK, nil, "POST", "/api/people/max/link", nil)
}

// changes are what a person's stream tells.
func (w *world) changes(headers ...header) <-chan change {
	w.t.Helper()
	f := w.stream("GET", "/api/events", nil, headers...)
	told := make(chan change, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(told)
		for {
			e, err := f.reader.Next()
			if err != nil {
				return
			}
			var c change
			if json.Unmarshal(e.Data, &c) == nil {
				told <- c
			}
		}
	}()
	w.t.Cleanup(func() {
		f.body.Close()
		<-done
	})
	return told
}

func TestAProgramsOwnUsersAndPrefix(t *testing.T) {
	w := newWorld(t, clerk(t, echo()), func(c *Config) {
		c.Prefix = "/troupe"
		c.Auth = func(r *http.Request) (string, string, error) {
			if user := r.Header.Get("X-User"); user != "" {
				return user, RoleUser, nil
			}
			return "", "", errors.New("nobody")
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/troupe/", http.StripPrefix("/troupe", w.server.Handler()))
	do := func(method, path, body, user string) *http.Response {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-User", user)
		out := httptest.NewRecorder()
		mux.ServeHTTP(out, r)
		return out.Result()
	}
	if got := do("GET", "/troupe/", "", "").StatusCode; got != http.StatusOK {
		t.Errorf("the page: %d", got)
	}
	if got := do("GET", "/troupe/api/agents", "", "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("nobody: %d", got)
	}
	made := do("POST", "/troupe/api/sessions", `{"agent":"clerk"}`, "carl")
	if made.StatusCode != http.StatusCreated || !strings.HasPrefix(made.Header.Get("Location"), "/troupe/api/sessions/") {
		t.Errorf("%d %v", made.StatusCode, made.Header)
	}
	if got := do("GET", strings.TrimSuffix(made.Header.Get("Location"), "/"), "", "dora").StatusCode; got != http.StatusNotFound {
		t.Errorf("dora sees carl's session: %d", got)
	}
	if got := do("GET", "/troupe/api/settings", "", "carl").StatusCode; got != http.StatusForbidden {
		t.Errorf("carl is no operator: %d", got)
	}
	var described struct{ Servers []struct{ URL string } }
	if err := json.NewDecoder(do("GET", "/troupe/api/openapi.json", "", "carl").Body).Decode(&described); err != nil || len(described.Servers) != 1 || described.Servers[0].URL != "/troupe" {
		t.Errorf("the document names the servers %+v, %v", described.Servers, err)
	}
}

func TestCausesHaveTheirCodes(t *testing.T) {
	for text, want := range map[string]string{
		"agent clerk: model: 401 invalid_api_key: no": "key_refused", "model: 402: pay": "quota_spent", "model: 404 model_not_found: x": "model_unknown", "model: 413: big": "request_too_large",
		"model: 429: slow": "rate_limited", "model: 503: down": "provider_down", "dial tcp 127.0.0.1:1: connect: connection refused": "provider_down", "x: Critical action failed: Load a.md": "agent_broken", "something else": "",
	} {
		if got := causeOf("", text).Code; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for reason := range reasons {
		if causeOf(reason, "").Code == "" {
			t.Errorf("%s has no code", reason)
		}
	}
}

func TestChoicesAreThoseThatTheQuestionLists(t *testing.T) {
	for text, want := range map[string]string{
		"Which?\n1. One bank: cheapest\n2. Two banks": "One bank/cheapest,Two banks/", "Pick:\n- [A] Advanced\n- [C] Continue": "Advanced/,Continue/",
		"Name it.": "", "1. Only one": "", "Steps so far:\n1. a\nand then we went home.\n": "",
	} {
		var got []string
		for _, c := range choicesIn(text) {
			got = append(got, c.Label+"/"+c.Description)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Of steps side by side, each call is compared with the one before of its own step.
func TestACallIsComparedWithTheOneBeforeOfItsStep(t *testing.T) {
	look := troupe.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil })
	agent := func(id string) *troupe.Agent {
		a, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Instructions: "You are " + id + ".", Model: calling("look", "{}"), Tools: []troupe.Tool{look}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	both := flow.Parallel("both", agent("one"), agent("two"))
	w := open(t, cast{"both": func() (troupe.Step, error) { return both, nil }})
	var made sessionView
	w.want(http.StatusCreated, &made, "POST", "/api/sessions", newSession{Agent: "both"})
	first := map[string]int64{}
	w.talk(made.ID, "Look")
	for e := range w.store.Events(t.Context(), made.ID, 0) {
		if _, ok := e.Body.(*troupe.ModelReplied); !ok {
			continue
		}
		var v callView
		w.want(http.StatusOK, &v, "GET", "/api/sessions/"+made.ID+"/calls/"+number(e.Seq), nil)
		if v.Before != first[e.Agent] || first[e.Agent] != 0 && (len(v.Dropped) > 0 || v.Parts[0].New) {
			t.Errorf("call %d of %s is compared with %d, not %d: %d parts are gone, and its prompt is new: %v", e.Seq, e.Agent, v.Before, first[e.Agent], len(v.Dropped), v.Parts[0].New)
		}
		if v.After != 0 && first[e.Agent] != 0 {
			t.Errorf("after the last call of %s comes %d", e.Agent, v.After)
		}
		first[e.Agent] = e.Seq
	}
	if len(first) != 2 {
		t.Errorf("%v", first)
	}
}
