package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// A piece of work is done by one agent in a session of its own: it looks for what came
// before and leaves a document.
type work struct{ agent, command, reads, writes string }

// plannedWork is the work of the versions that have planning and implementation artifacts.
func plannedWork(analyst, pm, architect, sm, dev string) []work {
	return []work{
		{analyst, "CB", "", "{planning_artifacts}/product-brief-lantern.md"},
		{pm, "CP", "{planning_artifacts}/*brief*.md", "{planning_artifacts}/prd.md"},
		{architect, "CA", "{planning_artifacts}/*prd*.md", "{planning_artifacts}/architecture.md"},
		{pm, "CE", "{planning_artifacts}/architecture.md", "{planning_artifacts}/epics.md"},
		{sm, "CS", "{planning_artifacts}/*epic*.md", "{implementation_artifacts}/1-1-login.md"},
		{dev, "CR", "{implementation_artifacts}/1-1-*.md", "{implementation_artifacts}/review-1-1.md"},
	}
}

var workOf = map[string][]work{
	"installed-4.44": {
		{"analyst", "*create-project-brief", "", "docs/brief.md"},
		{"pm", "*create-prd", "docs/brief.md", "docs/prd.md"},
		{"architect", "*create-full-stack-architecture", "docs/prd.md", "docs/architecture.md"},
		{"po", "*shard-doc", "docs/*prd*.md", "docs/prd/epic-1.md"},
		{"sm", "*draft", "docs/prd/epic-1*.md", "docs/stories/1.1.login.md"},
		{"qa", "*review", "docs/stories/1.1.*.md", "docs/qa/gates/1.1-login.yml"},
	},
	"installed-6.0.0-alpha.0": {
		{"analyst", "*product-brief", "", "{output_folder}/product-brief-lantern.md"},
		{"pm", "*plan-project", "{output_folder}/*brief*.md", "{output_folder}/PRD.md"},
		{"architect", "*solution-architecture", "{output_folder}/PRD.md", "{output_folder}/solution-architecture.md"},
		{"sm", "*create-story", "{output_folder}/*PRD*.md", "{dev_story_location}/story-1.1.md"},
		{"dev", "*review", "docs/stories/story-1.1.md", "docs/stories/review-1.1.md"},
	},
	"v6-alpha15-compiled": {
		{"analyst", "*product-brief", "", "{output_folder}/analysis/product-brief-lantern.md"},
		{"pm", "*create-prd", "{output_folder}/analysis/*brief*.md", "{output_folder}/prd.md"},
		{"architect", "*create-architecture", "{output_folder}/*prd*.md", "{output_folder}/architecture.md"},
		{"pm", "*create-epics-and-stories", "docs/architecture.md", "docs/epics.md"},
		{"sm", "*create-story", "{output_folder}/*epic*.md", "{sprint_artifacts}/1-1-login.md"},
		{"dev", "*code-review", "{sprint_artifacts}/1-1-*.md", "{sprint_artifacts}/review-1-1.md"},
	},
	"installed-6.0.4": plannedWork("analyst", "pm", "architect", "sm", "dev"),
	"installed-6.1.0": plannedWork("analyst", "pm", "architect", "sm", "dev"),
	"installed-6.2.2": plannedWork("Mary", "John", "Winston", "Bob", "Amelia"),
	"installed-6.3.0": plannedWork("Mary", "John", "Winston", "Amelia", "Amelia"),
	"installed-6.5.0": plannedWork("Mary", "John", "Winston", "Amelia", "Amelia"),
	"installed-6.12.0": {
		{"Mary", "CB", "", "{planning_artifacts}/briefs/brief-lantern/brief.md"},
		{"John", "PRD", "{planning_artifacts}/**/*brief*.md", "{planning_artifacts}/prds/prd-lantern/prd.md"},
		{"Winston", "CA", "{planning_artifacts}/**/prd.md", "{planning_artifacts}/architecture/lantern/ARCHITECTURE-SPINE.md"},
		{"John", "CE", "{planning_artifacts}/**/*SPINE*.md", "{planning_artifacts}/epics.md"},
		{"Amelia", "BD", "{planning_artifacts}/epics.md", "{implementation_artifacts}/spec-login.md"},
		{"Amelia", "CR", "{implementation_artifacts}/spec-*.md", "{implementation_artifacts}/review-login.md"},
	},
}

// A workingModel is a model server that does the work it is told of: it probes for files
// that are not there, looks for what came before, saves, reads back, and says how it went.
type workingModel struct {
	mu    sync.Mutex
	now   work
	stall chan struct{} // where set, the next answer after a save waits for it
	saved chan struct{} // told that the save is on record
}

