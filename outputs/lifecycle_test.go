package outputs

import (
	"context"
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestFoldersAreAStore(t *testing.T) {
	troupetest.TestStore(t, func(tb testing.TB) troupe.Store {
		return keep(tb, troupe.NewMemoryStore(), tb.TempDir(), Options{})
	})
}

// saver is a tool that saves a file, and workflow one that loads a workflow.
func saver(t *testing.T) troupe.Tool {
	tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: "save_output"}, func(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, in.Run.Emit(ctx, &troupe.ArtifactSaved{Path: "{session-folder}/docs/prd.md", Type: "document", Description: "PRD"})
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func workflow(t *testing.T) troupe.Tool {
	tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: "execute_workflow"}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{Content: `{"success":true,"workflow_name":"intake","description":"Asks first","instructions":"...","user_input":{"category":"app"}}`}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// A stage is an engine over folders with one agent.
type stage struct {
	*Folders
	engine *troupe.Engine
	agent  *troupe.Agent
}

func newStage(t *testing.T, model modelFunc) *stage {
	t.Helper()
	s := &stage{Folders: keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{
		User:     "Ada",
		Describe: func(agent string) (string, string) { return "Alex the Facilitator", "bmad/bmm" },
	})}
	var err error
	if s.engine, err = troupe.New(troupe.Config{Store: s.Folders}); err != nil {
		t.Fatal(err)
	}
	s.agent, err = troupe.NewAgent(troupe.AgentConfig{ID: "alex", Model: model, Tools: []troupe.Tool{saver(t), workflow(t)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) run(ctx context.Context, text string) (failure error) {
	for _, err := range s.engine.Run(ctx, s.agent, troupe.Input{Session: id(1), Text: text}) {
		failure = err
	}
	return failure
}

func TestAManifestFollowsTheRunWhenAskedFor(t *testing.T) {
	var s *stage
	asked := 0
	s = newStage(t, func(context.Context) (string, []troupe.ToolCall, error) {
		asked++
		askFor(t, s.Folders, id(1))
		m := load(t, s.Folders, id(1))
		if m.Execution.Status != "running" || !m.Execution.CompletedAt.IsZero() || m.Execution.User != "Ada" ||
			m.Agent != (Agent{Name: "alex", Title: "Alex the Facilitator", Bundle: "bmad/bmm"}) {
			t.Errorf("asked for the %d. time, the model finds %+v", asked, m)
		}
		switch asked {
		case 1:
			if m.MessageCount != 1 || m.UserSummary != "I need to purchase 10 laptops fo..." || m.Workflow.Name != "chat" || len(m.Outputs) != 0 {
				t.Errorf("at first the manifest says %+v", m)
			}
			return "", []troupe.ToolCall{{ID: "1", Name: "execute_workflow", Arguments: "{}"}}, nil
		case 2:
			if m.Workflow != (Workflow{Name: "intake", Description: "Asks first"}) || m.Inputs["category"] != "app" {
				t.Errorf("after a workflow was loaded the manifest says %+v", m)
			}
			return "", []troupe.ToolCall{{ID: "2", Name: "save_output", Arguments: "{}"}}, nil
		case 3:
			if len(m.Outputs) != 1 || m.Outputs[0].File != "docs/prd.md" || m.Outputs[0].Type != "document" || m.Outputs[0].Description != "PRD" {
				t.Errorf("after a file was saved the outputs are %+v", m.Outputs)
			}
		}
		return "here you are", nil, nil
	})
	if err := s.run(t.Context(), "I need to purchase 10 laptops for the new office"); err != nil {
		t.Fatal(err)
	}
	m := load(t, s.Folders, id(1))
	if m.Execution.Status != "completed" || m.Execution.CompletedAt.Before(m.Execution.StartedAt) || m.MessageCount != 2 || asked != 3 {
		t.Errorf("in the end, after %d questions, the manifest says %+v", asked, m)
	}
	if err := s.run(t.Context(), "more"); err != nil {
		t.Fatal(err)
	}
	if again := load(t, s.Folders, id(1)); again.MessageCount != 4 || again.UserSummary != m.UserSummary || !again.Execution.StartedAt.Equal(m.Execution.StartedAt) {
		t.Errorf("after another run the manifest says %+v", again)
	}
}

func TestAFailedRunIsFinalisedAndRunningAgainWhenResumed(t *testing.T) {
	broken := true
	var s *stage
	s = newStage(t, func(context.Context) (string, []troupe.ToolCall, error) {
		askFor(t, s.Folders, id(1))
		if m := load(t, s.Folders, id(1)); m.Execution.Status != "running" {
			t.Errorf("the model is asked while the manifest says %s", m.Execution.Status)
		}
		if broken {
			return "", nil, &troupe.ModelError{Status: 400, Message: "no"}
		}
		return "yes", nil, nil
	})
	if err := s.run(t.Context(), "go"); err == nil {
		t.Fatal("the run did not fail")
	}
	if m := load(t, s.Folders, id(1)); m.Execution.Status != "failed" || m.Execution.CompletedAt.IsZero() {
		t.Errorf("after a failure the manifest says %+v", m.Execution)
	}
	broken = false
	for _, err := range s.engine.Resume(t.Context(), s.agent, id(1)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if m := load(t, s.Folders, id(1)); m.Execution.Status != "completed" || m.MessageCount != 2 {
		t.Errorf("after the run was resumed the manifest says %+v", m)
	}
}

func TestACancelledRunIsFinalised(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStage(t, func(ctx context.Context) (string, []troupe.ToolCall, error) {
		cancel()
		<-ctx.Done()
		return "", nil, ctx.Err()
	})
	if err := s.run(ctx, "go"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if m := load(t, s.Folders, id(1)); m.Execution.Status != "cancelled" || m.Execution.CompletedAt.IsZero() {
		t.Errorf("after it was cancelled the manifest says %+v", m.Execution)
	}
}
