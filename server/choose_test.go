package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// choosable has every step answer with the name of the model that was chosen for it.
type choosable struct{ t testing.TB }

func (choosable) Models(context.Context) ([]Model, error) { return []Model{{ID: "stub/b"}}, nil }

func (c choosable) Step(ctx context.Context, name, model string) (troupe.Step, error) {
	if model == "stub/none" {
		return nil, errors.New("stub has no such model")
	}
	return clerk(c.t, modelFunc(func(_ context.Context, _ *troupe.Request, say func(string)) error {
		say("I am " + model)
		return nil
	})).Step(ctx, name)
}

// Whoever chooses another model in the midst of a conversation is answered by it, also
// where the server was started again in between; and by the usual one in others.
func TestAnotherModelIsChosenInTheMidstOfAConversation(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) {
		c.Models, c.Dir = choosable{t}, t.TempDir()
		c.UsualModel = func(agent string) string { return "stub/usual-of-" + agent }
	})
	session := w.session()
	seen := map[string]int64{}
	said := func(session, text string) string {
		t.Helper()
		reply := ""
		w.say(session, text)
		for _, e := range w.follow(session, seen[session]).until(ends) {
			seen[session] = max(seen[session], e.Seq)
			if replied, ok := e.Body.(*troupe.ModelReplied); ok {
				reply = replied.Message.Text
			}
		}
		return reply
	}
	if got := said(session, "one"); got != "You said: one" {
		t.Error(got)
	}
	if info := w.info(session); info.Model != "stub/usual-of-clerk" || info.Chosen != "" {
		t.Errorf("%+v", info)
	}
	var info sessionView
	w.want(http.StatusOK, &info, "PATCH", "/api/sessions/"+session, object{"model": "stub/b"})
	if info.Model != "stub/b" || info.Chosen != "stub/b" {
		t.Errorf("%+v", info)
	}
	if got := said(session, "two"); got != "I am stub/b" {
		t.Error(got)
	}
	if status, text := w.do("PATCH", "/api/sessions/"+session, object{"model": "stub/none"}); status != http.StatusBadRequest || !strings.Contains(text, "stub has no such model") {
		t.Errorf("%d %s", status, text)
	}
	w = w.restarted()
	if got := said(session, "three"); got != "I am stub/b" {
		t.Error(got)
	}
	if got := said(w.session(), "four"); got != "You said: four" {
		t.Error(got)
	}
	// What answers next is said by the same kind of name, whoever has answered before.
	w.want(http.StatusOK, &info, "PATCH", "/api/sessions/"+session, object{"model": ""})
	if fresh := w.info(w.session()); info.Model != "stub/usual-of-clerk" || fresh.Model != info.Model {
		t.Errorf("%q, and %q in a new session", info.Model, fresh.Model)
	}
}
