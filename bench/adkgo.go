package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync/atomic"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
)

// adkGo is adk-go's LLM agent and its runner, with sessions in memory. Each
// operation deletes the session it made.
type adkGo struct{}

// adkStub plays the script with contents made beforehand.
type adkStub struct {
	script *script
	turns  []*genai.Content
	answer *genai.Content
	pieces []*genai.Content
}

func newADKStub(s *script) *adkStub {
	stub := &adkStub{script: s, answer: genai.NewContentFromText(s.answer, genai.RoleModel)}
	for _, calls := range s.turns {
		asked := make([]*genai.Part, len(calls))
		for i, c := range calls {
			arguments := map[string]any{"a": c.pair.A, "b": c.pair.B}
			asked[i] = &genai.Part{FunctionCall: &genai.FunctionCall{ID: c.id, Name: c.tool, Args: arguments}}
		}
		stub.turns = append(stub.turns, genai.NewContentFromParts(asked, genai.RoleModel))
	}
	for _, piece := range s.pieces {
		stub.pieces = append(stub.pieces, genai.NewContentFromText(piece, genai.RoleModel))
	}
	return stub
}

func (m *adkStub) Name() string { return "stub" }

func (m *adkStub) GenerateContent(_ context.Context, request *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		turn, err := m.next(request.Contents)
		if err != nil {
			yield(nil, err)
			return
		}
		if turn < len(m.turns) {
			yield(&model.LLMResponse{Content: m.turns[turn], TurnComplete: true}, nil)
			return
		}
		for _, piece := range m.pieces {
			if stream && !yield(&model.LLMResponse{Content: piece, Partial: true}, nil) {
				return
			}
		}
		yield(&model.LLMResponse{Content: m.answer, TurnComplete: true}, nil)
	}
}

// next is the turn that the conversation has come to.
func (m *adkStub) next(contents []*genai.Content) (int, error) {
	turn, results := 0, 0
	for _, content := range contents {
		if content.Role == genai.RoleModel {
			turn++
		}
		for _, part := range content.Parts {
			if part.FunctionResponse == nil {
				continue
			}
			results++
			if err := m.checkResult(part.FunctionResponse); err != nil {
				return 0, err
			}
		}
	}
	if turn < len(m.turns) {
		return turn, nil
	}
	return turn, m.script.checkResults(results)
}

// checkResult is the script's for a framework that hands over parsed JSON.
func (m *adkStub) checkResult(result *genai.FunctionResponse) error {
	call := m.script.byID[result.ID]
	if call == nil || result.Response["sum"] != float64(call.sum) {
		return fmt.Errorf("the result of call %q is %v", result.ID, result.Response)
	}
	return nil
}

func newADKTool(s *script) (tool.Tool, error) {
	return functiontool.New(functiontool.Config{Name: toolName, Description: toolAbout},
		func(ctx agent.Context, in pair) (sum, error) { return s.add(ctx, in) })
}

func newADKGoAgent(name string, stub *adkStub, add tool.Tool) (agent.Agent, error) {
	return llmagent.New(llmagent.Config{Name: name, Description: "A clerk.", Instruction: instructions, Model: stub, Tools: []tool.Tool{add}})
}

func (adkGo) create(s *script) (job, error) {
	stub := newADKStub(s)
	add, err := newADKTool(s)
	return func(context.Context) error {
		_, err := newADKGoAgent("clerk", stub, add)
		return err
	}, err
}

func (adkGo) createWithTool(s *script) (job, error) {
	stub := newADKStub(s)
	return func(context.Context) error {
		add, err := newADKTool(s)
		if err != nil {
			return err
		}
		_, err = newADKGoAgent("clerk", stub, add)
		return err
	}, nil
}

// An adkStage is an agent and all that it takes to run it.
type adkStage struct {
	runner   *runner.Runner
	sessions session.Service
	made     atomic.Int64 // sessions
}

func newADKStage(root agent.Agent) (*adkStage, error) {
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{AppName: "bench", Agent: root, SessionService: sessions, AutoCreateSession: true})
	return &adkStage{runner: r, sessions: sessions}, err
}

func newADKClerk(s *script) (*adkStage, error) {
	add, err := newADKTool(s)
	if err != nil {
		return nil, err
	}
	clerk, err := newADKGoAgent("clerk", newADKStub(s), add)
	if err != nil {
		return nil, err
	}
	return newADKStage(clerk)
}

// run asks the question in a new session, hands every event on, and deletes the
// session.
func (st *adkStage) run(ctx context.Context, mode agent.StreamingMode, hear func(*session.Event) error) error {
	id := strconv.FormatInt(st.made.Add(1), 10)
	asked := genai.NewContentFromText(question, genai.RoleUser)
	for event, err := range st.runner.Run(ctx, "user", id, asked, agent.RunConfig{StreamingMode: mode}) {
		if err != nil {
			return err
		}
		if err := hear(event); err != nil {
			return err
		}
	}
	return st.sessions.Delete(ctx, &session.DeleteRequest{AppName: "bench", UserID: "user", SessionID: id})
}

// adkText is the text of an event.
func adkText(e *session.Event) string {
	if e.Content == nil || len(e.Content.Parts) == 0 {
		return ""
	}
	return e.Content.Parts[0].Text
}

func (adkGo) ask(s *script) (job, error) {
	on, err := newADKClerk(s)
	return func(ctx context.Context) error {
		var answer string
		err := on.run(ctx, agent.StreamingModeNone, func(e *session.Event) error {
			if text := adkText(e); text != "" && e.IsFinalResponse() {
				answer = text
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.checkAnswer(answer)
	}, err
}

func (adkGo) stream(s *script) (job, error) {
	on, err := newADKClerk(s)
	heard := &listener{script: s}
	return func(ctx context.Context) error {
		heard.begin()
		err := on.run(ctx, agent.StreamingModeSSE, func(e *session.Event) error {
			if e.Partial {
				heard.hear(adkText(e))
			}
			return nil
		})
		if err != nil {
			return err
		}
		return heard.check()
	}, err
}

func (adkGo) askTogether(s *script, n int) (job, error) {
	add, err := newADKTool(s)
	if err != nil {
		return nil, err
	}
	stub := newADKStub(s)
	clerks := make([]agent.Agent, n)
	for i := range clerks {
		if clerks[i], err = newADKGoAgent("clerk_"+string(rune('1'+i)), stub, add); err != nil {
			return nil, err
		}
	}
	all, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "clerks", Description: "Clerks.", SubAgents: clerks}})
	if err != nil {
		return nil, err
	}
	on, err := newADKStage(all)
	return func(ctx context.Context) error {
		answers := 0
		err := on.run(ctx, agent.StreamingModeNone, func(e *session.Event) error {
			if adkText(e) == "" {
				return nil
			}
			answers++
			return s.checkAnswer(adkText(e))
		})
		if err == nil && answers != n {
			err = errors.New("an agent did not answer")
		}
		return err
	}, err
}
