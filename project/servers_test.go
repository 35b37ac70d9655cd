package project_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
)

// A fleet is servers of one store, each in a directory of its own, that take turns.
type fleet struct {
	t     *testing.T
	urls  []string
	token string
	turn  int
	// session is the one that {id} means.
	session string
}

// launch starts servers on one address of a store.
func launch(t *testing.T, address string, servers int) *fleet {
	t.Helper()
	f := &fleet{t: t}
	for range servers {
		dir := t.TempDir()
		if _, _, err := project.Init(dir); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, project.Name)
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, fmt.Appendf(text, "\nstore: %s\n", address), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := project.Open(dir, project.Options{Model: "rehearsal"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listening := httptest.NewServer(s.Handler())
		t.Cleanup(func() { listening.CloseClientConnections(); listening.Close(); p.Close() })
		f.urls = append(f.urls, listening.URL)
		if f.token != "" && f.token != s.Token() {
			t.Error("the servers have different tokens")
		}
		f.token = s.Token()
	}
	return f
}

// send sends a request to the server whose turn it is.
func (f *fleet) send(method, path, body string) *http.Response {
	f.t.Helper()
	f.turn++
	url := f.urls[f.turn%len(f.urls)] + strings.ReplaceAll(path, "{id}", f.session)
	request, err := http.NewRequestWithContext(f.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+f.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer
}

var (
	anID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|chatcmpl-\w+|\b[0-9a-f]{12}\b`)
	aTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	aMeasure = regexp.MustCompile(`("(?:created|seconds|milliseconds|ms|duration|duration_ms|dur|number|cost)"\s*:\s*)[0-9.]+`)
)

// ask sends a request and returns what is answered, without ids and times.
func (f *fleet) ask(method, path, body string) string {
	f.t.Helper()
	answer := f.send(method, path, body)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if method == "POST" && path == "/api/sessions" {
		var made struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(data, &made); err != nil || made.ID == "" {
			f.t.Fatalf("%s: %v", data, err)
		}
		f.session = made.ID
	}
	text := anID.ReplaceAllString(string(data), "ID")
	text = aTime.ReplaceAllString(text, "TIME")
	return fmt.Sprintf("%d %s", answer.StatusCode, aMeasure.ReplaceAllString(text, "${1}0"))
}

// settle waits until the session's run has ended, as every server sees it.
func (f *fleet) settle() {
	f.t.Helper()
	for range f.urls {
		for busy := true; busy; {
			answer := f.ask("GET", "/api/sessions/{id}", "")
			if busy = strings.Contains(answer, `"status":"running"`) || strings.Contains(answer, `"owner":`); busy {
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
}

// Whichever server gets a request, it answers as if it were the only one.
func TestAnyServerAnswersAnyRequest(t *testing.T) {
	database := postgrestest.Start(t)
	alone, together := launch(t, database.Schema(), 1), launch(t, database.Schema(), 2)
	const settle = "wait for the run to end"
	for _, step := range []struct{ method, path, body string }{
		{"GET", "/api/me", ""},
		{"GET", "/api/agents", ""},
		{"GET", "/api/sessions", ""},
		{"POST", "/api/sessions", `{"agent":"mira"}`},
		{"GET", "/api/sessions/{id}", ""}, // which is on the other server, and has said nothing yet
		{"PATCH", "/api/sessions/{id}", `{"pinned":true}`},
		{"GET", "/api/sessions/{id}", ""},
		{"POST", "/api/sessions/{id}/messages", `{"text":"*help"}`},
		{settle, "", ""},
		{"GET", "/api/sessions/{id}", ""},
		{"GET", "/api/sessions/{id}", ""},
		{"POST", "/api/sessions/{id}/messages", `{"text":"*decide"}`},
		{settle, "", ""},
		{"GET", "/api/sessions", ""},
		{"GET", "/api/sessions", ""},
		{"PATCH", "/api/sessions/{id}", `{"title":"renamed","archived":true}`},
		{"GET", "/api/sessions/{id}", ""},
		{"POST", "/api/sessions/{id}/seen", `{}`},
		{"GET", "/api/sessions/{id}", ""},
		{"GET", "/api/sessions/{id}/queue", ""},
		{"POST", "/api/sessions/{id}/cancel", `{}`},
		{"GET", "/api/search?q=decide", ""},
		{"GET", "/v1/models", ""},
		{"DELETE", "/api/sessions/{id}", ""},
		{"GET", "/api/sessions/{id}", ""},
		{"GET", "/api/sessions/{id}", ""},
	} {
		if step.method == settle {
			alone.settle()
			together.settle()
			continue
		}
		one, two := alone.ask(step.method, step.path, step.body), together.ask(step.method, step.path, step.body)
		if one != two {
			t.Errorf("%s %s:\none server answers  %.1500s\ntwo servers answer %.1500s", step.method, step.path, one, two)
		}
		if strings.HasPrefix(one, "5") {
			t.Errorf("%s %s: %s", step.method, step.path, one)
		}
	}
	for _, f := range []*fleet{alone, together} {
		if n := f.converse(); n != 1 {
			t.Errorf("with %d servers a conversation of an OpenAI client is in %d sessions", len(f.urls), n)
		}
	}
}

// converse talks as an OpenAI client does, who sends the whole conversation each time, and
// returns how many sessions that made.
func (f *fleet) converse() int {
	f.t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	for range 3 {
		messages = append(messages, message{"user", "*help"})
		body, err := json.Marshal(map[string]any{"model": "mira", "messages": messages})
		if err != nil {
			f.t.Fatal(err)
		}
		answer := f.send("POST", "/v1/chat/completions", string(body))
		var completed struct {
			Choices []struct{ Message message }
		}
		err = json.NewDecoder(answer.Body).Decode(&completed)
		answer.Body.Close()
		if err != nil || len(completed.Choices) != 1 {
			f.t.Fatalf("%d: %v", answer.StatusCode, err)
		}
		messages = append(messages, completed.Choices[0].Message)
	}
	return strings.Count(f.ask("GET", "/api/sessions", ""), `"id":`)
}

// Who follows a session on one server sees what another does with it, from before it began.
func TestAReaderSeesWhatHappensOnAnotherServer(t *testing.T) {
	f := launch(t, postgrestest.Start(t).Schema(), 2)
	f.ask("POST", "/api/sessions", `{"agent":"mira"}`)
	stream := f.send("GET", "/api/sessions/{id}/events", "")
	defer stream.Body.Close()
	if answer := f.ask("POST", "/api/sessions/{id}/messages", `{"text":"*help"}`); !strings.HasPrefix(answer, "202") {
		t.Fatal(answer)
	}
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	seen := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			seen++
		}
		if strings.Contains(lines.Text(), "run_finished") {
			return
		}
	}
	t.Errorf("the stream ended after %d events: %v", seen, lines.Err())
}
