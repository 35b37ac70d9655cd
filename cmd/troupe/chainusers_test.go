package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// A desk is a server with two users, in front of a model that works.
type desk struct {
	model *workingModel
	dir   string
	base  string
	stop  func() // without a warning
}

var deskTokens = map[string]string{"ann": strings.Repeat("a", 40), "bob": strings.Repeat("b", 40)}

func (d *desk) serve(t *testing.T) {
	t.Helper()
	base, _, server := serveProcess(t, d.dir, io.Discard, "HOME=/no-home", "TROUPE_LOOK_FOR_OLLAMA=no", "ANN="+deskTokens["ann"], "BOB="+deskTokens["bob"])
	d.base = base
	d.stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
}

// asks has a user send a message in a new session, and returns what came of it; "" where the
// server was killed meanwhile.
func (d *desk) asks(t *testing.T, user string, k work) string {
	d.model.mu.Lock()
	d.model.now, d.model.author = k, "by "+user+"\n"
	d.model.mu.Unlock()
	agent, err := json.Marshal(k.agent)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":` + string(agent) + `,"messages":[{"role":"user","content":"` + k.command + `"}]}`
	req, err := http.NewRequestWithContext(t.Context(), "POST", d.base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+deskTokens[user])
	req.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// documents are those of a user, by their names.
func (d *desk) documents(t *testing.T, user string) map[string]string {
	t.Helper()
	var list struct{ Files []struct{ Path string } }
	request(t, "GET", d.base+"/api/documents", deskTokens[user], "", &list)
	found := map[string]string{}
	for _, f := range list.Files {
		if _, double := found[f.Path]; double {
			t.Errorf("%s is listed twice", f.Path)
		}
		req, err := http.NewRequestWithContext(t.Context(), "GET", d.base+"/api/documents/files/"+f.Path+"?raw=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+deskTokens[user])
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		found[f.Path] = string(text)
	}
	return found
}

// isKilled has the server killed once ann's document is saved, and the run resumed by the
// next one.
func (d *desk) isKilled(t *testing.T, k work) {
	t.Helper()
	stall, saved := make(chan struct{}), make(chan struct{})
	d.model.mu.Lock()
	d.model.stall, d.model.saved = stall, saved
	d.model.mu.Unlock()
	ended := make(chan string)
	go func() { ended <- d.asks(t, "ann", k) }()
	select {
	case <-saved:
	case text := <-ended:
		t.Fatalf("%s does not save: %s", k.agent, text)
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s does not save", k.agent)
	}
	d.stop()
	<-ended
	close(stall)
	d.serve(t)
	var cut []struct{ ID, Status string }
	if request(t, "GET", d.base+"/api/sessions?status=interrupted", deskTokens["ann"], "", &cut); len(cut) != 1 {
		t.Fatalf("interrupted: %v", cut)
	}
	if code := request(t, "POST", d.base+"/api/sessions/"+cut[0].ID+"/resume", deskTokens["ann"], "", nil); code != http.StatusAccepted {
		t.Fatalf("resuming: %d", code)
	}
	until(t, "the run is finished", func() bool {
		var s struct{ Status string }
		request(t, "GET", d.base+"/api/sessions/"+cut[0].ID, deskTokens["ann"], "", &s)
		return s.Status == "completed"
	})
}

// Two users of one server work from the brief to the review, one beside the other, and the
// server is killed in the middle. What is kept belongs to whoever had it written; what is in
// place is the project's, once, with the earlier version beside it.
func TestTwoUsersOfOneServerPlayTheChain(t *testing.T) {
	for _, tree := range []string{"installed-4.44", "installed-6.5.0"} {
		for _, mode := range []string{"kept", "in-place"} {
			t.Run(tree+" "+mode, func(t *testing.T) {
				d := &desk{model: &workingModel{}, dir: t.TempDir()}
				if err := os.CopyFS(d.dir, os.DirFS(corpus.Path(t, "bmad/"+tree))); err != nil {
					t.Fatal(err)
				}
				server := httptest.NewServer(d.model)
				defer server.Close()
				config := "model: local/m\nproviders: {local: {base_url: \"" + server.URL + "/v1\"}}\nlimits: {model_tries: 1}\n" +
					"documents: " + mode + "\nserver: {users: {ann: ANN, bob: BOB}}\n"
				if err := os.WriteFile(filepath.Join(d.dir, "troupe.yaml"), []byte(config), 0o600); err != nil {
					t.Fatal(err)
				}
				d.serve(t)
				defer func() { d.stop() }()
				d.play(t, workOf[tree], mode == "kept")
			})
		}
	}
}

// play has both users do the work, and looks at what they have then.
func (d *desk) play(t *testing.T, chain []work, isKept bool) {
	t.Helper()
	for i, k := range chain {
		if i == 1 {
			d.isKilled(t, k)
		} else if text := d.asks(t, "ann", k); !strings.Contains(text, "WORK DONE") {
			t.Fatalf("ann: %s %s: %s", k.agent, k.command, text)
		}
		if theirs := d.documents(t, "bob"); isKept && len(theirs) != i {
			t.Fatalf("bob has %d documents before he did any work with %s: %v", len(theirs), k.agent, theirs)
		}
		if text := d.asks(t, "bob", k); !strings.Contains(text, "WORK DONE") {
			t.Fatalf("bob: %s %s: %s", k.agent, k.command, text)
		}
	}
	for _, user := range []string{"ann", "bob"} {
		author := user
		if !isKept {
			author = "bob" // who was the last one
		}
		found := d.documents(t, user)
		if len(found) != len(chain) {
			t.Errorf("%s has %d documents of %d", user, len(found), len(chain))
		}
		for name, text := range found {
			if !strings.HasSuffix(text, "\nby "+author+"\n") {
				t.Errorf("%s, %s: %q", user, name, text)
			}
			if onDisk, err := os.ReadFile(filepath.Join(d.dir, name)); !isKept && (err != nil || string(onDisk) != text) || isKept && err == nil && strings.Contains(string(onDisk), "by ") {
				t.Errorf("%s in the project: %q, %v", name, onDisk, err)
			}
		}
	}
}
