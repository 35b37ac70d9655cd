package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// writer is a world whose agent saves each message as its next version of brief.md.
func writer(t *testing.T, options ...option) *world {
	var w *world
	model := scriptedFunc(func(req *troupe.Request) troupe.Chunk {
		last := req.Messages[len(req.Messages)-1]
		if last.Role != troupe.RoleUser {
			return troupe.Chunk{Text: "Done."}
		}
		arguments, _ := json.Marshal(object{"content": last.Text})
		return troupe.Chunk{Call: &troupe.ToolCall{ID: "c", Name: "save", Arguments: string(arguments)}}
	})
	w = open(t, clerk(t, model, saving(func() *world { return w })), options...)
	return w
}

// savedVersions are the numbers that the events of a session give to what was saved.
func savedVersions(t *testing.T, events []json.RawMessage) (numbers []int) {
	t.Helper()
	for _, data := range events {
		var e struct {
			Kind string `json:"kind"`
			Body struct {
				Version int `json:"version"`
			} `json:"body"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == "artifact_saved" {
			numbers = append(numbers, e.Body.Version)
		}
	}
	return numbers
}

// The versions of a file have one numbering, in which those by hand count, whoever asks.
func TestVersionsAreCountedTheSameEverywhere(t *testing.T) {
	w := writer(t, func(c *Config) { c.UserName = "Ann" })
	session := w.session()
	path := "/api/sessions/" + session
	w.talk(session, "# One")
	var v Version
	w.want(http.StatusOK, &v, "PUT", path+"/files", fileEdit{Path: "brief.md", Content: "# By hand\nand longer", Version: 1})
	listed := func(want libraryFile) {
		t.Helper()
		var list libraryList
		w.want(http.StatusOK, &list, "GET", "/api/files", nil)
		var found searchResult
		w.want(http.StatusOK, &found, "GET", "/api/search?q=brief", nil)
		for _, f := range append(list.Files, found.Files...) {
			if f.Version != want.Version || f.By != want.By || f.ByHand != want.ByHand || f.Size != want.Size || f.Heading != want.Heading {
				t.Errorf("%+v, want %+v", f, want)
			}
		}
		if len(list.Files) != 1 || len(found.Files) != 1 {
			t.Errorf("%+v %+v", list, found)
		}
	}
	listed(libraryFile{Version: 2, By: "Ann", ByHand: true, Size: 20, Heading: "By hand"})
	var list libraryList
	if w.want(http.StatusOK, &list, "GET", "/api/files?by=Ann", nil); len(list.Files) != 1 {
		t.Errorf("of Ann's: %+v", list)
	}
	if w.want(http.StatusOK, &v, "PUT", path+"/files", fileEdit{Path: "brief.md", Content: "# By hand\nand longer", Version: 2}); v.Number != 2 {
		t.Errorf("the same text again is version %d", v.Number)
	}
	if edited := w.info(session).Edited; edited["brief.md"] != 2 {
		t.Errorf("the session says that version %v is by hand", edited)
	}
	w.talk(session, "# Three")
	if edited := w.info(session).Edited; len(edited) != 0 {
		t.Errorf("the session says that version %v is by hand", edited)
	}
	listed(libraryFile{Version: 3, By: "clerk", Size: 7})
	w.want(http.StatusOK, &v, "POST", path+"/restore", restore{"brief.md", 1})
	w.talk(session, "# Five")
	if v.Number != 4 {
		t.Errorf("brought back as %+v", v)
	}

	var page eventPage
	w.want(http.StatusOK, &page, "GET", path+"/events?before=1000000&limit=200", nil)
	if got := savedVersions(t, page.Events); len(got) != 3 || got[0] != 1 || got[1] != 3 || got[2] != 5 {
		t.Errorf("the events count %v", got)
	}
	follower := w.follow(session, 0)
	for streamed := 0; streamed < 3; {
		event, err := follower.reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range savedVersions(t, []json.RawMessage{event.Data}) {
			if number != []int{1, 3, 5}[streamed] {
				t.Errorf("the stream says version %d", number)
			}
			streamed++
		}
	}
	var versions []Version
	w.want(http.StatusOK, &versions, "GET", path+"/versions?path=brief.md", nil)
	for i, want := range []string{"# Five", "# One", "# Three", "# By hand\nand longer", "# One"} {
		_, text := w.do("GET", path+"/files/brief.md?raw&version="+strconv.Itoa(5-i), nil)
		if versions[i].Number != 5-i || text != want {
			t.Errorf("version %d: %+v %q", 5-i, versions[i], text)
		}
	}
}

// Of several who have edited the same version one is the first; the others are told.
func TestOneOfManyWhoEditAVersionIsTheFirst(t *testing.T) {
	w := writer(t)
	session := w.session()
	w.talk(session, "# One")
	var saved, refused atomic.Int32
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			switch status, text := w.do("PUT", "/api/sessions/"+session+"/files", fileEdit{Path: "brief.md", Content: "by " + strconv.Itoa(n), Version: 1}); {
			case status == http.StatusOK:
				saved.Add(1)
			case status == http.StatusConflict && strings.Contains(text, `"edited"`):
				refused.Add(1)
			default:
				t.Errorf("%d %s", status, text)
			}
		})
	}
	all.Wait()
	if saved.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d were saved and %d refused", saved.Load(), refused.Load())
	}
}

// What no call says and no event tells of is in the file alone, until somebody writes into it.
func TestAHandEditKeepsWhatWasInTheFile(t *testing.T) {
	var w *world
	change := troupe.NewToolWithCall("save", "Changes a text.", func(ctx context.Context, call *troupe.Invocation, in struct{}) (string, error) {
		w.write(call.Run.Session(), "brief.md", "# Changed in place")
		return "saved", call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: "{session-folder}/brief.md", Size: 18, SHA256: sumOf("# Changed in place")})
	})
	w = open(t, clerk(t, calling("save", `{}`), change))
	session := w.session()
	w.talk(session, "one")
	w.write(session, "given.md", "# Given")
	for name, before := range map[string]string{"brief.md": "# Changed in place", "given.md": "# Given"} {
		var v Version
		w.want(http.StatusOK, &v, "PUT", "/api/sessions/"+session+"/files", fileEdit{Path: name, Content: "# By hand", Version: 1})
		_, text := w.do("GET", "/api/sessions/"+session+"/files/"+name+"?raw&version=1", nil)
		if v.Number != 2 || text != before {
			t.Errorf("%s: saved as %+v, and version 1 is %q", name, v, text)
		}
	}
}

// A fork has the files as of its point, what people made of them included, and keeps what it has
// made of them itself.
func TestAForkHasTheFilesOfItsPoint(t *testing.T) {
	w := writer(t, func(c *Config) { c.UserName, c.Dir = "Ann", t.TempDir() })
	session := w.session()
	path := "/api/sessions/" + session
	w.talk(session, "# One")
	ended := w.info(session).Events
	var saved int64
	for _, e := range w.follow(session, 0).until(ends) {
		if _, ok := e.Body.(*troupe.ArtifactSaved); ok {
			saved = e.Seq
		}
	}
	w.want(http.StatusOK, nil, "PUT", path+"/files", fileEdit{Path: "brief.md", Content: "# By hand", Version: 1})
	w.talk(session, "# Two")
	brief := func(session string) string {
		t.Helper()
		status, text := w.do("GET", "/api/sessions/"+session+"/files/brief.md?raw", nil)
		if status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
		return text
	}
	for after, want := range map[int64]string{saved: "# One", ended: "# By hand", ended + 1: "# By hand", w.info(session).Events: "# Two"} {
		var made forked
		w.want(http.StatusCreated, &made, "POST", path+"/fork", cut{After: after})
		if got := brief(made.Session); got != want {
			t.Errorf("after %d of %d: it is %q, want %q", after, w.info(session).Events, got, want)
		}
	}
	var first, again forked
	key := with("Idempotency-Key", "once")
	w.want(http.StatusCreated, &first, "POST", path+"/fork", cut{After: ended}, key)
	w.talk(first.Session, "# Three")
	w.want(http.StatusCreated, &again, "POST", path+"/fork", cut{After: ended}, key)
	if got := brief(first.Session); again != first || got != "# Three" {
		t.Errorf("sent again, the fork's file is %q", got)
	}
	if got := brief(session); got != "# Two" {
		t.Errorf("the session's own file is %q", got)
	}
}

// twice is a cast that has a flow in which the clerk has two steps.
type twice struct{ cast }

func (twice) Flows() []Flow {
	return []Flow{{Name: "twice", Nodes: []FlowNode{{ID: "1", Kind: "agent", Agent: "clerk"}, {ID: "2", Kind: "agent", Agent: "clerk"}}}}
}

// A version that an agent wrote in a flow says in which of its steps.
func TestAVersionSaysItsStep(t *testing.T) {
	w := writer(t, func(c *Config) {
		own := c.Cast.(cast)
		agent, err := own["clerk"]()
		if err != nil {
			t.Fatal(err)
		}
		own["twice"] = func() (troupe.Step, error) { return flow.Sequence("twice", agent, agent), nil }
		c.Cast = twice{own}
	})
	var begun started
	w.want(http.StatusAccepted, &begun, "POST", "/api/flows/twice/runs", message{Text: "# One"})
	w.follow(begun.Session, 0).until(ends)
	var versions []Version
	w.want(http.StatusOK, &versions, "GET", "/api/sessions/"+begun.Session+"/versions?path=brief.md", nil)
	if len(versions) != 2 || versions[0].Node != "2" || versions[1].Node != "1" || versions[1].Round != 0 {
		t.Errorf("versions are %+v", versions)
	}
}
