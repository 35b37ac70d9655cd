//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// question is what everybody says to it, and greeting what needs no calculation.
const (
	question = "What is six times seven?"
	greeting = "Say what you have said to everybody."
)

// tokens is how many pieces an answer has.
const tokens = 40

// A model is a server of the chat-completions API. It first asks for a calculation,
// unless it is only greeted, and then tells the result, token by token.
type model struct {
	server http.Server
	done   sync.WaitGroup
	url    string
	// pace is how long each piece of an answer takes, in nanoseconds.
	pace atomic.Int64

	mu         sync.Mutex
	open, most int // answers that are being told, now and ever
}

func serveModel() (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + listener.Addr().String() + "/v1"}
	m.server.Handler = m
	m.done.Go(func() { m.server.Serve(listener) })
	return m, nil
}

func (m *model) close() {
	m.server.Close()
	m.done.Wait()
}

// ownTime is how long it takes at least, with nothing but the model, from a question
// to the first token of its answer.
func (m *model) ownTime() time.Duration {
	return time.Duration(m.pace.Load()) * time.Duration(len(asking)+1)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has left
	}
	answer := asking
	if isLast(body, `"role":"tool"`) || isLast(body, `"role":"user","content":"`+greeting) {
		answer = telling
		m.count(1)
		defer m.count(-1)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for _, piece := range answer {
		if pace := time.Duration(m.pace.Load()); pace > 0 && !sleep(r.Context(), pace) {
			return
		}
		io.WriteString(w, piece)
		control.Flush()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// isLast says whether the last message of a request begins so.
func isLast(request []byte, message string) bool {
	last := bytes.LastIndex(request, []byte(`"role":`))
	return last >= 0 && bytes.HasPrefix(request[last:], []byte(message))
}

func (m *model) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open += n
	m.most = max(m.most, m.open)
}

// mostOpen returns how many answers were told at the same time, at most.
func (m *model) mostOpen() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

// asking and telling are the model's two answers, as they go over the wire.
var asking, telling = answers()

func answers() (asking, telling []string) {
	asking = []string{
		chunk(`{"tool_calls":[{"index":0,"id":"call-1","type":"function","function":{"name":"calculator","arguments":"{\"expression\":"}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"6*7\"}"}}]}`, "null"),
		ending("tool_calls"),
	}
	for _, word := range strings.Fields(answer) {
		telling = append(telling, chunk(fmt.Sprintf(`{"content":"%s "}`, word), "null"))
	}
	return asking, append(telling, ending("stop"))
}

// answer is what the model says in the end, a token a word.
var answer = strings.Repeat("it is 42 ", tokens/3) + "indeed "

func ending(finish string) string {
	return chunk(`{}`, `"`+finish+`"`) +
		"data: {\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":40,\"total_tokens\":140}}\n\ndata: [DONE]\n\n"
}

func chunk(delta, finish string) string {
	return fmt.Sprintf("data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
}
