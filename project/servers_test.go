package project_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	// file is the one that {file} means: the first of the session's.
	file string
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
		f.start(dir, project.Options{Model: "rehearsal"})
	}
	return f
}

// start starts the server of a project.
func (f *fleet) start(dir string, options project.Options) *project.Project {
	t := f.t
	t.Helper()
	p, err := project.Open(dir, options)
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
	return p
}

// send sends a request to the server whose turn it is.
func (f *fleet) send(method, path, body string) *http.Response {
	f.t.Helper()
	f.turn++
	fill := strings.NewReplacer("{id}", f.session, "{file}", f.file)
	url := f.urls[f.turn%len(f.urls)] + fill.Replace(path)
	body = fill.Replace(body)
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
	aFile = regexp.MustCompile(`"(?:path|name)":"([^"]+\.md)"`)
	// The manifest has times in it, which are not all of one length.
	aManifest = regexp.MustCompile(`"manifest.json","size":\d+`)
	anID      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|chatcmpl-\w+|\b[0-9a-f]{12}\b|\b[0-9a-f]{64}\b`)
	aTime     = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	aMeasure  = regexp.MustCompile(`("(?:created|seconds|milliseconds|ms|duration|duration_ms|dur|number|cost|elapsed_ms|first_token_ms|uptime|took|latency_ms)"\s*:\s*)[0-9.]+`)
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
	if method == "POST" && path == "/api/sessions" && body != "{}" {
		var made struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(data, &made); err != nil || made.ID == "" {
			f.t.Fatalf("%s: %v", data, err)
		}
		f.session = made.ID
	}
	if found := aFile.FindStringSubmatch(string(data)); path == "/api/sessions/{id}/files" && found != nil {
		f.file = found[1]
	}
	text := anID.ReplaceAllString(string(data), "ID")
	text = aTime.ReplaceAllString(text, "TIME")
	text = aManifest.ReplaceAllString(text, `"manifest.json"`)
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
		{"POST", "/api/sessions/{id}/messages", `{"text":"a"}`},
		{settle, "", ""},
		{"POST", "/api/sessions/{id}/messages", `{"text":"b"}`},
		{settle, "", ""},
		{"POST", "/api/sessions/{id}/messages", `{"text":"c"}`},
		{settle, "", ""},
		{"POST", "/api/sessions/{id}/messages", `{"text":"d"}`},
		{settle, "", ""},
		{"GET", "/api/sessions/{id}/files", ""},
		{"GET", "/api/sessions/{id}/files", ""},
		{"GET", "/api/sessions/{id}/files/{file}", ""},
		{"GET", "/api/sessions/{id}/files/{file}", ""},
		{"PUT", "/api/sessions/{id}/files", `{"path":"{file}","content":"by hand"}`},
		{"GET", "/api/sessions/{id}/files/{file}", ""},
		{"GET", "/api/sessions/{id}/versions?path={file}", ""},
		{"POST", "/api/sessions/{id}/restore", `{"path":"{file}","version":1}`},
		{"GET", "/api/sessions/{id}/files/{file}", ""},
		{"GET", "/api/sessions/{id}/files/{file}", ""},
		{"GET", "/api/documents", ""},
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

// Every route of the API document answers the same, whichever of two servers has what it is
// asked about.
func TestEveryRouteAnswersTheSameOnEveryServer(t *testing.T) {
	database := postgrestest.Start(t)
	alone, together := launch(t, database.Schema(), 1), launch(t, database.Schema(), 2)
	both := func(method, path, body string) (one, two string) {
		return alone.ask(method, path, body), together.ask(method, path, body)
	}
	both("POST", "/api/sessions", `{"agent":"mira"}`)
	both("POST", "/api/sessions/{id}/messages", `{"text":"*help"}`)
	alone.settle()
	together.settle()
	answer := alone.send("GET", "/api/openapi.json", "")
	defer answer.Body.Close()
	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.NewDecoder(answer.Body).Decode(&document); err != nil || len(document.Paths) < 40 {
		t.Fatalf("%d paths, %v", len(document.Paths), err)
	}
	skipped := map[string]string{
		"post /api/check":                  "it names the database, and that has another schema",
		"get /api/sessions/{id}/events":    "it has no end; TestAReaderSeesWhatHappensOnAnotherServer follows it",
		"get /api/events":                  "it has no end",
		"get /api/system":                  "it is about one process",
		"get /api/openapi.json":            "it is the document",
		"delete /api/sessions/{id}":        "it comes last",
		"post /api/link":                   "its answer is a secret",
		"get /api/sessions/{id}/files.zip": "the manifest in it has ids and times",
		"get /metrics":                     "it is about one process",
	}
	placeholder := regexp.MustCompile(`\{[a-z]+(\.\.\.)?\}`)
	compared := 0
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			if why, ok := skipped[method+" "+path]; ok {
				t.Logf("%s %s: not compared: %s", method, path, why)
				continue
			}
			filled := placeholder.ReplaceAllStringFunc(path, func(name string) string {
				if name == "{id}" && strings.HasPrefix(path, "/api/sessions/") {
					return name
				}
				return "1"
			})
			body := ""
			if method != "get" && method != "delete" {
				body = "{}"
			}
			one, two := both(strings.ToUpper(method), filled, body)
			if one != two {
				from := 0
				for from < min(len(one), len(two)) && one[from] == two[from] {
					from++
				}
				from = max(from-100, 0)
				t.Errorf("%s %s:\none server answers  ...%.400s\ntwo servers answer ...%.400s", method, path, one[from:], two[from:])
			}
			compared++
		}
	}
	if one, two := both("DELETE", "/api/sessions/{id}", ""); one != two {
		t.Errorf("delete: %s, %s", one, two)
	}
	t.Logf("%d requests compared", compared)
}

// How much a user may have at the same time is counted over all servers, and what a server had that is
// gone is free again.
func TestWhatAUserHasAtTheSameTimeIsCountedOverAllServers(t *testing.T) {
	database, f := postgrestest.Start(t).Schema(), &fleet{t: t}
	var servers []*project.Project
	for range 2 {
		dir := t.TempDir()
		yaml := "model: rehearsal\nagents: {clerk: {instructions: You answer.}}\nserver: {users: {ann: ANN, bob: BOB}, readers_per_user: 1}\nstore: " + database + "\n"
		if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		servers = append(servers, f.start(dir, project.Options{LookupEnv: func(name string) (string, bool) {
			token, ok := map[string]string{"ANN": strings.Repeat("a", 40), "BOB": strings.Repeat("b", 40)}[name]
			return token, ok
		}}))
	}
	// follow opens a stream of events on the next server.
	session := ""
	follow := func() *http.Response { return f.send("GET", "/api/sessions/"+session+"/events", "") }
	refused := func() bool {
		answer := follow()
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != ""
	}
	begin := func(token string) {
		f.token = token
		f.session = ""
		f.ask("POST", "/api/sessions", `{"agent":"clerk"}`)
		session = f.session
		f.ask("POST", "/api/sessions/{id}/messages", `{"text":"hello"}`)
		f.settle()
	}
	begin(strings.Repeat("a", 40))
	ann := session
	first := follow()
	if first.StatusCode != http.StatusOK {
		t.Fatalf("the first is answered with %d", first.StatusCode)
	}
	for range 2 {
		if !refused() {
			t.Error("a second one of the same user is let in on another server")
		}
	}
	begin(strings.Repeat("b", 40))
	if another := follow(); another.StatusCode != http.StatusOK {
		t.Errorf("another user is turned away: %d", another.StatusCode)
	} else {
		another.Body.Close()
	}
	f.token, session = strings.Repeat("a", 40), ann
	first.Body.Close()
	// admitted tries again until a server lets a reader in: the others take a moment to notice who has left.
	admitted := func() *http.Response {
		for {
			answer := follow()
			if answer.StatusCode == http.StatusOK {
				return answer
			}
			answer.Body.Close()
			time.Sleep(5 * time.Millisecond)
		}
	}
	// That of a server that ends is free on the others.
	both := f.urls
	f.urls = both[:1]
	held := admitted()
	defer held.Body.Close()
	f.urls = both[1:]
	if !refused() {
		t.Error("one that another server has is free")
	}
	servers[0].Close()
	admitted().Body.Close()
}
