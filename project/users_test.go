package project_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/project"
)

// Everything of Ann's has this in it, and Ben never says it.
const annsSecret = "zebra-4711"

// A writer is a model server whose model saves a file, keeps a document, and speaks.
func newWriter(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var request struct{ Messages []struct{ Role string } }
		if json.Unmarshal(data, &request) != nil || len(request.Messages) == 0 {
			http.NotFound(w, r) // it is asked for its models
			return
		}
		delta := map[string]any{"role": "assistant", "content": "It is written."}
		secret := strings.Contains(string(data), annsSecret)
		if secret {
			delta["content"] = "It is written: " + annsSecret
		}
		if last := request.Messages[len(request.Messages)-1]; last.Role == "user" && strings.Contains(string(data), "write_file") && secret {
			call := func(i int, path string) any {
				text, _ := json.Marshal(map[string]any{"path": path, "content": annsSecret})
				return map[string]any{"index": i, "id": fmt.Sprint("c", i), "type": "function", "function": map[string]any{"name": "write_file", "arguments": string(text)}}
			}
			delta["tool_calls"] = []any{call(0, annsSecret+".md"), call(1, "{project-root}/docs/"+annsSecret+".md")}
		}
		chunk, _ := json.Marshal(map[string]any{"id": "x", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": "stop"}}})
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}))
	t.Cleanup(server.Close)
	return server
}

// A shared server is one that two people use who must not see each other's work.
type sharedServer struct {
	t       *testing.T
	handler http.Handler
}

func (s *sharedServer) do(user, method, target string, body any) (status int, answer string) {
	s.t.Helper()
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, target, reader)
	r.Host = "127.0.0.1"
	r.Header.Set("Authorization", "Bearer "+tokenOf(user))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(&leaving{ResponseRecorder: w, leave: cancel}, r)
	return w.Code, w.Body.String()
}

// leaving is a reader of streams that leaves soon after one has begun.
type leaving struct {
	*httptest.ResponseRecorder
	leave func()
	once  sync.Once
}

func (l *leaving) Write(data []byte) (int, error) {
	if strings.HasPrefix(l.Header().Get("Content-Type"), "text/event-stream") {
		l.once.Do(func() { time.AfterFunc(time.Second, l.leave) })
	}
	return l.ResponseRecorder.Write(data)
}

func (l *leaving) Unwrap() http.ResponseWriter { return l.ResponseRecorder }

func tokenOf(user string) string { return strings.Repeat(user+"-", 12) }

func openShared(t *testing.T) *sharedServer {
	model := newWriter(t)
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS("../bundle/testdata/project")); err != nil {
		t.Fatal(err)
	}
	yaml := fmt.Sprintf(`
model: local/m
providers: {local: {base_url: %q}}
limits: {model_tries: 1}
server: {users: {ann: ANN, ben: BEN}}
agents:
  clerk: {instructions: "You write.", tools: [write_file, read_file, list_files, search_files]}
flows:
  both: {sequence: [clerk]}
pipeline: {sandbox: "off"}
`, model.URL)
	if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) {
		token, ok := map[string]string{"ANN": tokenOf("ann"), "BEN": tokenOf("ben"), "HOME": t.TempDir()}[name]
		return token, ok
	}})
	server, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &sharedServer{t, server.Handler()}
}

// session makes a session of somebody and has them say something in it.
func (s *sharedServer) session(user, text string) (id string) {
	s.t.Helper()
	status, answer := s.do(user, "POST", "/api/chat", map[string]any{"agentId": "clerk", "message": text})
	if status != http.StatusOK {
		s.t.Fatalf("%d %s", status, answer)
	}
	for line := range strings.Lines(answer) {
		var event map[string]any
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &event) == nil && event["conversationId"] != nil {
			id = fmt.Sprint(event["conversationId"])
		}
	}
	if id == "" {
		s.t.Fatalf("there is no session: %s", answer)
	}
	return id
}

type openAPI struct {
	Paths map[string]map[string]struct {
		Parameters []struct{ Name, In string }
		Body       struct {
			Content map[string]struct{ Schema schema }
		} `json:"requestBody"`
	}
}

type schema struct {
	Type       any
	Properties map[string]schema
	Items      *schema
}

// UnmarshalJSON takes true for a schema that says nothing.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	_ = json.Unmarshal(data, (*plain)(s))
	return nil
}

