//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A model is a server of the chat-completions API. What it answers depends on the
// conversation alone: the user's message says, for each agent, what to do in each
// turn, as in
//
//	T7 {scribe=write:a.md+calc,ledger} {critic=calc}
//
// and the model does so, turn by turn, and then says that it is done.
type model struct {
	server http.Server
	done   sync.WaitGroup
	url    string
	report *report

	mu       sync.Mutex
	asked    map[string]int  // how often, by turn
	recorded map[string]bool // whether the reply was found in a log
}

// pace is the time between two pieces of an answer: long enough to be killed in.
const pace = 4 * time.Millisecond

func serveModel(r *report) (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + listener.Addr().String() + "/v1", report: r, asked: map[string]int{}, recorded: map[string]bool{}}
	m.server.Handler = m
	m.done.Go(func() { m.server.Serve(listener) })
	return m, nil
}

func (m *model) close() {
	m.server.Close()
	m.done.Wait()
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A turn is one request of a conversation: the task and the agent, how many answers
// it has had, and what it is to do now.
type turn struct {
	name  string // T7-scribe-0
	calls []string
}

var (
	agentIs = regexp.MustCompile(`^You are (?:the )?(\w+)`)
	taskIs  = regexp.MustCompile(`\bT[0-9]+\b`)
)

// turnOf finds out which turn a conversation is at.
func turnOf(messages []message) (t turn, err error) {
	var agent, task, script string
	n := 0
	for _, m := range messages {
		switch found := agentIs.FindStringSubmatch(m.Content); {
		case m.Role == "system" && found != nil && agent == "":
			agent = strings.ToLower(found[1])
		case m.Role == "user" && taskIs.MatchString(m.Content):
			task, script, n = taskIs.FindString(m.Content), m.Content, 0
		case m.Role == "assistant":
			n++
		}
	}
	if agent == "" || task == "" {
		return turn{}, fmt.Errorf("nobody knows what to say to %v", messages)
	}
	t.name = fmt.Sprintf("%s-%s-%d", task, agent, n)
	_, script, _ = strings.Cut(script, "{"+agent+"=")
	script, _, _ = strings.Cut(script, "}")
	if turns := strings.Split(script, ","); script != "" && n < len(turns) {
		t.calls = strings.Split(turns[n], "+")
	}
	return t, nil
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asks was killed
	}
	var request struct {
		Messages []message `json:"messages"`
	}
	var t turn
	if err = json.Unmarshal(body, &request); err == nil {
		t, err = turnOf(request.Messages)
	}
	if err != nil {
		m.report.problem("a request to the model: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.ask(t.name)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range t.answer() {
		if !sleep(r.Context(), pace) {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", chunk)
		http.NewResponseController(w).Flush()
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

// ask counts a request. What is on record is not asked for again.
func (m *model) ask(name string) {
	m.report.add(modelCalls, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked[name]++; m.asked[name] > 1 {
		m.report.add(askedAgain, 1)
	}
	if m.recorded[name] {
		m.report.problem("turn %s is on record, and the model was asked again", name)
	}
}

// record notes that a log has the reply of a turn.
func (m *model) record(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorded[name] = true
}

// check compares the requests of a task with its replies: each reply was asked for,
// once, and once more for each kill at most.
func (m *model) check(task string, kills int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.recorded {
		if n := m.asked[name]; strings.HasPrefix(name, task+"-") && (n < 1 || n > 1+kills) {
			m.report.problem("turn %s is on record; the model was asked %d times, with %d kills", name, n, kills)
		}
	}
}

// answer returns the chunks of the turn's answer.
func (t turn) answer() (chunks []string) {
	add := func(delta map[string]any, finish any) {
		data, _ := json.Marshal(map[string]any{"model": "m", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		chunks = append(chunks, string(data))
	}
	finish, text := "tool_calls", ": on with it."
	if t.calls == nil {
		finish, text = "stop", ": all that was asked for is done, and it was written down where it should be."
	}
	for _, word := range strings.SplitAfter(t.name+text, " ") {
		add(map[string]any{"content": word}, nil)
	}
	for i, call := range t.calls {
		id := fmt.Sprintf("%s-%d", t.name, i)
		tool, arguments := callOf(call, id)
		data, _ := json.Marshal(arguments)
		for j, part := range []string{"", string(data[:len(data)/2]), string(data[len(data)/2:])} {
			function := map[string]any{"arguments": part}
			piece := map[string]any{"index": i, "function": function}
			if j == 0 {
				piece["id"], piece["type"], function["name"] = id, "function", tool
			}
			add(map[string]any{"tool_calls": []any{piece}}, nil)
		}
	}
	add(map[string]any{}, finish)
	return append(chunks, "[DONE]")
}

// callOf turns a word of a task into a call. Whatever is written tells by which call.
func callOf(word, id string) (tool string, arguments map[string]string) {
	kind, file, _ := strings.Cut(word, ":")
	switch kind {
	case "calc":
		return "calculator", map[string]string{"expression": "6*7"}
	case "ledger":
		return "ledger__enter", map[string]string{"line": id}
	case "save":
		tool = "save_output"
	default:
		tool = "write_file"
	}
	return tool, map[string]string{"file_path": "{session-folder}/" + file, "content": strings.Repeat(id+" wrote this line.\n", 400)}
}
