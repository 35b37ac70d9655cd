package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	"v6-alpha5-installed": {
		{"analyst", "*product-brief", "", "{output_folder}/product-brief-lantern.md"},
		{"pm", "*create-prd", "{output_folder}/*brief*.md", "{output_folder}/PRD.md"},
		{"architect", "*create-architecture", "{output_folder}/*PRD*.md", "{output_folder}/architecture.md"},
		{"pm", "*create-epics-and-stories", "{output_folder}/architecture.md", "{output_folder}/epics.md"},
		{"sm", "*create-story", "{output_folder}/*epic*.md", "{output_folder}/stories/1-1-login.md"},
		{"dev", "*code-review", "{output_folder}/stories/1-1-*.md", "{output_folder}/stories/review-1-1.md"},
	},
	"v4-web-bundles": {
		{"analyst", "*create-project-brief", "", "docs/brief.md"},
		{"pm", "*create-prd", "docs/brief.md", "docs/prd.md"},
		{"architect", "*create-full-stack-architecture", "docs/*prd*.md", "docs/architecture.md"},
		{"po", "*shard-doc", "docs/*prd*.md", "docs/prd/epic-1.md"},
		{"sm", "*draft", "docs/prd/epic-1.md", "docs/stories/1.1.login.md"},
		{"qa", "*review", "docs/stories/1.1.*.md", "docs/qa/gates/1.1-login.yml"},
	},
	"v6-alpha7-web-bundles": {
		{"analyst", "*product-brief", "", "docs/product-brief-lantern.md"},
		{"pm", "*create-prd", "docs/*brief*.md", "docs/PRD.md"},
		{"architect", "*create-architecture", "docs/PRD.md", "docs/architecture.md"},
		{"pm", "*create-epics-and-stories", "docs/architecture.md", "docs/epics.md"},
	},
	"v6-web-bundles": {
		{"product-brief-coach", "Write the brief", "", "docs/brief.md"},
		{"prd-coach", "Write the PRD", "docs/*brief*.md", "docs/prd.md"},
		{"ux-coach", "Design it", "docs/prd.md", "docs/ux.md"},
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

// A workingModel is a model server that does the work it is told of, as models do: it
// probes for files that are not there, loads what the prompt says of its command, follows
// the step files by the names that stand in them, looks for what came before, saves, reads
// back in the same turn, and says how it went. What it has done it sees in the request.
type workingModel struct {
	mu     sync.Mutex
	now    work
	author string        // what the documents say of who had them written
	stall  chan struct{} // where set, the next answer after a save waits for it
	saved  chan struct{} // told that the save is on record
	steps  int           // step files that were followed
}

// A spoken message is one of a request.
type spoken struct {
	Role, Content string
	ID            string `json:"tool_call_id"`
	Calls         []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (m *workingModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct{ Messages []spoken }
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &request)
	m.mu.Lock()
	now, author, stall, saved := m.now, m.author, m.stall, m.saved
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	done := doneSoFar(request.Messages)
	if calls := now.next(request.Messages, done); calls != nil {
		if len(calls) == 1 && strings.Contains(calls[0][1], "step-") {
			m.mu.Lock()
			m.steps++
			m.mu.Unlock()
		}
		_, _ = io.WriteString(w, "data: "+now.asCalls(author, len(done), calls)+"\n\ndata: [DONE]\n\n")
		return
	}
	if stall != nil {
		m.mu.Lock()
		m.stall = nil
		m.mu.Unlock()
		close(saved)
		select {
		case <-stall:
		case <-r.Context().Done():
		}
		return
	}
	text, _ := json.Marshal(now.verdict(done))
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":`+string(text)+`},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// A deed is a call that was made since the user spoke, and what came of it.
type deed struct{ tool, path, result string }

func doneSoFar(messages []spoken) []deed {
	var done []deed
	at := map[string]int{}
	for _, message := range messages {
		if message.Role == "user" && !strings.HasPrefix(message.Content, "[") {
			done = nil
		}
		for _, call := range message.Calls {
			var in struct {
				File     string `json:"file_path"`
				Path     string `json:"path"`
				Workflow string `json:"workflow_path"`
			}
			_ = json.Unmarshal([]byte(call.Function.Arguments), &in)
			at[call.ID] = len(done)
			done = append(done, deed{tool: call.Function.Name, path: in.File + in.Path + in.Workflow})
		}
		if i, ok := at[message.ID]; ok && message.Role == "tool" && i < len(done) {
			done[i].result = message.Content
		}
	}
	return done
}

// maxFollowed is how many files the model follows before it has read enough.
const maxFollowed = 3

var (
	toldTarget = regexp.MustCompile(`(?m)^  (?:(Workflow|Skill)|Read and follow): (\S+)$`)
	stepInText = regexp.MustCompile("(?:^|[\\s`'\"(])((?:\\{[\\w-]+\\}/|\\.{1,2}/)?[\\w./-]*step-\\w[\\w-]*\\.md|\\./workflow\\.md)")
	stepAbove  = regexp.MustCompile(`(?m)^nextStepFile: *['"]?([^'"\s]+)`)
)

// next is what the model calls next, by tool and path; nil once it has saved.
func (k work) next(messages []spoken, done []deed) [][2]string {
	if len(done) == 0 {
		calls := [][2]string{{"read_file", "{project-root}/docs/nothing.md"}, {"read_file", "project-context.md"}, {"read_file", "../nowhere/else.md"}}
		return append(calls, k.target(messages))
	}
	last := done[len(done)-1]
	if last.tool == "save_output" || last.path == k.writes {
		return nil
	}
	var content struct{ Content, Instructions string }
	_ = json.Unmarshal([]byte(last.result), &content)
	if step := k.step(content.Content+content.Instructions, done); step != "" && len(done) < 4+maxFollowed {
		return [][2]string{{"read_file", step}}
	}
	var calls [][2]string
	switch {
	case strings.Contains(k.reads, "*"):
		calls = append(calls, [2]string{"list_files", k.reads})
	case k.reads != "":
		calls = append(calls, [2]string{"read_file", k.reads})
	}
	return append(calls, [2]string{"save_output", k.writes}, [2]string{"read_file", k.writes})
}

// step is the step file that a text leads to, as it is written there.
func (k work) step(text string, done []deed) string {
	found := stepAbove.FindAllStringSubmatch(text, 1)
	for _, m := range append(found, stepInText.FindAllStringSubmatch(text, -1)...) {
		if !slices.ContainsFunc(done, func(d deed) bool { return d.path == m[1] }) {
			return m[1]
		}
	}
	return ""
}

// target is what the prompt says of the command.
func (k work) target(messages []spoken) [2]string {
	for _, message := range messages {
		if message.Role != "system" {
			continue
		}
		lines := strings.Split(message.Content, "\n")
		for i, line := range lines {
			isIt := strings.HasPrefix(line, k.command) || strings.HasPrefix(line, "*"+k.command) || strings.HasPrefix(line, "*") && strings.Contains(line, "("+k.command+") - ")
			for _, below := range lines[i+1 : min(i+9, len(lines))] {
				if !isIt || !strings.HasPrefix(below, " ") {
					break
				}
				if m := toldTarget.FindStringSubmatch(below); m != nil && m[1] != "" {
					return [2]string{"execute_workflow", m[2]}
				} else if m != nil {
					return [2]string{"read_file", m[2]}
				}
			}
		}
	}
	return [2]string{"read_file", "SKILL.md"} // a coach has no commands
}

// verdict says how it went.
func (k work) verdict(done []deed) string {
	results := fmt.Sprint(done)
	n := len(done)
	switch {
	case n < 6 || !strings.Contains(done[n-1].result, "# "+k.command) || !strings.Contains(done[n-2].result, `"success":true`):
		return "WORK LOST: " + results
	case k.reads != "" && (!strings.Contains(done[n-3].result, `"success":true`) || strings.Contains(done[n-3].result, `"entries":[]`)):
		return "NOTHING CAME BEFORE: " + results
	}
	for _, d := range done[3:] {
		if !strings.Contains(d.result, `"success":true`) {
			return "A FILE WAS NOT FOUND: " + d.path + ": " + d.result
		}
	}
	return "WORK DONE"
}

// asCalls is a piece of an answer with calls.
func (k work) asCalls(author string, before int, wanted [][2]string) string {
	var calls []map[string]any
	for i, call := range wanted {
		arguments := map[string]string{"file_path": call[1]}
		switch call[0] {
		case "list_files":
			arguments = map[string]string{"path": call[1]}
		case "execute_workflow":
			arguments = map[string]string{"workflow_path": call[1]}
		case "save_output":
			arguments["content"] = "# " + k.command + "\n" + author
		}
		data, _ := json.Marshal(arguments)
		calls = append(calls, map[string]any{
			"index": i, "id": fmt.Sprint("c", before+i), "type": "function", "function": map[string]string{"name": call[0], "arguments": string(data)},
		})
	}
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
			isStepped := strings.HasPrefix(tree, "installed-6.") && tree != "installed-6.0.0-alpha.0"
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
			if isStepped && model.steps < 4 {
				t.Errorf("only %d step files were followed by their relative names", model.steps)
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

// Every installed tree of the corpus is in the chain.
func TestTheChainHasEveryGeneration(t *testing.T) {
	trees, err := filepath.Glob(filepath.Join(corpus.Path(t, "bmad"), "*.expected.json"))
	if err != nil || len(trees) == 0 {
		t.Fatal("no trees", err)
	}
	for _, tree := range trees {
		if name := strings.TrimSuffix(filepath.Base(tree), ".expected.json"); workOf[name] == nil {
			t.Errorf("nothing is done in %s", name)
		}
	}
}
