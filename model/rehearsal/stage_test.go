package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A stage is the world of a rehearsal: files to read, workflows to load, and what was saved and called.
type stage struct {
	files     map[string]string
	workflows map[string]map[string]any
	refuse    map[string]string // paths that save_output refuses, and why

	saved map[string]string
	order []string // paths in the order of their first save
	saves int
	calls []string
}

func (s *stage) tools() []troupe.Tool {
	type readInput struct {
		FilePath string `json:"file_path"`
	}
	type workflowInput struct {
		WorkflowPath string         `json:"workflow_path"`
		UserInput    map[string]any `json:"user_input,omitempty"`
	}
	type saveInput struct {
		FilePath string `json:"file_path"`
		Content  string `json:"content"`
	}
	return []troupe.Tool{
		troupe.NewTool("read_file", "Reads a file.", func(_ context.Context, in readInput) (map[string]any, error) {
			s.calls = append(s.calls, "read_file "+in.FilePath)
			content, ok := s.files[in.FilePath]
			if !ok {
				return map[string]any{"success": false, "error": "no such file", "path": in.FilePath}, nil
			}
			return map[string]any{"success": true, "path": in.FilePath, "content": content, "size": len(content)}, nil
		}),
		troupe.NewTool("execute_workflow", "Loads a workflow.", func(_ context.Context, in workflowInput) (map[string]any, error) {
			s.calls = append(s.calls, "execute_workflow "+in.WorkflowPath)
			loaded, ok := s.workflows[in.WorkflowPath]
			if !ok {
				return nil, fmt.Errorf("no such workflow: %s", in.WorkflowPath)
			}
			return loaded, nil
		}),
		troupe.NewTool("save_output", "Saves a file.", func(_ context.Context, in saveInput) (map[string]any, error) {
			s.calls = append(s.calls, "save_output "+in.FilePath)
			if why, refused := s.refuse[in.FilePath]; refused {
				return map[string]any{"success": false, "error": why, "path": in.FilePath}, nil
			}
			if s.saved == nil {
				s.saved = map[string]string{}
			}
			if _, again := s.saved[in.FilePath]; !again {
				s.order = append(s.order, in.FilePath)
			}
			s.saved[in.FilePath] = in.Content
			s.saves++
			return map[string]any{"success": true, "path": in.FilePath, "size": len(in.Content)}, nil
		}),
	}
}

// A dialogue is one session with an agent that the rehearsal plays.
type dialogue struct {
	t       *testing.T
	engine  *troupe.Engine
	agent   *troupe.Agent
	session string
	limits  troupe.Limits
	replies []string
}

func open(t *testing.T, prompt string, tools ...troupe.Tool) *dialogue {
	t.Helper()
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "alex", Instructions: prompt, Model: New(), Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	return &dialogue{t: t, engine: engine, agent: agent}
}

// say sends one message and returns the reply.
func (d *dialogue) say(text string) string {
	d.t.Helper()
	out, err := troupe.Collect(d.engine.Run(d.t.Context(), d.agent, troupe.Input{Session: d.session, Text: text, Limits: d.limits}))
	if err != nil {
		d.t.Fatalf("%q: %v", text, err)
	}
	d.session = out.Session
	d.replies = append(d.replies, out.Text)
	return out.Text
}

// rehearse answers questions with stand-ins until none is asked, or turns are used up.
func (d *dialogue) rehearse(first string, turns int) (last string, ended bool) {
	d.t.Helper()
	last = d.say(first)
	for range turns {
		question, asked := Question(last)
		if !asked {
			return last, true
		}
		last = d.say(StandIn(question))
	}
	return last, false
}

// workflow is what execute_workflow returns.
func workflow(name, instructions, template string, config map[string]any) map[string]any {
	result := map[string]any{
		"success": true, "workflow_name": name, "description": "Plays " + name + ".", "instructions": instructions,
		"config": config, "files": []any{}, "unresolved": []string{}, "user_input": map[string]any{},
		"session_id": "s", "session_folder": "{session-folder}",
	}
	if template != "" {
		result["template"] = template
	}
	return result
}

const prompt = `You are Alex, a facilitator.

AVAILABLE COMMANDS:
*help - Show numbered cmd list
*intake - Gather requirements
  Workflow: {bundle-root}/workflows/intake/workflow.yaml
*review-notes - Read the notes
  Exec: {bundle-root}/tasks/notes.md
*exit - Goodbye+exit persona
`

const intakePath = "{bundle-root}/workflows/intake/workflow.yaml"

// stageOf has one workflow, behind *intake.
func stageOf(instructions, template string, config map[string]any) *stage {
	return &stage{workflows: map[string]map[string]any{intakePath: workflow("intake", instructions, template, config)}}
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func mustLack(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in:\n%s", part, text)
		}
	}
}

func count(list []string, prefix string) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasPrefix(s, prefix) }))
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return value
}
