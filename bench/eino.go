package main

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
)

// eino has two kinds of agent: that of its adk package, which its documentation
// recommends and which is cheap to make, and the older one of flow/agent/react,
// which is cheaper to run. Both are shown.

// einoStub plays the script with messages made beforehand.
type einoStub struct {
	script *script
	turns  []*schema.Message
	answer *schema.Message
	pieces []*schema.Message
}

func newEinoStub(s *script) *einoStub {
	stub := &einoStub{script: s, answer: schema.AssistantMessage(s.answer, nil)}
	for _, calls := range s.turns {
		asked := make([]schema.ToolCall, len(calls))
		for i, c := range calls {
			asked[i] = schema.ToolCall{ID: c.id, Function: schema.FunctionCall{Name: c.tool, Arguments: c.arguments}}
		}
		stub.turns = append(stub.turns, schema.AssistantMessage("", asked))
	}
	for _, piece := range s.pieces {
		stub.pieces = append(stub.pieces, schema.AssistantMessage(piece, nil))
	}
	return stub
}

// next is the turn that the conversation has come to.
func (m *einoStub) next(messages []*schema.Message) (int, error) {
	turn, results := 0, 0
	for _, message := range messages {
		switch message.Role {
		case schema.Assistant:
			turn++
		case schema.Tool:
			results++
			if err := m.script.checkResult(message.ToolCallID, message.Content); err != nil {
				return 0, err
			}
		}
	}
	if turn < len(m.turns) {
		return turn, nil
	}
	return turn, m.script.checkResults(results)
}

func (m *einoStub) Generate(_ context.Context, messages []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	turn, err := m.next(messages)
	if err != nil {
		return nil, err
	}
	if turn < len(m.turns) {
		return m.turns[turn], nil
	}
	return m.answer, nil
}

func (m *einoStub) Stream(_ context.Context, messages []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	turn, err := m.next(messages)
	if err != nil {
		return nil, err
	}
	if turn < len(m.turns) {
		return schema.StreamReaderFromArray(m.turns[turn : turn+1]), nil
	}
	return schema.StreamReaderFromArray(m.pieces), nil
}

func (m *einoStub) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func newEinoTool(s *script) (tool.InvokableTool, error) {
	return utils.InferTool(toolName, toolAbout, s.add)
}

// hearEino passes every piece of a streamed message on.
func hearEino(stream *schema.StreamReader[*schema.Message], heard *listener) error {
	defer stream.Close()
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		heard.hear(piece.Content)
	}
}

// einoADK is eino's adk package: a ChatModelAgent and a Runner.
type einoADK struct{}

func newADKAgent(name string, stub *einoStub, add tool.BaseTool) (*adk.ChatModelAgent, error) {
	return adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name:          name,
		Description:   "A clerk.",
		Instruction:   instructions,
		Model:         stub,
		ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{add}}},
		MaxIterations: len(stub.turns) + 1,
	})
}

func (einoADK) create(s *script) (job, error) {
	stub := newEinoStub(s)
	add, err := newEinoTool(s)
	return func(context.Context) error {
		_, err := newADKAgent("clerk", stub, add)
		return err
	}, err
}

func (einoADK) createWithTool(s *script) (job, error) {
	stub := newEinoStub(s)
	return func(context.Context) error {
		add, err := newEinoTool(s)
		if err != nil {
			return err
		}
		_, err = newADKAgent("clerk", stub, add)
		return err
	}, nil
}

func (einoADK) ask(s *script) (job, error) {
	add, err := newEinoTool(s)
	if err != nil {
		return nil, err
	}
	agent, err := newADKAgent("clerk", newEinoStub(s), add)
	if err != nil {
		return nil, err
	}
	runner := adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: agent})
	return func(ctx context.Context) error {
		var answer string
		events := runner.Query(ctx, question)
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			if event.Err != nil {
				return event.Err
			}
			answer = event.Output.MessageOutput.Message.Content
		}
		return s.checkAnswer(answer)
	}, nil
}

func (einoADK) stream(s *script) (job, error) {
	add, err := newEinoTool(s)
	if err != nil {
		return nil, err
	}
	agent, err := newADKAgent("clerk", newEinoStub(s), add)
	if err != nil {
		return nil, err
	}
	runner := adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	heard := &listener{script: s}
	return func(ctx context.Context) error {
		heard.begin()
		events := runner.Query(ctx, question)
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			if event.Err != nil {
				return event.Err
			}
			if err := hearEino(event.Output.MessageOutput.MessageStream, heard); err != nil {
				return err
			}
		}
		return heard.check()
	}, nil
}

func (einoADK) askTogether(s *script, n int) (job, error) {
	add, err := newEinoTool(s)
	if err != nil {
		return nil, err
	}
	stub := newEinoStub(s)
	agents := make([]adk.Agent, n)
	for i := range agents {
		if agents[i], err = newADKAgent("clerk-"+string(rune('1'+i)), stub, add); err != nil {
			return nil, err
		}
	}
	all, err := adk.NewParallelAgent(context.Background(), &adk.ParallelAgentConfig{Name: "clerks", Description: "Clerks.", SubAgents: agents})
	if err != nil {
		return nil, err
	}
	runner := adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: all})
	return func(ctx context.Context) error {
		answers := 0
		events := runner.Query(ctx, question)
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			if event.Err != nil {
				return event.Err
			}
			if err := s.checkAnswer(event.Output.MessageOutput.Message.Content); err != nil {
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

// einoReact is eino's flow/agent/react package.
type einoReact struct{}

func newReactAgent(stub *einoStub, add tool.BaseTool) (*react.Agent, error) {
	return react.NewAgent(context.Background(), &react.AgentConfig{
		ToolCallingModel: stub,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{add}},
		MaxStep:          2*len(stub.turns) + 2,
	})
}

// reactInput has the instructions in it, as the package's documentation prefers.
func reactInput() []*schema.Message {
	return []*schema.Message{schema.SystemMessage(instructions), schema.UserMessage(question)}
}

func (einoReact) create(s *script) (job, error) {
	stub := newEinoStub(s)
	add, err := newEinoTool(s)
	return func(context.Context) error {
		_, err := newReactAgent(stub, add)
		return err
	}, err
}

func (einoReact) createWithTool(s *script) (job, error) {
	stub := newEinoStub(s)
	return func(context.Context) error {
		add, err := newEinoTool(s)
		if err != nil {
			return err
		}
		_, err = newReactAgent(stub, add)
		return err
	}, nil
}

func (einoReact) ask(s *script) (job, error) {
	add, err := newEinoTool(s)
	if err != nil {
		return nil, err
	}
	agent, err := newReactAgent(newEinoStub(s), add)
	return func(ctx context.Context) error {
		answer, err := agent.Generate(ctx, reactInput())
		if err != nil {
			return err
		}
		return s.checkAnswer(answer.Content)
	}, err
}

func (einoReact) stream(s *script) (job, error) {
	add, err := newEinoTool(s)
	if err != nil {
		return nil, err
	}
	agent, err := newReactAgent(newEinoStub(s), add)
	heard := &listener{script: s}
	return func(ctx context.Context) error {
		heard.begin()
		answer, err := agent.Stream(ctx, reactInput())
		if err != nil {
			return err
		}
		if err := hearEino(answer, heard); err != nil {
			return err
		}
		return heard.check()
	}, err
}

func (e einoReact) askTogether(s *script, n int) (job, error) {
	one, err := e.ask(s)
	return together(one, n), err
}
