package main

import (
	"context"
	"encoding/json"
	"errors"

	"charm.land/fantasy"
)

// fantasyContender is fantasy's agent. Its Generate calls the tools of a turn one
// after the other; its Stream can call up to five at once.
type fantasyContender struct{}

// fantasyStub plays the script with responses made beforehand.
type fantasyStub struct {
	script *script
	turns  []*fantasy.Response
	answer *fantasy.Response
	pieces []fantasy.StreamPart
}

func newFantasyStub(s *script) *fantasyStub {
	stub := &fantasyStub{script: s, answer: &fantasy.Response{
		Content: fantasy.ResponseContent{fantasy.TextContent{Text: s.answer}}, FinishReason: fantasy.FinishReasonStop,
	}}
	for _, calls := range s.turns {
		asked := make(fantasy.ResponseContent, len(calls))
		for i, c := range calls {
			asked[i] = fantasy.ToolCallContent{ToolCallID: c.id, ToolName: c.tool, Input: c.arguments}
		}
		stub.turns = append(stub.turns, &fantasy.Response{Content: asked, FinishReason: fantasy.FinishReasonToolCalls})
	}
	stub.pieces = append(stub.pieces, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextStart, ID: "text"})
	for _, piece := range s.pieces {
		stub.pieces = append(stub.pieces, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextDelta, ID: "text", Delta: piece})
	}
	stub.pieces = append(stub.pieces, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextEnd, ID: "text"},
		fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: fantasy.FinishReasonStop})
	return stub
}

// next is the turn that the conversation has come to.
func (m *fantasyStub) next(prompt fantasy.Prompt) (int, error) {
	turn, results := 0, 0
	for i := range prompt {
		switch prompt[i].Role {
		case fantasy.MessageRoleAssistant:
			turn++
		case fantasy.MessageRoleTool:
			for _, part := range prompt[i].Content {
				results++
				if err := m.checkResult(part); err != nil {
					return 0, err
				}
			}
		}
	}
	if turn < len(m.turns) {
		return turn, nil
	}
	return turn, m.script.checkResults(results)
}

func (m *fantasyStub) checkResult(part fantasy.MessagePart) error {
	result, ok := part.(fantasy.ToolResultPart)
	if !ok {
		return errors.New("a tool's message holds no result")
	}
	text, ok := result.Output.(fantasy.ToolResultOutputContentText)
	if !ok {
		return errors.New("a tool's result is no text")
	}
	return m.script.checkResult(result.ToolCallID, text.Text)
}

func (m *fantasyStub) Generate(_ context.Context, call fantasy.Call) (*fantasy.Response, error) {
	turn, err := m.next(call.Prompt)
	if err != nil {
		return nil, err
	}
	if turn < len(m.turns) {
		return m.turns[turn], nil
	}
	return m.answer, nil
}

// Stream plays the answer; no row streams turns with calls.
func (m *fantasyStub) Stream(_ context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	turn, err := m.next(call.Prompt)
	if err != nil {
		return nil, err
	}
	if turn < len(m.turns) {
		return nil, errors.New("the stub streams no calls")
	}
	return func(yield func(fantasy.StreamPart) bool) {
		for _, piece := range m.pieces {
			if !yield(piece) {
				return
			}
		}
	}, nil
}

func (m *fantasyStub) GenerateObject(context.Context, fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	return nil, errors.New("the stub makes no objects")
}

func (m *fantasyStub) StreamObject(context.Context, fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	return nil, errors.New("the stub makes no objects")
}

func (m *fantasyStub) Provider() string { return "stub" }
func (m *fantasyStub) Model() string    { return "stub" }

// newFantasyTool makes a tool that may run beside others. What it takes is typed;
// what it gives is text.
func newFantasyTool(s *script) fantasy.AgentTool {
	return fantasy.NewParallelAgentTool(toolName, toolAbout, func(ctx context.Context, in pair, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		out, err := s.add(ctx, in)
		if err != nil {
			return fantasy.ToolResponse{}, err
		}
		text, err := json.Marshal(out)
		return fantasy.NewTextResponse(string(text)), err
	})
}

func newFantasyAgent(stub *fantasyStub, tool fantasy.AgentTool) fantasy.Agent {
	return fantasy.NewAgent(stub, fantasy.WithSystemPrompt(instructions), fantasy.WithTools(tool))
}

func (fantasyContender) create(s *script) (job, error) {
	stub, tool := newFantasyStub(s), newFantasyTool(s)
	return func(context.Context) error {
		_ = newFantasyAgent(stub, tool)
		return nil
	}, nil
}

func (fantasyContender) createWithTool(s *script) (job, error) {
	stub := newFantasyStub(s)
	return func(context.Context) error {
		_ = newFantasyAgent(stub, newFantasyTool(s))
		return nil
	}, nil
}

func (fantasyContender) ask(s *script) (job, error) {
	agent := newFantasyAgent(newFantasyStub(s), newFantasyTool(s))
	return func(ctx context.Context) error {
		result, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: question})
		if err != nil {
			return err
		}
		return s.checkAnswer(result.Response.Content.Text())
	}, nil
}

func (fantasyContender) stream(s *script) (job, error) {
	agent := newFantasyAgent(newFantasyStub(s), newFantasyTool(s))
	heard := &listener{script: s}
	show := func(_, piece string) error {
		heard.hear(piece)
		return nil
	}
	return func(ctx context.Context) error {
		heard.begin()
		if _, err := agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: question, OnTextDelta: show}); err != nil {
			return err
		}
		return heard.check()
	}, nil
}

func (f fantasyContender) askTogether(s *script, n int) (job, error) {
	one, err := f.ask(s)
	return together(one, n), err
}
