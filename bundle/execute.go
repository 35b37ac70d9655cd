package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/workspace"
)

type executeRequest struct {
	WorkflowPath string         `json:"workflow_path" jsonschema:"path of the workflow, such as {bundle-root}/workflows/intake/workflow.yaml, or the name of a skill"`
	UserInput    map[string]any `json:"user_input,omitempty" jsonschema:"values that the user has given, by variable name"`
}

// executeResult is what the model learns of a workflow.
type executeResult struct {
	Success      bool           `json:"success"`
	Path         string         `json:"path"`
	WorkflowName string         `json:"workflow_name"`
	Description  string         `json:"description"`
	Instructions string         `json:"instructions"`
	Template     *string        `json:"template"`
	Config       map[string]any `json:"config"`
	Files        []File         `json:"files"`
	// Inputs are the documents there are of those that the workflow looks for.
	Inputs        map[string][]string `json:"inputs,omitempty"`
	Unresolved    []string            `json:"unresolved"`
	UserInput     map[string]any      `json:"user_input"`
	SessionID     string              `json:"session_id"`
	SessionFolder string              `json:"session_folder"`
}

const executeDescription = `Loads a workflow or a skill: its configuration with all variables filled in, its instructions, and its template where it has one. Follow the instructions step by step after that.

The other files that the workflow names are listed under files with their sizes; read one with read_file when a step needs it. Ask the user for what is listed under unresolved.`

// executeWorkflow returns the tool of that name.
func (s *sessions) executeWorkflow() troupe.Tool {
	return newTool("execute_workflow", executeDescription, func(ctx context.Context, call *troupe.Invocation, in executeRequest) (any, error) {
		x, err := s.enterLinked(ctx, call)
		if err != nil {
			return nil, failure(err, "")
		}
		defer s.leave(x)
		w, err := s.agent.bundle.workflow(x.base, x.findWorkflow(in.WorkflowPath), in.UserInput)
		if err != nil {
			return nil, failure(err, in.WorkflowPath)
		}
		x.follow(w, in.UserInput)
		if err := s.keepNote(ctx, call.Run, x.note()); err != nil {
			return nil, failure(err, in.WorkflowPath)
		}
		w.Config["session_id"] = x.id
		out := executeResult{
			Success: true, Path: w.Path, Inputs: w.Inputs, WorkflowName: w.Name, Description: w.Description, Instructions: w.Instructions,
			Config: w.Config, Files: w.Files, Unresolved: w.Unresolved, UserInput: in.UserInput,
			SessionID: x.id, SessionFolder: "{" + workspace.SessionFolder + "}",
		}
		if w.HasTemplate {
			out.Template = &w.Template
		}
		if out.UserInput == nil {
			out.UserInput = map[string]any{}
		}
		return out, nil
	})
}

// findWorkflow returns the path of a workflow that is named relative to what was read.
func (x *session) findWorkflow(name string) string {
	if !strings.ContainsAny(name, "/.") {
		return name // that of a skill
	}
	if strings.HasPrefix(name, "{") {
		return name // what it may be called instead is found where it is loaded
	}
	return x.find(name)
}

// maxResult is how much of a result the engine passes on, in bytes. The end of
// what it cuts would be the end of the JSON.
const maxResult = 1 << 20

// newTool makes a tool that may run other steps, answers in JSON and can be repeated.
func newTool[In any](
	name, description string, act func(context.Context, *troupe.Invocation, In) (any, error), options ...troupe.ToolOption,
) troupe.Tool {
	options = append(options, troupe.RepeatSafe(), func(s *troupe.ToolSpec) { s.Output = nil })
	return troupe.NewToolWithCall(name, description, func(ctx context.Context, call *troupe.Invocation, in In) (troupe.Result, error) {
		out, err := act(ctx, call, in)
		if err != nil {
			return troupe.Result{}, err
		}
		content, err := encode(out)
		if err == nil && len(content) > maxResult {
			err = failure(fmt.Errorf("a result of %d bytes: %w", len(content), workspace.ErrTooLarge), "")
		}
		result := troupe.Result{Content: content}
		if _, isWorkflow := out.(executeResult); isWorkflow {
			result.Keep = keepWorkflow
		}
		return result, err
	}, options...)
}

// What an agent works by outlives compaction of its context: the workflow in
// progress, and the step of it that was read last.
const keepWorkflow, keepStep = "workflow", "workflow step"

// A stepReader is read_file that has the latest step file outlive compaction.
type stepReader struct{ troupe.Tool }

// stepFile is how bundles name the files of a workflow's steps.
var stepFile = regexp.MustCompile(`(?i)(^|/)(step|s)-?[0-9]+[^/]*\.(md|xml)$`)

func (r stepReader) Call(ctx context.Context, call *troupe.Invocation) (troupe.Result, error) {
	result, err := r.Tool.Call(ctx, call)
	var in struct {
		FilePath string `json:"file_path"`
	}
	if err == nil && json.Unmarshal(call.Arguments, &in) == nil && stepFile.MatchString(strings.TrimSpace(in.FilePath)) {
		result.Keep = keepStep
	}
	return result, err
}

// failure makes an error that is told to the model in the form that bundles know.
func failure(err error, path string) error {
	class := "failed"
	if errors.Is(err, workspace.ErrDenied) {
		class = "unauthorized"
	}
	const longest = 2 << 10
	text := err.Error()
	return files.Failure(class, err, text[:min(len(text), longest)], path[:min(len(path), longest)])
}

// encode writes JSON without the escaping meant for HTML pages: instructions are
// full of tags.
func encode(v any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
