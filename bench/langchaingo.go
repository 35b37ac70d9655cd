package main

import (
	"context"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
)

// langchain is langchaingo's OpenAI functions agent and its executor.
type langchain struct{}

// langchainStub plays the script with responses made beforehand. It counts
// results and not its own turns: this agent retells a turn of ten calls as ten.
type langchainStub struct {
	script *script
	turns  []*llms.ContentResponse
	answer *llms.ContentResponse
	pieces [][]byte
}

func newLangchainStub(s *script) *langchainStub {
	stub := &langchainStub{script: s, answer: &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: s.answer}}}}
	for _, calls := range s.turns {
		asked := make([]llms.ToolCall, len(calls))
		for i, c := range calls {
			asked[i] = llms.ToolCall{ID: c.id, Type: "function", FunctionCall: &llms.FunctionCall{Name: c.tool, Arguments: c.arguments}}
		}
		stub.turns = append(stub.turns, &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: asked}}})
	}
	for _, piece := range s.pieces {
		stub.pieces = append(stub.pieces, []byte(piece))
	}
	return stub
}

func (m *langchainStub) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	results := 0
	for i := range messages {
		for _, part := range messages[i].Parts {
			result, ok := part.(llms.ToolCallResponse)
			if !ok {
				continue
			}
			results++
			if err := m.script.checkResult(result.ToolCallID, result.Content); err != nil {
				return nil, err
			}
		}
	}
	turn := 0
	for seen := results; turn < len(m.turns) && seen > 0; turn++ {
		seen -= len(m.script.turns[turn])
	}
	if turn < len(m.turns) {
		return m.turns[turn], nil
	}
	if err := m.script.checkResults(results); err != nil {
		return nil, err
	}
	return m.answer, m.stream(ctx, options)
}

func (m *langchainStub) stream(ctx context.Context, options []llms.CallOption) error {
	var chosen llms.CallOptions
	for _, option := range options {
		option(&chosen)
	}
	if chosen.StreamingFunc == nil {
		return nil
	}
	for _, piece := range m.pieces {
		if err := chosen.StreamingFunc(ctx, piece); err != nil {
			return err
		}
	}
	return nil
}

// Call is the interface's deprecated method, which no agent calls.
func (m *langchainStub) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// langchainTool takes and gives text, as all of langchaingo's tools do.
type langchainTool struct{ script *script }

func (langchainTool) Name() string        { return toolName }
func (langchainTool) Description() string { return toolAbout }

func (t langchainTool) Call(ctx context.Context, arguments string) (string, error) {
	return t.script.addJSON(ctx, arguments)
}

func newLangchainAgent(stub *langchainStub, tool tools.Tool) *agents.Executor {
	agent := agents.NewOpenAIFunctionsAgent(stub, []tools.Tool{tool}, agents.NewOpenAIOption().WithSystemMessage(instructions))
	return agents.NewExecutor(agent, agents.WithMaxIterations(len(stub.turns)+1))
}

func (langchain) create(s *script) (job, error) {
	stub := newLangchainStub(s)
	tool := langchainTool{s}
	return func(context.Context) error {
		_ = newLangchainAgent(stub, tool)
		return nil
	}, nil
}

func (langchain) createWithTool(*script) (job, error) {
	return nil, notOffered("its tools take one string: there is no typed tool, and no schema, to make")
}

func (langchain) ask(s *script) (job, error) {
	agent := newLangchainAgent(newLangchainStub(s), langchainTool{s})
	return func(ctx context.Context) error {
		answer, err := chains.Run(ctx, agent, question)
		if err != nil {
			return err
		}
		return s.checkAnswer(answer)
	}, nil
}

func (langchain) stream(s *script) (job, error) {
	agent := newLangchainAgent(newLangchainStub(s), langchainTool{s})
	heard := &listener{script: s}
	show := chains.WithStreamingFunc(func(_ context.Context, piece []byte) error {
		heard.hearBytes(piece)
		return nil
	})
	return func(ctx context.Context) error {
		heard.begin()
		if _, err := chains.Run(ctx, agent, question, show); err != nil {
			return err
		}
		return heard.check()
	}, nil
}

func (l langchain) askTogether(s *script, n int) (job, error) {
	one, err := l.ask(s)
	return together(one, n), err
}