// fill makes a value of a schema: one that means Ann's things wherever it can.
func (s schema) fill(name, session string) any {
	switch kind := fmt.Sprint(s.Type); {
	case strings.Contains(kind, "object"):
		object := map[string]any{}
		for property, of := range s.Properties {
			object[property] = of.fill(property, session)
		}
		return object
	case strings.Contains(kind, "array"):
		if s.Items == nil {
			return []any{}
		}
		return []any{s.Items.fill(name, session)}
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 1
	case strings.Contains(kind, "boolean"):
		return true
	}
	return meant(name, session)
}

// meant is what a field of a name is filled with to get at Ann's session.
func meant(name, session string) string {
	switch name {
	case "agent", "agentId", "model":
		return "clerk"
	case "path", "file_path":
		return "z.md"
	case "role":
		return "user"
	case "allow":
		return "once"
	case "token":
		return tokenOf("ben")
	case "text", "message", "request", "content", "title", "q":
		return "hello"
	case "n", "version", "step", "before", "after", "limit":
		return "1"
	}
	return session
}

// Nothing of one user is seen or changed by another, by any route that there is.
func TestTwoUsersSeeNothingOfEachOther(t *testing.T) {
	s := openShared(t)
	session := s.session("ann", "Keep "+annsSecret)
	draft := s.draft("ann")
	if status, answer := s.do("ann", "PATCH", "/api/sessions/"+session, map[string]any{"title": annsSecret}); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	s.do("ann", "POST", "/api/flows/both/runs", map[string]any{"text": annsSecret})
	s.do("ann", "POST", "/api/deliveries", map[string]any{"request": "Deliver " + annsSecret})
	s.do("ben", "POST", "/api/chat", map[string]any{"agentId": "clerk", "message": "hello"})
	before := s.seenByAnn(session, draft)
	if !strings.Contains(before, annsSecret) {
		t.Fatalf("Ann herself does not see her work: %s", before)
	}
	_, text := s.do("ben", "GET", "/api/openapi.json", nil)
	var api openAPI
	if err := json.Unmarshal([]byte(text), &api); err != nil || len(api.Paths) < 40 {
		t.Fatalf("%d paths, %v", len(api.Paths), err)
	}
	tried := 0
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(api.Paths[path])) {
			operation := api.Paths[path][method]
			for _, id := range []string{session, draft} {
				target, query := path, url.Values{}
				for _, p := range operation.Parameters {
					switch {
					case p.In == "path" && p.Name == "path":
						target = strings.ReplaceAll(target, "{path}", annsFile)
					case p.In == "path" && p.Name == "name":
						target = strings.ReplaceAll(target, "{name}", "both")
					case p.In == "path":
						target = strings.ReplaceAll(target, "{"+p.Name+"}", meant(p.Name, id))
					}
				}
				var body any
				if content, ok := operation.Body.Content["application/json"]; ok {
					body = content.Schema.fill("", id)
				}
				attempts := []url.Values{nil}
				for _, p := range operation.Parameters {
					if p.In == "query" {
						value := map[string]string{"q": "written", "session": id, "path": annsFile, "html": "1", "raw": "1", "preview": "1", "errors": ""}[p.Name]
						if value == "" {
							value = meant(p.Name, id)
						}
						query.Set(p.Name, value)
						attempts = append(attempts, url.Values{p.Name: {value}})
					}
				}
				for _, values := range append(attempts, query) {
					at := target
					if len(values) > 0 {
						at += "?" + values.Encode()
					}
					status, answer := s.do("ben", strings.ToUpper(method), at, body)
					tried++
					if strings.Contains(strings.ReplaceAll(answer, annsFile, ""), annsSecret) {
						t.Errorf("%s %s: %d shows what is Ann's: %.400s", strings.ToUpper(method), at, status, answer)
					}
					if status < 300 && strings.Contains(path, "{id}") {
						t.Errorf("%s %s: %d %.200s", strings.ToUpper(method), at, status, answer)
					}
				}
			}
		}
	}
	t.Logf("%d requests", tried)
	if after := s.seenByAnn(session, draft); after != before {
		t.Errorf("Ann saw\n%s\nand sees\n%s", before, after)
	}
}

