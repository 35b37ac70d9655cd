package main

import (
	"context"
	"errors"
	"slices"

	"github.com/go-kratos/blades"
	"github.com/go-kratos/blades/flow"
	"github.com/go-kratos/blades/tools"
)

// bladesContender is blades' agent and its runner, which keeps each run in a
// session of its own.
type bladesContender struct{}

// bladesStub plays the script with messages made beforehand. blades writes into
// the messages that a model returns, so each is copied, as a model would make it.
type bladesStub struct {
	script *script
	turns  []blades.Message
	answer blades.Message
	pieces []blades.Message
}

func newBladesStub(s *script) *bladesStub {
	said := func(status blades.Status, text string) blades.Message {
		return blades.Message{ID: "message", Role: blades.RoleAssistant, Status: status, Parts: []blades.Part{blades.TextPart{Text: text}}}
	}
	stub := &bladesStub{script: s, answer: said(blades.StatusCompleted, s.answer)}
	for _, calls := range s.turns {
		asked := make([]blades.Part, len(calls))
		for i, c := range calls {
			asked[i] = blades.NewToolPart(c.id, c.tool, c.arguments)
		}
		stub.turns = append(stub.turns, blades.Message{ID: "message", Role: blades.RoleTool, Status: blades.StatusCompleted, Parts: asked})
	}
	for _, piece := range s.pieces {
		stub.pieces = append(stub.pieces, said(blades.StatusIncomplete, piece))
	}
	return stub
}

func (m *bladesStub) Name() string { return "stub" }

// next is the turn that the conversation has come to. A turn and its results are
// one message.
func (m *bladesStub) next(messages []*blades.Message) (int, error) {
	turn, results := 0, 0
	for _, message := range messages {
		if message.Role != blades.RoleTool {
			continue
		}
		turn++
		for _, part := range message.Parts {
			result, ok := part.(blades.ToolPart)
			if !ok || !result.Completed {
				return 0, errors.New("a call has no result")
			}
			results++
			if err := m.script.checkResult(result.ID, result.Response); err != nil {
				return 0, err
			}
		}
	}
	if turn < len(m.turns) {
		return turn, nil
	}
	return turn, m.script.checkResults(results)
}

func (m *bladesStub) Generate(_ context.Context, request *blades.ModelRequest) (*blades.ModelResponse, error) {
	turn, err := m.next(request.Messages)
	if err != nil {
		return nil, err
	}
	message := m.answer
	if turn < len(m.turns) {
		message = m.turns[turn]
		message.Parts = slices.Clone(message.Parts)
	}
	return &blades.ModelResponse{Message: &message}, nil
}

// NewStreaming plays the answer; no row streams turns with calls.
func (m *bladesStub) NewStreaming(_ context.Context, request *blades.ModelRequest) blades.Generator[*blades.ModelResponse, error] {
	return func(yield func(*blades.ModelResponse, error) bool) {
		turn, err := m.next(request.Messages)
		if err == nil && turn < len(m.turns) {
			err = errors.New("the stub streams no calls")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range m.pieces {
			piece := m.pieces[i]
			if !yield(&blades.ModelResponse{Message: &piece}, nil) {
				return
			}
		}
		answer := m.answer
		yield(&blades.ModelResponse{Message: &answer}, nil)
	}
}

func newBladesTool(s *script) (tools.Tool, error) {
	return tools.NewFunc(toolName, toolAbout, s.add)
}

func newBladesAgent(name string, stub *bladesStub, tool tools.Tool) (blades.Agent, error) {
	return blades.NewAgent(name, blades.WithModel(stub), blades.WithInstruction(instructions),
		blades.WithTools(tool), blades.WithMaxIterations(len(stub.turns)+1))
}

func (bladesContender) create(s *script) (job, error) {
	stub := newBladesStub(s)
	tool, err := newBladesTool(s)
	return func(context.Context) error {
		_, err := newBladesAgent("clerk", stub, tool)
		return err
	}, err
}

func (bladesContender) createWithTool(s *script) (job, error) {
	stub := newBladesStub(s)
	return func(context.Context) error {
		tool, err := newBladesTool(s)
		if err != nil {
			return err
		}
		_, err = newBladesAgent("clerk", stub, tool)
		return err
	}, nil
}

func newBladesRunner(s *script) (*blades.Runner, error) {
	tool, err := newBladesTool(s)
	if err != nil {
		return nil, err
	}
	agent, err := newBladesAgent("clerk", newBladesStub(s), tool)
	return blades.NewRunner(agent), err
}

func (bladesContender) ask(s *script) (job, error) {
	runner, err := newBladesRunner(s)
	return func(ctx context.Context) error {
		answer, err := runner.Run(ctx, blades.UserMessage(question))
		if err != nil {
			return err
		}
		return s.checkAnswer(answer.Text())
	}, err
}

func (bladesContender) stream(s *script) (job, error) {
	runner, err := newBladesRunner(s)
	heard := &listener{script: s}
	return func(ctx context.Context) error {
		heard.begin()
		for message, err := range runner.RunStream(ctx, blades.UserMessage(question)) {
			if err != nil {
				return err
			}
			if message.Status == blades.StatusIncomplete {
				heard.hear(message.Text())
			}
		}
		return heard.check()
	}, err
}

func (bladesContender) askTogether(s *script, n int) (job, error) {
	tool, err := newBladesTool(s)
	if err != nil {
		return nil, err
	}
	stub := newBladesStub(s)
	agents := make([]blades.Agent, n)
	for i := range agents {
		if agents[i], err = newBladesAgent("clerk-"+string(rune('1'+i)), stub, tool); err != nil {
			return nil, err
		}
	}
	all := flow.NewParallelAgent(flow.ParallelConfig{Name: "clerks", SubAgents: agents})
	return func(ctx context.Context) error {
		answers := 0
		// A runner gives the last answer alone.
		session, asked := blades.NewSession(), blades.UserMessage(question)
		asked.InvocationID = blades.NewInvocationID()
		invocation := &blades.Invocation{ID: asked.InvocationID, Session: session, Message: asked}
		for message, err := range all.Run(blades.NewSessionContext(ctx, session), invocation) {
			if err != nil {
				return err
			}
			if err := s.checkAnswer(message.Text()); err != nil {
				return err
			}
			answers++
		}
		if answers != n {
			return errors.New("an agent did not answer")
		}
		return nil
	}, nil
}
