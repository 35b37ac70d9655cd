package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/internal/peers"
	"github.com/troupe-dev/troupe/troupetest"
)

// An a2aPlan is what the JavaScript client is to do: see tools/npm/clients/a2a.mjs.
type a2aPlan struct {
	URL    string      `json:"url"`
	Token  string      `json:"token,omitempty"`
	Legacy bool        `json:"legacy,omitempty"`
	Steps  []arguments `json:"steps"`
}

type a2aStatus struct {
	State   any
	Message *struct {
		Parts []a2aPart
	}
}

type a2aPart struct {
	Content struct {
		Text, Raw string
		Data      any
	}
	Filename, MediaType string
}

type a2aTask struct {
	ID, ContextID string
	Status        a2aStatus
	Artifacts     []struct {
		ArtifactID string
		Parts      []a2aPart
	}
}

func (t *a2aTask) artifact(id string) string {
	var b strings.Builder
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			if a.ArtifactID == id {
				b.WriteString(p.Content.Text + p.Content.Raw)
			}
		}
	}
	return b.String()
}

// What the client has seen.
type a2aSeen struct {
	Version string
	Card    struct {
		Name, Description string
		Skills            []struct{ ID, Name string }
		Capabilities      struct{ Streaming, PushNotifications bool }
	}
	Results []struct {
		Error string
		a2aTask
		Task  json.RawMessage
		Tasks []a2aTask
	}
	Events [][]struct {
		Task           *a2aTask
		StatusUpdate   *struct{ Status a2aStatus }
		ArtifactUpdate *struct {
			Append, LastChunk bool
			Artifact          struct {
				ArtifactID string
				Parts      []a2aPart
			}
		}
	}
}

// The states of tasks as the SDK numbers them.
const (
	stateWorking = 2.0 + iota
	stateCompleted
	stateFailed
	stateCanceled
	stateInputRequired
)

func (s *a2aSeen) states(step int) (states []any) {
	for _, e := range s.Events[step] {
		if e.StatusUpdate != nil {
			states = append(states, e.StatusUpdate.Status.State)
		}
	}
	return states
}

func (s *a2aSeen) said(step int) string {
	var b strings.Builder
	for _, e := range s.Events[step] {
		if e.StatusUpdate != nil && e.StatusUpdate.Status.Message != nil {
			for _, p := range e.StatusUpdate.Status.Message.Parts {
				b.WriteString(p.Content.Text + "\n")
			}
		}
	}
	return b.String()
}

func useA2A(t *testing.T, plan a2aPlan) (seen a2aSeen) {
	t.Helper()
	runClient(t, "a2a.mjs", plan, &seen)
	return seen
}