// annsFile is a file in Ann's session.
const annsFile = annsSecret + ".md"

func (s *sharedServer) draft(user string) string {
	s.t.Helper()
	status, answer := s.do(user, "POST", "/api/sessions", map[string]any{"agent": "clerk"})
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &made); err != nil || status != http.StatusCreated {
		s.t.Fatalf("%d %s", status, answer)
	}
	return made.ID
}

// seenByAnn is what Ann sees of her things.
func (s *sharedServer) seenByAnn(session, draft string) string {
	s.t.Helper()
	var all strings.Builder
	for _, at := range []string{"/api/sessions/" + session, "/api/sessions/" + session + "/files", "/api/sessions/" + session + "/files/" + annsFile, "/api/sessions/" + session + "/queue",
		"/api/sessions/" + session + "/events?before=", "/api/sessions/" + draft, "/api/sessions/" + session + "/versions?path=" + annsFile} {
		status, answer := s.do("ann", "GET", at, nil)
		fmt.Fprintf(&all, "%s: %d %s\n", at, status, answer)
	}
	return all.String()
}

// A burglar of Ben's finds nothing of Ann's with any tool.
func TestToolsOfOneUserFindNothingOfAnother(t *testing.T) {
	h := newHouse(t)
	names := h.attacks(0, "{all}/")
	session := ""
	var b *burglar
	run := func(user, text string) {
		b = newBurglar(t, names)
		b.planted = "canary-" + user
		yaml := fmt.Sprintf("model: local/m\nproviders: {local: {base_url: %q}}\nlimits: {turns: -1, tool_calls: -1, model_tries: 1}\nserver: {users: {ann: ANN, ben: BEN}}\nagents:\n  desk: {tools: [\"*\", bundle], read_project: true, read: {all: \".\"}}\nweb: {search: {engine: searxng, base_url: \"http://127.0.0.1:1\"}}\n", b.URL)
		if err := os.WriteFile(filepath.Join(h.dir, project.Name), []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		p := open(t, h.dir, project.Options{LookupEnv: func(name string) (string, bool) {
			token, ok := map[string]string{"ANN": tokenOf("ann"), "BEN": tokenOf("ben")}[name]
			return token, ok
		}})
		server, err := p.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := &sharedServer{t, server.Handler()}
		status, answer := s.do(user, "POST", "/api/flows/desk/runs", map[string]any{"text": text})
		var started struct{ Session string }
		if err := json.Unmarshal([]byte(answer), &started); err != nil || status != http.StatusAccepted {
			t.Fatalf("%d %s", status, answer)
		}
		session = started.Session
		for at, err := range engine(t, p).Tail(t.Context(), session, 0) {
			if err != nil || at.Parent == "" && at.Kind() == "run_finished" {
				break
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	run("ann", "I am Ann.")
	annsSession := session
	names = append(names, "{project-root}/data/agent-outputs/"+annsSession+"/manifest.json", "{all}/data/agent-outputs/"+annsSession, "{all}/data/documents", "data/documents/.troupe-owners/ann", "docs/ann.md")
	run("ben", "I am Ben.")
	for _, said := range b.heard {
		if strings.Contains(strings.ReplaceAll(said, "canary-ben", ""), "canary-") || strings.Contains(said, "I am Ann") {
			t.Errorf("Ben is told %.400s", said)
			break
		}
	}
	if len(b.heard) < 200 {
		t.Errorf("%d answers", len(b.heard))
	}
}

// The model of a conversation is chosen for it alone, and of an agent for all its
// conversations that have none of their own.
func TestTheModelOfAConversationIsChosen(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Model string }
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&request) != nil {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		asked = append(asked, request.Model)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	dir := write(t, fmt.Sprintf("model: local/usual\nproviders: {local: {base_url: %q}}\nserver: {users: {ann: ANN}}\nagents:\n  clerk: {instructions: x}\n  judge: {instructions: x, model: local/own}\n", model.URL))
	p := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) { return tokenOf("ann"), name == "ANN" }})
	server, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &sharedServer{t, server.Handler()}
	say := func(agent, session string) string {
		t.Helper()
		status, answer := s.do("ann", "POST", "/api/chat", map[string]any{"agentId": agent, "conversationId": session, "message": "Really?"})
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
		return answer
	}
	session := s.session("ann", "Really?")
	say("clerk", session)
	if status, answer := s.do("ann", "PATCH", "/api/sessions/"+session, map[string]any{"model": "local/other"}); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	say("clerk", session)
	s.session("ann", "And here?")
	say("judge", "")
	if status, answer := s.do("ann", "GET", "/api/sessions/"+session, nil); status != http.StatusOK || !strings.Contains(answer, `"model":"local/other"`) {
		t.Errorf("%d %s", status, answer)
	}
	if got, want := fmt.Sprint(asked), "[usual usual other usual own]"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

// An address may hold a password, which is nobody's to see.
func TestAPasswordInAnAddressIsNotShown(t *testing.T) {
	dir := write(t, "model: office/m\nproviders: {office: {base_url: \"http://user:Sup3rSecret@127.0.0.1:1/v1?key=Sup3rSecret\"}}\nserver: {users: {ann: ANN}, operators: [ann]}\nagents: {clerk: {instructions: x}}\n")
	p := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) { return tokenOf("ann"), name == "ANN" }})
	server, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &sharedServer{t, server.Handler()}
	for _, path := range []string{"GET /api/settings", "POST /api/providers/office/test", "GET /api/models"} {
		method, path, _ := strings.Cut(path, " ")
		status, answer := s.do("ann", method, path, nil)
		if strings.Contains(answer, "Sup3rSecret") || status >= 500 {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		if path == "/api/settings" && !strings.Contains(answer, "http://127.0.0.1:1/v1") {
			t.Errorf("the address is not shown: %s", answer)
		}
	}
}

