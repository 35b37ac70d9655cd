package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Files of one conversation come with the first message of another, once, for whoever
// may read them.
func TestFilesAreGivenToANewSession(t *testing.T) {
	var w *world
	model := scriptedFunc(func(req *troupe.Request) troupe.Chunk {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == troupe.RoleUser && last.Text == "save" {
			return troupe.Chunk{Call: &troupe.ToolCall{ID: "c", Name: "save", Arguments: `{"content":"# Brief"}`}}
		}
		var names []string
		for _, p := range last.Parts {
			names = append(names, fmt.Sprintf("%s %s %s", p.Name, p.MIME, p.Data))
		}
		return troupe.Chunk{Text: "I have: " + strings.Join(names, ", ")}
	})
	w = open(t, clerk(t, model, saving(func() *world { return w })), withUsers)
	first := w.session()
	w.talk(first, "save")
	given := newSession{Agent: "clerk", Files: []fileName{{first, "brief.md"}}}
	var made sessionView
	w.want(http.StatusCreated, &made, "POST", "/api/sessions", given)
	w.renew() // what was given outlives the server
	events := w.talk(made.ID, "here")
	last := events[len(events)-1]
	if end, ok := last.Body.(*troupe.RunFinished); !ok || end.Output.Summary != "I have: brief.md text/plain # Brief" {
		t.Errorf("%+v", last.Body)
	}
	w.say(made.ID, "and now?")
	events = w.follow(made.ID, last.Seq).until(ends)
	if end, ok := events[len(events)-1].Body.(*troupe.RunFinished); !ok || end.Output.Summary != "I have: " {
		t.Errorf("the files came a second time: %+v", events[len(events)-1].Body)
	}
	w.want(http.StatusNotFound, nil, "POST", "/api/sessions", given, as(tokenOfBob))
	for _, files := range [][]fileName{{{first, "absent.md"}}, {{first, "../" + first + "/brief.md"}}, {{"", "brief.md"}}, {{"", "/etc/passwd"}}} {
		w.want(http.StatusNotFound, nil, "POST", "/api/sessions", newSession{Agent: "clerk", Files: files})
	}
	w.want(http.StatusRequestEntityTooLarge, nil, "POST", "/api/sessions", newSession{Agent: "clerk", Files: make([]fileName, mostAttachments+1)})
}

func TestAFileIsGivenAsWhatItIs(t *testing.T) {
	for name, want := range map[string]string{"a.md": "text/plain", "a.csv": "text/plain", "a.svg": "text/plain", "a.png": "image/png", "a.pdf": "application/pdf", "a": "text/plain"} {
		if got := mediaTypeOf(name, "text"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := mediaTypeOf("a.bin", "\xff"); strings.HasPrefix(got, "text/") {
		t.Error(got)
	}
}
