package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

// A listener is a model server that makes the calls it was given, in one turn, and keeps
// what it was told: the prompt and the results.
type listener struct {
	calls [][2]string // tool and arguments

	mu      sync.Mutex
	prompt  string
	tools   string
	results []string
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
		Tools    json.RawMessage
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &request)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prompt, l.results, l.tools = "", nil, string(request.Tools)
	for _, m := range request.Messages {
		switch m.Role {
		case "system":
			l.prompt += m.Content + "\n"
		case "tool":
			l.results = append(l.results, m.Content)
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if len(l.results) == 0 && len(l.calls) > 0 {
		var calls []map[string]any
		for i, call := range l.calls {
			calls = append(calls, map[string]any{"index": i, "id": "c" + call[0], "type": "function", "function": map[string]string{"name": call[0], "arguments": call[1]}})
		}
		chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": calls}, "finish_reason": "tool_calls"}}})
		_, _ = io.WriteString(w, "data: "+string(chunk)+"\n\ndata: [DONE]\n\n")
		return
	}
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// generationTree writes a small tree of a generation and the configuration for a model
// server, with more of it, and returns its directory.
func generationTree(t *testing.T, generation, more string, model http.Handler) string {
	t.Helper()
	archive, err := txtar.ParseFile("../../bundle/testdata/generations/" + generation + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	archive.Files = append(archive.Files, txtar.File{
		Name: "troupe.yaml", Data: []byte("model: local/m\nproviders: {local: {base_url: \"" + server.URL + "/v1\"}}\nlimits: {model_tries: 1}\n" + more),
	})
	for _, f := range archive.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// B8: an author's {{category}} stays a placeholder in the instructions and in the template,
// though the workflow has a value of that name; what the configuration says is filled in
// in both.
func TestAnAuthorsPlaceholderStaysInBoth(t *testing.T) {
	model := &listener{calls: [][2]string{{"execute_workflow", `{"workflow_path":"{project-root}/bmad/bmm/workflows/prd/workflow.yaml"}`}}}
	dir := generationTree(t, "alpha", "", model)
	flow := filepath.Join(dir, "bmad", "bmm", "workflows", "prd")
	for name, change := range map[string][2]string{
		"workflow.yaml": {`category: ""`, "category: lamps"}, "instructions.md": {"What is it about", "{{project_name}}: what is it about"},
	} {
		src, err := os.ReadFile(filepath.Join(flow, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(flow, name), []byte(strings.Replace(string(src), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, dir, nil, nil, "chat", "pm", "-m", "*prd")
	if code := p.code(); code != 0 || len(model.results) != 1 {
		t.Fatalf("exit code %d, %q\n%s", code, model.results, &p.err)
	}
	var result struct{ Instructions, Template string }
	if err := json.Unmarshal([]byte(model.results[0]), &result); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"instructions": result.Instructions, "template": result.Template} {
		if !strings.Contains(text, "{{category}}") || !strings.Contains(text, "Lantern") || strings.Contains(text, "lamps") {
			t.Errorf("the %s are %s", name, text)
		}
	}
}

// B12: a step that needs a command gets it where it is granted; where it is not, the agent
// is told that it has none and what to do instead, and has no such tool.
func TestAStepThatNeedsACommand(t *testing.T) {
	without := &listener{calls: [][2]string{{"run_command", `{"command":["git","--version"]}`}}}
	dir := generationTree(t, "toml", "", without)
	p := start(t, dir, nil, nil, "chat", "pm", "-m", "PRD")
	if code := p.code(); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, &p.out, &p.err)
	}
	if !strings.Contains(without.prompt, "You cannot run commands here") || !strings.Contains(without.prompt, "report the rest as not done") ||
		strings.Contains(without.tools, "run_command") {
		t.Errorf("the agent is not told that it has no command: %.3000s", without.prompt)
	}
	if len(without.results) != 1 || !strings.Contains(without.results[0], "not_found") {
		t.Errorf("a command that was not granted: %q", without.results)
	}
	for _, whom := range []string{`"*"`, "pm", "Jo"} { // all, by the short id, by the persona's name
		granted := &listener{calls: without.calls}
		dir = generationTree(t, "toml", "agents: {"+whom+": {commands: [\"git *\"]}}\n", granted)
		p = start(t, dir, nil, nil, "chat", "pm", "-m", "PRD")
		if code := p.code(); code != 0 {
			t.Fatalf("exit code %d\n%s\n%s", code, &p.out, &p.err)
		}
		if strings.Contains(granted.prompt, "You cannot run commands here") || !strings.Contains(granted.prompt, "run it with run_command") {
			t.Errorf("agents: %s: the agent is not told of its command: %.3000s", whom, granted.prompt)
		}
		if len(granted.results) != 1 || !strings.Contains(granted.results[0], "git version") {
			t.Errorf("agents: %s: a command that was granted: %q", whom, granted.results)
		}
	}
}

// What a command leaves in .git would be run outside of the sandbox, by whoever uses git next,
// and what it puts where agents, settings or keys are looked for would change the cage.
func TestACommandLeavesNothingThatIsRunOrReadOutsideOfItsSandbox(t *testing.T) {
	model := &listener{calls: [][2]string{{"run_command", `{"command":["sh","-c","echo evil > .git/hooks/post-checkout; echo evil >> .git/config; mv .git away; for f in .env .env.local .bmad-core; do echo evil > $f; done; mkdir .bmad; ls -a; cat .git/HEAD; echo mine > own.md"]}`}}}
	dir := generationTree(t, "toml", "agents: {pm: {commands: [\"sh *\"]}}\n", model)
	for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": "", ".git/hooks/sample": ""} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, dir, nil, nil, "chat", "pm", "-m", "PRD")
	code := p.code()
	model.mu.Lock()
	results := model.results // doctor asks the model, too
	model.mu.Unlock()
	if code != 0 || len(results) != 1 {
		t.Fatalf("exit code %d, %q\n%s", code, results, &p.err)
	}
	said := results[0]
	if doctor := start(t, dir, nil, nil, "doctor"); doctor.code() >= 0 && !strings.Contains(doctor.out.String(), "sandbox: full") {
		t.Skip("there are no namespaces here")
	}
	if got, err := os.ReadFile(filepath.Join(dir, "own.md")); err != nil || string(got) != "mine\n" || !strings.Contains(said, "refs/heads/main") {
		t.Errorf("own.md is %q, %v; the command said %s", got, err, said)
	}
	if got, err := os.ReadFile(filepath.Join(dir, ".git", "config")); err != nil || len(got) > 0 {
		t.Errorf(".git/config is %q, %v", got, err)
	}
	for _, name := range []string{".git/hooks/post-checkout", "away", ".env", ".env.local", ".bmad-core", ".bmad"} {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			t.Errorf("there is %s now; the command said %s", name, said)
		}
	}
}

// Stories are shown as a project keeps them, in its own words and several files, and
// nothing of it is changed.
func TestStoriesAreShownAsTheyAreKept(t *testing.T) {
	dir := generationTree(t, "compiled", "documents: in-place\n", &listener{})
	home := filepath.Join(dir, "_bmad-output", "implementation-artifacts")
	files := map[string]string{
		"sprint-status.yaml": "development_status:\n  epic-1: in-progress\n  1-1-login: terminé # par Ada\n  1-2-logout: revue\n",
		"sprint-2.yaml":      "stories:\n  - {id: 2-1-pay, status: blocked by bank}\n",
		"1-2-logout.md":      "# 1.2\n\nStatus: ready-for-dev\n" + strings.Repeat("Some text. ", 12_000),
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, dir, nil, nil, "stories")
	if code := p.code(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &p.err)
	}
	for _, want := range []string{"1-1-login", "terminé (done)", "revue (review)", "blocked by bank", "1-2-logout is revue in", "next: 1-2-logout", "1 blocked, 1 done, 1 review"} {
		if !strings.Contains(p.out.String()+p.err.String(), want) {
			t.Errorf("no %q in\n%s\n%s", want, &p.out, &p.err)
		}
	}
	for name, text := range files {
		if data, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(data) != text {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
}
