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

	"github.com/troupe-dev/troupe/internal/corpus"
)

// A reader is a model server that goes through a workflow as a model does: call by call,
// each for what the text before it names, and a word to the user between messages. What
// comes back for each call must hold what is expected of it.
type reader struct {
	t     *testing.T
	calls []readerCall

	mu   sync.Mutex
	made int
}

// A readerCall is a call and what its result must hold. One without a tool is an answer
// to the user.
type readerCall struct{ tool, arguments, holds string }

func (m *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &request)
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := len(request.Messages) - 1; last >= 0 && request.Messages[last].Role == "tool" && m.made > 0 {
		before := m.calls[m.made-1]
		if result := request.Messages[last].Content; !strings.Contains(result, before.holds) || strings.Contains(result, `"success":false`) {
			m.t.Errorf("%s %s gives no %q: %.600s", before.tool, before.arguments, before.holds, result)
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if m.made >= len(m.calls) || m.calls[m.made].tool == "" {
		m.made++
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"[A] [P] [C]"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		return
	}
	call := m.calls[m.made]
	m.made++
	chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "finish_reason": "tool_calls", "delta": map[string]any{"tool_calls": []any{
		map[string]any{"index": 0, "id": fmt.Sprint("c", m.made), "type": "function", "function": map[string]string{"name": call.tool, "arguments": call.arguments}},
	}}}}})
	_, _ = io.WriteString(w, "data: "+string(chunk)+"\n\ndata: [DONE]\n\n")
}

func reads(file, holds string) readerCall {
	return readerCall{"read_file", `{"file_path":"` + file + `"}`, holds}
}

// waits is where the model answers the user and waits.
var waits = readerCall{}

// The three modes of a workflow, elicitation and party mode, as the published trees have
// them: each is begun by its command, goes through its step files by the names that stand
// in them, and reads what an earlier conversation has written.
func TestModesElicitationAndPartyArePlayed(t *testing.T) {
	const prd = "{project-root}/_bmad/bmm/workflows/2-plan-workflows/create-prd/"
	elicitation := []readerCall{
		reads("{advancedElicitationTask}", "Method Registry Loading"),
		reads("{project-root}/_bmad/core/workflows/advanced-elicitation/methods.csv", "method_name"),
		waits,
	}
	party := []readerCall{
		reads("{partyModeWorkflow}", "party"),
		reads("{project-root}/_bmad/_config/agent-manifest.csv", "Winston"),
		reads("./steps/step-01-agent-loading.md", "step-02"),
		reads("./step-02-discussion-orchestration.md", "step-03"),
		waits,
		reads("./step-03-graceful-exit.md", "exit"),
		waits,
	}
	create := []readerCall{
		{"execute_workflow", `{"workflow_path":"` + prd + `workflow-create-prd.md"}`, "steps-c/step-01-init.md"},
		reads("./steps-c/step-01-init.md", "step-02-discovery.md"),
		{"save_output", `{"file_path":"{outputFile}","content":"---\nstepsCompleted: ['step-01-init']\n---\n# PRD of Lantern\n"}`, "success"},
		waits,
		reads("{nextStepFile}", "Project Discovery"),
		reads("../data/project-types.csv", "project_type"),
	}
	create = append(create, elicitation...)
	create = append(create, party...)
	create = append(create,
		readerCall{"edit_file", `{"file_path":"{planning_artifacts}/prd.md","edits":[{"search":"'step-01-init'","replace":"'step-01-init', 'step-02-discovery'"}]}`, "prd.md"},
		reads("{nextStepFile}", "Vision"), waits)

	server := &reader{t: t}
	endpoint := httptest.NewServer(server)
	t.Cleanup(endpoint.Close)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(corpus.Path(t, "bmad/installed-6.0.4"))); err != nil {
		t.Fatal(err)
	}
	settings := "model: local/m\nproviders: {local: {base_url: \"" + endpoint.URL + "/v1\"}}\nlimits: {model_tries: 1}\n"
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []struct {
		name     string
		messages []string
		calls    []readerCall
	}{
		{"create", []string{"CP", "A", "P", "*exit", "C"}, create},
		{"continue", []string{"create-prd"}, []readerCall{
			{"execute_workflow", `{"workflow_path":"` + prd + `workflow-create-prd.md"}`, "step-01-init"},
			reads("./steps-c/step-01-init.md", "step-01b-continue"),
			reads("{planning_artifacts}/prd.md", "step-02-discovery"),
			reads("./step-01b-continue.md", "stepsCompleted"), waits,
		}},
		{"validate", []string{"VP", "C"}, []readerCall{
			{"execute_workflow", `{"workflow_path":"` + prd + `workflow-validate-prd.md"}`, "step-v-01-discovery.md"},
			reads("./steps-v/step-v-01-discovery.md", "step-v-02"),
			reads("../data/prd-purpose.md", "PRD"),
			reads("{planning_artifacts}/prd.md", "PRD of Lantern"),
			{"save_output", `{"file_path":"{planning_artifacts}/prd-validation-report.md","content":"# Report: PARTIAL\n"}`, "prd-validation-report.md"},
			waits,
			reads("./steps-v/step-v-02-format-detection.md", "step-v-03"),
			reads("./step-v-07-implementation-leakage-validation.md", "Leakage"), waits,
		}},
		{"edit", []string{"3", "C"}, []readerCall{
			waits, // the number of the menu's third item is another command's
			{"execute_workflow", `{"workflow_path":"` + prd + `workflow-edit-prd.md"}`, "step-e-01-discovery.md"},
			reads("./steps-e/step-e-01-discovery.md", "step-e-01b"),
			{"list_files", `{"path":"{planning_artifacts}/*validation*.md"}`, "prd-validation-report.md"},
			reads("{altStepFile}", "Legacy"),
			reads("{planning_artifacts}/prd-validation-report.md", "PARTIAL"), waits,
		}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			server.mu.Lock()
			server.t, server.calls, server.made = t, mode.calls, 0
			server.mu.Unlock()
			args := []string{"chat", "pm"}
			for _, m := range mode.messages {
				args = append(args, "-m", m)
			}
			p := start(t, dir, nil, nil, args...)
			if code := p.code(); code != 0 {
				t.Fatalf("exit code %d\n%s", code, &p.err)
			}
			if server.made != len(mode.calls) {
				t.Errorf("%d of %d calls were made\n%s%s", server.made, len(mode.calls), &p.out, &p.err)
			}
		})
	}
}
