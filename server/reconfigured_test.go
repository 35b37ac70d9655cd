package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// staleSettings have lost a provider that a page still shows.
type staleSettings struct{ fakeSettings }

func (f *staleSettings) RemoveProvider(_ context.Context, name string) error {
	return fmt.Errorf("%w: the provider %s is not there any more", ErrStale, name)
}

// What one operator changes, the other's page is told of by the stream that it follows anyway, and
// so is everybody else's: agents and models may be others now.
func TestEverybodyIsToldThatTheConfigurationHasChanged(t *testing.T) {
	settings := &fakeSettings{values: map[string]string{"model": "stub/a"}}
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Settings, c.Operators = settings, []string{"ann"} })
	ann, bob := w.changes(), w.changes(as(tokenOfBob))
	told := func() {
		t.Helper()
		for _, stream := range []<-chan change{ann, bob} {
			if c := <-stream; !c.Reconfigured || c.Session != nil || c.Gone != "" {
				t.Errorf("it is told %+v", c)
			}
		}
	}
	w.want(http.StatusOK, nil, "PATCH", "/api/settings", settingValues{Values: map[string]string{"model": "stub/b"}})
	told()
	w.want(http.StatusNoContent, nil, "PUT", "/api/providers/stub/key", providerKey{"sk-0123456789"})
	told()
	next, err := New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.server.HandOver(next) // as where the file was changed by hand
	told()
	w.want(http.StatusUnprocessableEntity, nil, "PATCH", "/api/settings", settingValues{Values: map[string]string{"model": "bad"}})
	select {
	case c := <-ann:
		t.Errorf("of a change that was refused it is told %+v", c)
	default:
	}
}

// A configuration that cannot be used is told to operators until a better one takes over, and to
// nobody else.
func TestOperatorsAreToldOfAConfigurationThatCannotBeUsed(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Operators = []string{"ann"} })
	stream := w.changes()
	shown := func(by ...header) string {
		var me person
		w.want(http.StatusOK, &me, "GET", "/api/me", nil, by...)
		return me.Mistake
	}
	w.server.Misconfigured("turns must be a number (line 2 of troupe.yaml)")
	if c := <-stream; !c.Reconfigured {
		t.Errorf("it is told %+v", c)
	}
	if ann, bob := shown(), shown(as(tokenOfBob)); ann != "turns must be a number (line 2 of troupe.yaml)" || bob != "" {
		t.Errorf("ann reads %q, bob %q", ann, bob)
	}
	next, err := New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.server.HandOver(next)
	if c := <-stream; !c.Reconfigured || shown() != "" {
		t.Errorf("it is told %+v, and that %q", c, shown())
	}
}

// Who changes a setting that somebody else has changed since is told what it is now, and changes
// nothing; so is who acts on what is not there any more.
func TestWhatAnotherOperatorHasChangedIsNotOverwritten(t *testing.T) {
	settings := &staleSettings{fakeSettings{values: map[string]string{"model": "stub/a"}}}
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Settings, c.Operators = settings, []string{"ann", "bob"} })
	was := map[string]string{"model": "stub/a"}
	w.want(http.StatusOK, nil, "PATCH", "/api/settings", settingValues{map[string]string{"model": "stub/b"}, was})
	for request, body := range map[string]any{"PATCH /api/settings": settingValues{map[string]string{"model": "stub/c"}, was}, "DELETE /api/providers/stub": nil} {
		method, path, _ := strings.Cut(request, " ")
		status, text := w.do(method, path, body, as(tokenOfBob))
		var p problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != http.StatusConflict || p.Code != "stale" || !strings.HasPrefix(p.Detail, "somebody has changed this meanwhile: ") {
			t.Errorf("%s: %d %s %v", request, status, text, err)
		}
	}
	if settings.values["model"] != "stub/b" {
		t.Errorf("the model is %s now", settings.values["model"])
	}
}

// A page that is opened while a conversation is being deleted is told that it is gone, though its
// stream has never told of it. Nobody else is.
func TestAStreamThatBeginsLateTellsWhatIsGone(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers)
	done := func(stream <-chan change, session string) {
		for c := range stream {
			if c.Session != nil && c.Session.ID == session && c.Session.Status == "completed" {
				return
			}
		}
	}
	early := w.changes()
	session := w.session()
	w.talk(session, "hello")
	done(early, session)
	late, bob := w.changes(), w.changes(as(tokenOfBob))
	other, bobs := w.session(), w.session(as(tokenOfBob))
	w.talk(other, "hello")
	w.talk(bobs, "hello", as(tokenOfBob))
	done(late, other) // from now on they listen
	done(bob, bobs)
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+session, nil)
	for _, stream := range []<-chan change{early, late} {
		for c := range stream {
			if c.Gone == session {
				break
			}
			if c.Gone != "" { // a word about its end may still come, before
				t.Errorf("it is told %+v", c)
			}
		}
	}
	w.want(http.StatusNoContent, nil, "POST", "/api/sessions/"+bobs+"/seen", nil, as(tokenOfBob))
	for c := range bob {
		if c.Gone != "" {
			t.Errorf("bob is told that %s is gone", c.Gone)
		}
		if c.Session != nil && !c.Session.Unseen {
			break
		}
	}
}

// An impatientReader does something the moment its stream begins, and leaves when it has read a word.
type impatientReader struct {
	*httptest.ResponseRecorder
	atOnce func()
	word   string
	leave  func()
}

func (r *impatientReader) Flush() {
	if r.atOnce != nil {
		r.atOnce()
		r.atOnce = nil
	}
	if strings.Contains(r.Body.String(), r.word) {
		r.leave()
	}
}

// What changes the moment a stream has begun is told.
func TestAStreamTellsOfWhatChangesAsItBegins(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers)
	for _, path := range []string{"/api/events", "/api/sessions/" + w.session() + "/events?all"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost"+path, nil)
		r.Header.Set("Authorization", "Bearer "+tokenOfAnn)
		reader := &impatientReader{httptest.NewRecorder(), w.server.hub.reconfigured, "reconfigured", cancel}
		w.server.Handler().ServeHTTP(reader, r)
		if !strings.Contains(reader.Body.String(), "reconfigured") {
			t.Errorf("%s: %d, told is %q", path, reader.Code, reader.Body)
		}
		cancel()
	}
}
