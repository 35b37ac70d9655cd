package server

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// had stores a conversation as it was had some minutes after the first one: what somebody said to
// an agent, and how that ended. asked, where it is not empty, is what a tool asked before.
func (w *world) had(session, agent string, minute int, answer, stop, asked string) {
	w.t.Helper()
	log := []troupe.Event{}
	add := func(body troupe.Body) {
		at := time.Date(2026, 1, 1, 0, minute, 0, len(log), time.UTC)
		log = append(log, troupe.Event{Seq: int64(len(log) + 1), Time: at, Session: session, Run: "run-" + session, Agent: agent, Body: body})
	}
	add(&troupe.RunStarted{})
	add(&troupe.UserSaid{Text: "About " + session})
	if asked != "" {
		add(&troupe.InputRequested{ID: "q", Question: asked, CallID: "c", Tool: "ask"})
	}
	add(&troupe.RunFinished{Output: troupe.Handoff{Summary: answer}, Stop: stop})
	if err := w.store.Append(w.t.Context(), session, log...); err != nil {
		w.t.Fatal(err)
	}
}

// What waits for somebody is listed however many newer conversations there are, by itself and with
// the latest; what an agent was asked for is listed by itself, and any list goes on.
func TestWhatWaitsIsListedHoweverOldItIs(t *testing.T) {
	w := open(t, clerk(t, echo()))
	w.had("waits", "clerk", 0, "", "input_requested", "Shall I?")
	w.had("asks", "clerk", 1, "Done. Which one do you want, the red or the blue one?", "answered", "")
	w.had("delivery", Pipeline, 2, "", "input_requested", "Go on?")
	w.had("round", "round", 3, "It is done.", "answered", "")
	const newer = 250
	for n := range newer {
		w.had(fmt.Sprintf("talk-%03d", n), "clerk", 10+n, "It is done.", "answered", "")
	}
	listed := func(query string) (ids []string) {
		t.Helper()
		var list []troupe.SessionInfo
		w.want(http.StatusOK, &list, "GET", "/api/sessions"+query, nil)
		for _, info := range list {
			ids = append(ids, info.ID)
		}
		return ids
	}
	for range 2 { // before and after everything was looked at
		for query, want := range map[string][]string{
			"?status=waiting":                     {"delivery", "asks", "waits"},
			"?status=waiting&limit=1":             {"delivery"},
			"?status=waiting&agent=clerk":         {"asks", "waits"},
			"?status=waiting&q=Shall":             {"waits"},
			"?agent=" + Pipeline:                  {"delivery"},
			"?agent=" + Pipeline + "&agent=round": {"round", "delivery"},
			"?limit=2&open=1":                     {"talk-249", "talk-248", "delivery", "asks", "waits"},
			"?limit=2&skip=249":                   {"talk-000", "round"},
			"?limit=2&skip=900":                   nil,
		} {
			if got := listed(query); !slices.Equal(got, want) {
				t.Errorf("%s: %v, not %v", query, got, want)
			}
		}
		if got := listed("?limit=1000"); len(got) != newer+4 {
			t.Errorf("%d are listed in all", len(got))
		}
	}
	w.want(http.StatusBadRequest, nil, "GET", "/api/sessions?skip=x", nil)
}

// What runs is listed however old it is.
func TestWhatRunsIsListedHoweverOldItIs(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	session := w.session()
	w.say(session, "Begin")
	w.follow(session, 0).until(isKind("text_delta"))
	for n := range 3 {
		w.had(fmt.Sprintf("talk-%d", n), "clerk", 365*24*60*100+n, "It is done.", "answered", "")
	}
	var list []troupe.SessionInfo
	w.want(http.StatusOK, &list, "GET", "/api/sessions?limit=1&open=1", nil)
	if len(list) != 2 || list[1].ID != session || list[1].Status != "running" {
		t.Errorf("listed is %+v", list)
	}
	words <- "done"
	w.follow(session, 0).until(ends)
}
