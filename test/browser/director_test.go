package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// A reply is what the model does when it is asked: it calls a tool, or it says
// something, or both. One that is held goes on until the test ends, one that fails is an error.
type reply struct {
	tool      string
	arguments any
	text      string
	held      bool
	fails     bool
}

// A script is what the model does, in order, whenever what it is asked contains a text.
type script struct {
	when    string
	replies []reply
}

// directed has scripts answer for the model. The first whose text is in the request
// and that has a reply left gives it; what none is for gets a plain answer.
func (m *model) directed(t *testing.T, scripts ...script) {
	t.Helper()
	var mu sync.Mutex
	next := make([]int, len(scripts))
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	perform := func(a *ask) {
		a.mayBeLeft = true
		mu.Lock()
		answer := reply{text: "I have read it and have nothing to add."}
		for i, s := range scripts {
			if strings.Contains(a.all, asJSON(s.when)) && next[i] < len(s.replies) {
				answer = s.replies[next[i]]
				next[i]++
				break
			}
		}
		mu.Unlock()
		switch {
		case answer.tool != "":
			if answer.text != "" {
				a.say(answer.text)
			}
			a.call(answer.tool, answer.arguments)
		case answer.fails:
			select {
			case a.pieces <- `{"error":{"message":"The machine is ill.","type":"server_error","code":400}}`:
				close(a.pieces)
			case <-a.gone:
			}
		case answer.held:
			a.say(answer.text)
			select {
			case <-done:
			case <-a.gone:
			}
		default:
			a.say(answer.text)
			a.end()
		}
	}
	go func() {
		for {
			select {
			case a := <-m.asks:
				go perform(a)
			case <-done:
				return
			}
		}
	}()
}

// asJSON is a text as it stands in a request.
func asJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return strings.Trim(string(data), `"`)
}

// tree copies an installation of the corpus into a new project, with files beside it.
func tree(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := project(t, files)
	if err := os.CopyFS(dir, os.DirFS(corpus.Path(t, "bmad/"+name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asks says something in a conversation and waits for the answer. An empty session
// begins one; it returns the conversation's id.
func (h *house) asks(t *testing.T, agent, session, text string) string {
	t.Helper()
	answer := h.post(t, "/api/chat", map[string]string{"agentId": agent, "message": text, "conversationId": session})
	if found := conversationID.FindStringSubmatch(answer); found != nil {
		return found[1]
	}
	if session == "" {
		t.Fatalf("no conversation began: %s", answer)
	}
	return session
}

// begins says something in a new conversation and does not wait.
func (h *house) begins(t *testing.T, agent, text string) string {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(h.post(t, "/api/sessions", map[string]string{"agent": agent})), &made); err != nil {
		t.Fatal(err)
	}
	h.post(t, fmt.Sprintf("/api/sessions/%s/messages", made.ID), map[string]string{"text": text})
	return made.ID
}