// A model whose key is not set, or whose server is not there, is a problem with a code and
// with what to do about it, in every API.
func TestAModelThatCannotBeAskedIsExplained(t *testing.T) {
	dir := write(t, "server: {users: {ann: ANN}, operators: [ann]}\nproviders: {ollama: {base_url: \"http://127.0.0.1:1\"}}\n"+
		"agents:\n  nokey: {instructions: x, model: anthropic/claude-sonnet-4-5}\n  down: {instructions: x, model: ollama}\n")
	p := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) { return tokenOf("ann"), name == "ANN" }})
	server, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &sharedServer{t, server.Handler()}
	for agent, want := range map[string][2]string{
		"nokey": {`"code":"key"`, "ANTHROPIC_API_KEY is not set; put the provider's key there or into .env"},
		"down":  {`"code":"unreachable"`, "nothing listens at "},
	} {
		for path, body := range map[string]map[string]any{
			"/api/sessions":        {"agent": agent},
			"/v1/chat/completions": {"model": agent, "messages": []map[string]string{{"role": "user", "content": "Hello"}}},
		} {
			status, answer := s.do("ann", "POST", path, body)
			if status != http.StatusServiceUnavailable || !strings.Contains(answer, want[0]) || !strings.Contains(answer, want[1]) {
				t.Errorf("%s of %s: %d %s", path, agent, status, answer)
			}
		}
	}
}

// Where requests go is shown, whether troupe.yaml says so or a variable does.
func TestTheAddressInAVariableIsShown(t *testing.T) {
	vars := map[string]string{"ANN": tokenOf("ann"), "OPENAI_BASE_URL": "http://user:Sup3rSecret@127.0.0.1:1/own/v1?key=Sup3rSecret"}
	dir := write(t, "model: openai/m\nserver: {users: {ann: ANN}, operators: [ann]}\nagents: {clerk: {instructions: x}}\n")
	p := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) { return vars[name], vars[name] != "" }})
	server, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &sharedServer{t, server.Handler()}
	for path, want := range map[string][]string{
		"GET /api/settings":               {`"base_url":"http://127.0.0.1:1/own/v1"`, `"base_url":"https://api.anthropic.com`},
		"POST /api/providers/openai/test": {`"base_url":"http://127.0.0.1:1/own/v1"`},
	} {
		method, path, _ := strings.Cut(path, " ")
		status, answer := s.do("ann", method, path, nil)
		for _, one := range want {
			if !strings.Contains(answer, one) {
				t.Errorf("%s: %d, no %s in %s", path, status, one, answer)
			}
		}
		if strings.Contains(answer, "Sup3rSecret") || strings.Contains(answer, "api.openai.com") {
			t.Errorf("%s: %s", path, answer)
		}
	}
}