// An answer that came in pieces is one part of the finished task: clients show parts as
// paragraphs.
func TestAFinishedAnswerIsOnePart(t *testing.T) {
	models := newHeldModel(t)
	models.let <- struct{}{}
	base, token, stop := serveIn(t, clerkAt(t, models.URL), "CANARY=k")
	seen := useA2A(t, a2aPlan{URL: base + "/a2a/clerk", Token: token, Steps: []arguments{
		{"do": "send", "text": "Well?"}, {"do": "getTask", "with": arguments{"id": "$task"}},
	}})
	for i, r := range seen.Results {
		if r.Error != "" || len(r.Artifacts) != 1 || len(r.Artifacts[0].Parts) != 1 || r.artifact("answer") != "First half, second half." {
			t.Errorf("step %d: %s %+v", i, r.Error, r.Artifacts)
		} else if kind := r.Artifacts[0].Parts[0].MediaType; kind != "text/markdown" {
			t.Errorf("step %d: it is %q", i, kind)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The official JavaScript client gives an agent a task that asks back: it is streamed, is
// answered, leaves a file, is on record, and goes on in its context.
func TestAnA2AClientGivesATaskThatAsksBack(t *testing.T) {
	models := troupetest.NewServer(t, writes("{session-folder}/otter.md", "# Otters"), troupetest.ServeText("It is written."), troupetest.ServeText("Seals, too."))
	dir := clerkAt(t, models.URL)
	base, token, stop := serveIn(t, dir, "CANARY=k")
	seen := useA2A(t, a2aPlan{URL: base + "/a2a/clerk", Token: token, Steps: []arguments{
		{"do": "stream", "text": "Write about otters."},
		{"do": "stream", "message": arguments{"taskId": "$task", "contextId": "$context"}, "data": arguments{"decision": "approve"}},
		{"do": "getTask", "with": arguments{"id": "$task"}},
		{"do": "send", "text": "And seals?", "message": arguments{"contextId": "$context"}},
		{"do": "listTasks", "with": arguments{"contextId": "$context", "status": 0}},
		{"do": "send", "text": "x", "message": arguments{"taskId": "no-such-task"}},
		{"do": "send", "text": "x", "message": arguments{"contextId": "no-such-context"}},
	}})
	for i, r := range seen.Results[:5] {
		if r.Error != "" {
			t.Errorf("step %d: %s", i, r.Error)
		}
	}
	if seen.Version != "1.0" || seen.Card.Name != "clerk" || !seen.Card.Capabilities.Streaming || !seen.Card.Capabilities.PushNotifications || len(seen.Card.Skills) != 1 {
		t.Errorf("%q %+v", seen.Version, seen.Card)
	}
	if states := seen.states(0); len(states) == 0 || states[len(states)-1] != stateInputRequired || !strings.Contains(seen.said(0), "May I call write_file") {
		t.Errorf("asked: %v %s", states, seen.said(0))
	}
	if states := seen.states(1); len(states) == 0 || states[len(states)-1] != stateCompleted {
		t.Errorf("answered: %v %s", states, seen.said(1))
	}
	task := seen.Results[2].a2aTask
	if task.artifact("answer") != "It is written." || task.artifact("file/otter.md") != "# Otters" || task.Status.State != stateCompleted {
		t.Errorf("the task: %+v", task)
	}
	if seen.Results[3].artifact("answer") != "Seals, too." {
		t.Errorf("gone on with: %+v", seen.Results[3])
	}
	if list := seen.Results[4].Tasks; len(list) != 2 || list[1].ID != task.ID || list[0].ContextID != task.ContextID {
		t.Errorf("listed: %+v", list)
	}
	for i, want := range map[int]string{5: "not found", 6: "is no UUID"} {
		if !strings.Contains(seen.Results[i].Error, want) {
			t.Errorf("step %d: %+v", i, seen.Results[i])
		}
	}
	if code := request(t, "GET", base+"/a2a/clerk/.well-known/agent-card.json", "", "", nil); code != 401 {
		t.Errorf("the card for nobody: %d", code)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	// A task survives the server.
	base, token, stop = serveIn(t, dir, "CANARY=k")
	seen = useA2A(t, a2aPlan{URL: base + "/a2a/clerk", Token: token, Steps: []arguments{{"do": "getTask", "with": arguments{"id": task.ID}}}})
	if after := seen.Results[0].a2aTask; after.artifact("answer") != "It is written." {
		t.Errorf("after a restart: %+v", seen.Results[0])
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A delivery is a task as well: it asks at its gates, and ends with a report and a branch.
func TestAnA2AClientHasAChangeDelivered(t *testing.T) {
	dir := repositoryWith(t, "model: rehearsal\npipeline: {approve: plan, checks: [{name: test, run: sh check.sh}]}\n")
	base, token, stop := serveIn(t, dir, committer...)
	seen := useA2A(t, a2aPlan{URL: base + "/a2a/deliver", Token: token, Steps: []arguments{
		{"do": "stream", "text": "Add a greeting"},
		{"do": "stream", "message": arguments{"taskId": "$task", "contextId": "$context"}, "text": "go on"},
		{"do": "getTask", "with": arguments{"id": "$task"}},
	}})
	if states := seen.states(0); len(states) == 0 || states[len(states)-1] != stateInputRequired {
		t.Errorf("at the gate: %v %s %+v", states, seen.said(0), seen.Results[0])
	}
	if states := seen.states(1); len(states) == 0 || states[len(states)-1] != stateCompleted {
		t.Errorf("after it: %v %s %+v", states, seen.said(1), seen.Results[1])
	}
	report := seen.Results[2].report()
	branch, _ := report["branch"].(string)
	if report["outcome"] != "delivered" || !strings.HasPrefix(branch, "troupe/add-a-greeting-") {
		t.Errorf("the report: %v", report)
	}
	if out, err := exec.Command("git", "-C", dir, "ls-tree", "-r", "--name-only", branch).Output(); err != nil || !strings.Contains(string(out), "rehearsal/step-1.md") {
		t.Errorf("the branch %s: %v\n%s", branch, err, out)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A delivery whose checks fail is a task that has failed, with its report.
func TestAnA2AClientIsToldThatADeliveryFailed(t *testing.T) {
	dir := repositoryWith(t, "model: rehearsal\npipeline: {rounds: 1, checks: [{name: test, run: test ! -d rehearsal}]}\n")
	base, token, stop := serveIn(t, dir, committer...)
	seen := useA2A(t, a2aPlan{URL: base + "/a2a/deliver", Token: token, Steps: []arguments{{"do": "stream", "text": "Add a greeting"}, {"do": "getTask", "with": arguments{"id": "$task"}}}})
	if states := seen.states(0); len(states) == 0 || states[len(states)-1] != stateFailed {
		t.Errorf("%v %s", states, seen.said(0))
	}
	if outcome := seen.Results[1].report()["outcome"]; outcome == "delivered" || outcome == nil {
		t.Errorf("the report says %v", outcome)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// committer is who commits what servers of tests deliver.
var committer = []string{"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org"}

// repositoryWith makes a repository with a configuration and a check.
func repositoryWith(t *testing.T, config string) string {
	t.Helper()
	dir := write(t, config)
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), []byte("echo '# tests 1'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "begin"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// report is the artifact that a delivery's report is.
func (t *a2aTask) report() map[string]any {
	for _, a := range t.Artifacts {
		if report, ok := a.Parts[0].Content.Data.(map[string]any); ok && a.ArtifactID == "delivery" {
			return report
		}
	}
	return nil
}

// A task is pushed to whoever wants to hear of it, where the operator allows the address.
func TestAnA2ATaskIsPushed(t *testing.T) {
	var mu sync.Mutex
	var pushed []string
	heard := make(chan bool, 10)
	ears := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		pushed = append(pushed, r.Header.Get("A2A-Notification-Token")+" "+string(body))
		mu.Unlock()
		heard <- true
	}))
	defer ears.Close()
	models := troupetest.NewServer(t, troupetest.ServeText("Yes."))
	dir := clerkAt(t, models.URL)
	appendTo(t, dir, "web: {allow: [\""+strings.TrimPrefix(ears.URL, "http://")+"\"]}\n")
	base, token, stop := serveIn(t, dir, "CANARY=k")
	seen := useA2A(t, a2aPlan{URL: base + "/a2a/clerk", Token: token, Steps: []arguments{
		{"do": "send", "text": "Well?", "configuration": arguments{"acceptedOutputModes": []string{}, "taskPushNotificationConfig": arguments{"tenant": "", "id": "", "taskId": "", "url": ears.URL, "token": "secret"}}},
	}})
	if seen.Results[0].Error != "" {
		t.Fatalf("%+v", seen.Results[0])
	}
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Error("nothing was pushed")
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(pushed, "\n"); !strings.Contains(got, "secret ") || !strings.Contains(got, "TASK_STATE_COMPLETED") {
		t.Errorf("pushed: %s", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A client of the protocol's older version is understood, and a task is cancelled.
func TestAnOlderA2AClientIsUnderstoodAndCancels(t *testing.T) {
	url, _ := stallingServer(t)
	dir := clerkAt(t, url)
	base, token, stop := serveIn(t, dir, "CANARY=k")
	seen := useA2A(t, a2aPlan{URL: base + "/a2a/clerk", Token: token, Legacy: true, Steps: []arguments{
		{"do": "stream", "text": "Go.", "cancelOn": "has the message"}, {"do": "getTask", "with": arguments{"id": "$task"}},
	}})
	if !strings.HasPrefix(seen.Version, "0.3") || seen.Results[1].Status.State != stateCanceled {
		t.Errorf("%q %+v", seen.Version, seen.Results)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	p := start(t, dir, []string{"CANARY=k"}, nil, "--json", "sessions", "list")
	if p.code(); !strings.Contains(p.out.String(), `"cancelled"`) {
		t.Errorf("%s%s", &p.out, &p.err)
	}
}

// An agent of ours asks an agent of others, made with the official JavaScript SDK, which
// asks back; and one of ours, elsewhere.
func TestAnAgentAsksAgentsElsewhere(t *testing.T) {
	peer := startPeer(t, "a2aserver.mjs")
	far := troupetest.NewServer(t, troupetest.ServeText("Otters hold hands."))
	farBase, farToken, farStop := serveIn(t, clerkAt(t, far.URL), "CANARY=k")
	var sent []string
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, string(body)) // one request at a time
		call := func(id, tool string, with arguments) arguments {
			data, _ := json.Marshal(with)
			return arguments{"id": id, "type": "function", "function": arguments{"name": tool, "arguments": string(data)}}
		}
		delta := arguments{"content": "Done."}
		switch len(sent) {
		case 1:
			delta = arguments{"tool_calls": []any{call("c1", "ask_booking", arguments{"message": "Book a table."})}}
		case 2:
			found := regexp.MustCompile(`conversation \\"([^"\\]+)`).FindStringSubmatch(string(body))
			if found == nil {
				found = []string{"", "none"}
			}
			delta = arguments{"tool_calls": []any{call("c2", "ask_booking", arguments{"message": "For four.", "conversation": found[1]}), call("c3", "ask_clerk", arguments{"message": "Otters?"})}}
		}
		data, _ := json.Marshal(arguments{"choices": []any{arguments{"index": 0, "delta": delta, "finish_reason": "stop"}}})
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
	}))
	defer models.Close()
	dir := write(t, "model: local/m\nproviders: {local: {base_url: \""+models.URL+"/v1\", key_env: CANARY}}\nlimits: {model_tries: 1}\n"+
		"agents: {host: {instructions: You host., tools: [\"ask_*\"]}}\n"+
		"a2a: {booking: {url: \""+peer+"\"}, clerk: {url: \""+farBase+"/a2a/clerk\", headers: {Authorization: \"Bearer ${FAR}\"}}}\n")
	p := start(t, dir, []string{"CANARY=k", "FAR=" + farToken}, nil, "chat", "host", "-m", "A table, please.")
	if code := p.code(); code != 0 || !strings.Contains(p.out.String(), "Done.") {
		t.Fatalf("%d %s%s", code, &p.out, &p.err)
	}
	for i, want := range map[int][]string{0: {"Books tables."}, 1: {"For how many?"}, 2: {"Booked for four.", "Otters hold hands."}} {
		for _, text := range want {
			if !strings.Contains(sent[i], text) {
				t.Errorf("request %d lacks %q: %s", i, text, sent[i])
			}
		}
	}
	if err := farStop(); err != nil {
		t.Error(err)
	}
}

// startPeer starts a server of others, which prints its address.
func startPeer(t *testing.T, script string) string {
	t.Helper()
	peers.Npm(t, "mcp-inspector") // skips where the packages are not installed
	server := exec.CommandContext(t.Context(), "node", filepath.Join(corpus.ModuleRoot(t), "tools", "npm", "clients", script))
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