func (m *workingModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &request)
	m.mu.Lock()
	last := request.Messages[len(request.Messages)-1]
	now, stall, saved := m.now, m.stall, m.saved
	if last.Role == "tool" {
		m.stall = nil
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	if last.Role != "tool" {
		_, _ = io.WriteString(w, "data: "+now.calls()+"\n\ndata: [DONE]\n\n")
		return
	}
	if stall != nil {
		close(saved)
		select {
		case <-stall:
		case <-r.Context().Done():
		}
		return
	}
	var results []string
	for _, message := range request.Messages {
		if message.Role == "tool" {
			results = append(results, message.Content)
		}
	}
	verdict := "WORK DONE"
	if n := len(results); n < 2 || !strings.Contains(results[n-1], "# "+now.command) || !strings.Contains(results[n-2], `"success":true`) {
		verdict = "WORK LOST: " + strings.Join(results, " | ")
	}
	if now.reads != "" && (len(results) < 3 || !strings.Contains(results[len(results)-3], `"success":true`) || strings.Contains(results[len(results)-3], `"entries":[]`)) {
		verdict = "NOTHING CAME BEFORE: " + strings.Join(results, " | ")
	}
	text, _ := json.Marshal(verdict)
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":`+string(text)+`},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// calls are what the model asks for: three files that are not there, then the work.
func (k work) calls() string {
	var calls []map[string]any
	add := func(tool string, arguments map[string]string) {
		data, _ := json.Marshal(arguments)
		calls = append(calls, map[string]any{
			"index": len(calls), "id": fmt.Sprint("c", len(calls)), "type": "function", "function": map[string]string{"name": tool, "arguments": string(data)},
		})
	}
	for _, probe := range []string{"{project-root}/docs/nothing.md", "project-context.md", "../nowhere/else.md"} {
		add("read_file", map[string]string{"file_path": probe})
	}
	switch {
	case strings.Contains(k.reads, "*"):
		add("list_files", map[string]string{"path": k.reads})
	case k.reads != "":
		add("read_file", map[string]string{"file_path": k.reads})
	}
	add("save_output", map[string]string{"file_path": k.writes, "content": "# " + k.command + "\n"})
	add("read_file", map[string]string{"file_path": k.writes})
	chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": calls}, "finish_reason": "tool_calls"}}})
	return string(chunk)
}

// The work from the brief to the review of a story is done by the program, one process
// for each session, in a tree of each generation. The one that writes the PRD is killed in
// the middle and its session resumed, and nothing is lost.
func TestTheChainIsPlayedWithAKillInTheMiddle(t *testing.T) {
	for tree, chain := range workOf {
		t.Run(tree, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(corpus.Path(t, "bmad/"+tree))); err != nil {
				t.Fatal(err)
			}
			model := &workingModel{}
			server := httptest.NewServer(model)
			defer server.Close()
			config := "model: local/m\nproviders: {local: {base_url: \"" + server.URL + "/v1\"}}\nlimits: {model_tries: 1}\n"
			if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			for i, k := range chain {
				model.mu.Lock()
				model.now = k
				if i == 1 {
					model.stall, model.saved = make(chan struct{}), make(chan struct{})
				}
				stall, saved := model.stall, model.saved
				model.mu.Unlock()
				p := start(t, dir, nil, nil, "chat", k.agent, "-m", k.command)
				if i == 1 {
					select {
					case <-saved:
					case <-time.After(5 * time.Minute):
						t.Errorf("%s does not save", k.agent)
					}
					_ = p.Process.Kill()
					p.code()
					close(stall)
					p = start(t, dir, nil, nil, "sessions", "resume", interrupted(t, dir))
				}
				if code := p.code(); code != 0 || !strings.Contains(p.out.String(), "WORK DONE") {
					t.Fatalf("%s %s: exit code %d\n%s\n%s", k.agent, k.command, code, &p.out, &p.err)
				}
			}
		})
	}
}

// interrupted is the session that was cut.
func interrupted(t *testing.T, dir string) string {
	t.Helper()
	p := start(t, dir, nil, nil, "sessions", "list", "--json")
	p.code()
	var list []struct {
		ID        string `json:"session_id"`
		Execution struct{ Status string }
	}
	if err := json.Unmarshal(p.out.Bytes(), &list); err != nil {
		t.Fatalf("%v: %s", err, &p.out)
	}
	for _, s := range list {
		if s.Execution.Status != "completed" {
			return s.ID
		}
	}
	t.Fatalf("no session was interrupted: %s", &p.out)
	return ""
}
