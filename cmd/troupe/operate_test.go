package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A held model begins its answer, and ends it when it is let go. Whoever wants to know
// what it was sent reads asked.
type heldModel struct {
	*httptest.Server
	asked chan string
	let   chan struct{}
}

func newHeldModel(t *testing.T) *heldModel {
	m := &heldModel{asked: make(chan string, 10), let: make(chan struct{}, 10)}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m.asked <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, dataEvents(`{"choices":[{"index":0,"delta":{"content":"First half,"}}]}`))
		http.NewResponseController(w).Flush()
		select {
		case <-m.let:
		case <-r.Context().Done():
			return
		}
		io.WriteString(w, dataEvents(`{"choices":[{"index":0,"delta":{"content":" second half."},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, "[DONE]"))
	}))
	t.Cleanup(m.Close)
	return m
}

// streamed asks for an answer that streams, and returns a reader of its lines once it has
// begun.
func streamed(t *testing.T, client *http.Client, base, token string) *bufio.Scanner {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/v1/chat/completions", strings.NewReader(`{"model":"clerk","stream":true,"messages":[{"role":"user","content":"Well?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	readUntil(t, lines, "First half,")
	return lines
}

func readUntil(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	var before strings.Builder
	for lines.Scan() {
		if strings.Contains(lines.Text(), want) {
			return
		}
		before.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("there is no %q, %v, but\n%s", want, lines.Err(), before.String())
}

// SIGHUP has the configuration read at once. An answer that is under way streams to its
// end as it began; the next one has the new configuration.
func TestAnAnswerUnderWayOutlivesAReload(t *testing.T) {
	models := newHeldModel(t)
	dir := clerkAt(t, models.URL)
	hearing, telling := io.Pipe()
	base, token, server := serveProcess(t, dir, telling, "CANARY=k")
	told := bufio.NewScanner(hearing)
	answer := streamed(t, http.DefaultClient, base, token)
	if asked := <-models.asked; !strings.Contains(asked, "You write.") {
		t.Errorf("before: %s", asked)
	}
	// The model's name changes, and with it every step of the way to it.
	file := filepath.Join(dir, "troupe.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.NewReplacer("You write.", "You paint.", "local/m\n", "local/n\n").Replace(string(text))
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	readUntil(t, told, "was read again")
	go io.Copy(io.Discard, hearing)
	later := streamed(t, http.DefaultClient, base, token)
	if asked := <-models.asked; !strings.Contains(asked, "You paint.") || !strings.Contains(asked, `"n"`) {
		t.Errorf("after: %s", asked)
	}
	models.let <- struct{}{}
	models.let <- struct{}{}
	for _, lines := range []*bufio.Scanner{answer, later} {
		readUntil(t, lines, "second half.")
		readUntil(t, lines, "[DONE]")
	}
	var sessions []struct{ Status string }
	for end := time.Now().Add(time.Minute); ; {
		request(t, "GET", base+"/api/sessions", token, "", &sessions)
		if len(sessions) == 2 && sessions[0].Status == "completed" && sessions[1].Status == "completed" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", sessions)
		}
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}

// What docs/operate.md says of the audit log: a line for every request that may change
// something and for every sign-in and token, granted or refused, and nothing of what was said.
func TestTheAuditLogSaysWhoDidWhat(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(everyProtocol))
	defer models.Close()
	dir := clerkAt(t, models.URL)
	appendTo(t, dir, "server: {users: {ann: ANN, bo: BO}, operators: [ann], audit: logs/audit.jsonl}\n")
	ann, bo, wrong := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("w", 40)
	base, _, stop := serveIn(t, dir, "CANARY=k", "ANN="+ann, "BO="+bo)
	var made struct{ ID string }
	request(t, "POST", base+"/api/sessions", bo, `{"agent":"clerk"}`, &made)
	request(t, "POST", base+"/api/sessions/"+made.ID+"/messages", bo, `{"text":"a secret word"}`, nil)
	request(t, "GET", base+"/api/sessions", bo, "", nil)
	request(t, "DELETE", base+"/api/sessions/"+made.ID, ann, "", nil)
	request(t, "POST", base+"/api/login", "", `{"token":"`+wrong+`"}`, nil)
	request(t, "POST", base+"/api/login", "", `{"token":"`+ann+`"}`, nil)
	request(t, "GET", base+"/api/agents", wrong, "", nil)
	request(t, "POST", base+"/a2a/clerk", bo, `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","messageId":"m1","kind":"message","parts":[{"kind":"text","text":"a secret word"}]}}}`, nil)
	if err := stop(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "logs", "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		var a struct {
			Time                  time.Time
			User, Role, Act, Path string
			From                  string
			Status                int
			OK                    bool
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.Time.IsZero() || !strings.HasPrefix(a.From, "127.0.0.1:") || a.Path == "" {
			t.Errorf("%v: %s", err, line)
		}
		got = append(got, fmt.Sprint(a.User, "|", a.Role, "|", a.Act, "|", a.Status, "|", a.OK))
	}
	want := []string{
		"bo|user|POST /api/sessions|201|true", "bo|user|POST /api/sessions/{id}/messages|202|true", "ann|operator|DELETE /api/sessions/{id}|404|false",
		"||POST /api/login|401|false", "ann|operator|POST /api/login|204|true", "||GET /api/agents|401|false", "bo|user|POST /a2a/{path...}|200|true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log is\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, secret := range []string{"secret word", ann, bo, wrong} {
		if strings.Contains(string(data), secret) {
			t.Errorf("%q is in the audit log", secret)
		}
	}
}
