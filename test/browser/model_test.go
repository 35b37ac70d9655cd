package browser

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A model speaks the chat-completions API, and says what the test says, when it
// says it.
type model struct {
	*httptest.Server
	asks chan *ask
}

// An ask is a question to the model that is being answered.
type ask struct {
	t *testing.T
	// last is the last message, and role whose it is; user is the user's last one.
	last, role, user string
	// all is the whole request, model the one that is asked.
	all, model string
	// mayWrite says that it was offered the tool that writes files.
	mayWrite bool

	pieces chan string
	gone   <-chan struct{} // closed when nobody listens any more
	// mayBeLeft says that nobody has to listen to the end: who answers is no part of what
	// the test does step by step, and goes on until the server is gone.
	mayBeLeft bool
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{asks: make(chan *ask)}
	m.Server = httptest.NewServer(m.answering(t))
	t.Cleanup(func() {
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

func (m *model) answering(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // which models there are
			io.WriteString(w, `{"data":[{"id":"stub-1"}]}`)
			return
		}
		var request struct {
			Messages []struct {
				Role    string
				Content json.RawMessage // a text, or parts
			}
			Tools []any
			Model string
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &request)
		}
		if err != nil {
			t.Errorf("a request to the model: %v", err)
			return
		}
		a := &ask{t: t, model: request.Model, all: string(body), mayWrite: len(request.Tools) > 0, pieces: make(chan string), gone: r.Context().Done()}
		for _, message := range request.Messages {
			a.last, a.role = "", message.Role
			json.Unmarshal(message.Content, &a.last) // parts are no text
			if a.role == "user" {
				a.user = a.last
			}
		}
		select {
		case m.asks <- a:
		case <-a.gone:
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case piece, more := <-a.pieces:
				if !more {
					fmt.Fprint(w, "data: [DONE]\n\n")
					return
				}
				fmt.Fprintf(w, "data: %s\n\n", piece)
				http.NewResponseController(w).Flush()
			case <-a.gone:
				return
			}
		}
	}
}

// asked waits for the model to be asked.
func (m *model) asked(t *testing.T) *ask {
	t.Helper()
	select {
	case a := <-m.asks:
		return a
	case <-time.After(patience):
		t.Fatal("the model is not asked")
		return nil
	}
}

// answers answers the next question with a text.
func (m *model) answers(t *testing.T, text string) {
	t.Helper()
	a := m.asked(t)
	a.say(text)
	a.end()
}

// calls answers the next question with a call of a tool.
func (m *model) calls(t *testing.T, tool string, arguments any) {
	t.Helper()
	m.asked(t).call(tool, arguments)
}

func (a *ask) call(tool string, arguments any) {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	a.send(map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": "call", "type": "function", "function": map[string]any{"name": tool, "arguments": string(data)},
	}}}, nil)
	a.send(map[string]any{}, "tool_calls")
	close(a.pieces)
}

func (a *ask) say(text string) { a.send(map[string]any{"content": text}, nil) }

func (a *ask) end() {
	a.send(map[string]any{}, "stop")
	close(a.pieces)
}

func (a *ask) send(delta map[string]any, finish any) {
	data, err := json.Marshal(map[string]any{
		"model": a.model, "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		"usage": map[string]int{"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280},
	})
	if err != nil {
		panic(err)
	}
	select {
	case a.pieces <- string(data):
	case <-a.gone:
		if a.mayBeLeft {
			return
		}
		a.t.Errorf("nobody listens to the model's %.40q", strings.TrimSpace(string(data)))
	}
}

// isLeft waits until nobody listens any more.
func (a *ask) isLeft() {
	a.t.Helper()
	select {
	case <-a.gone:
	case <-time.After(patience):
		a.t.Fatal("the model is still listened to")
	}
}
