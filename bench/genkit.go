package main

import (
	"context"
	"fmt"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
)

// genkitContender is genkit's Generate with tools. There is no agent in it: each
// call names the model, the instructions and the tools.
type genkitContender struct{}

// genkitStub plays the script with messages made beforehand.
type genkitStub struct {
	script *script
	turns  []*ai.Message
	answer *ai.Message
	pieces []*ai.Part
}

func newGenkitStub(s *script) *genkitStub {
	stub := &genkitStub{script: s, answer: ai.NewModelTextMessage(s.answer)}
	for _, calls := range s.turns {
		asked := make([]*ai.Part, len(calls))
		for i, c := range calls {
			input := map[string]any{"a": c.pair.A, "b": c.pair.B}
			asked[i] = ai.NewToolRequestPart(&ai.ToolRequest{Name: c.tool, Ref: c.id, Input: input})
		}
		stub.turns = append(stub.turns, ai.NewModelMessage(asked...))
	}
	for _, piece := range s.pieces {
		stub.pieces = append(stub.pieces, ai.NewTextPart(piece))
	}
	return stub
}

func (m *genkitStub) generate(ctx context.Context, request *ai.ModelRequest, show ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	turn, results := 0, 0
	for _, message := range request.Messages {
		if message.Role == ai.RoleModel {
			turn++
		}
		for _, part := range message.Content {
			if part.ToolResponse == nil {
				continue
			}
			results++
			if err := m.checkResult(part.ToolResponse); err != nil {
				return nil, err
			}
		}
	}
	if turn < len(m.turns) {
		return &ai.ModelResponse{Request: request, Message: m.turns[turn]}, nil
	}
	if show != nil {
		for i := range m.pieces {
			if err := show(ctx, &ai.ModelResponseChunk{Content: m.pieces[i : i+1]}); err != nil {
				return nil, err
			}
		}
	}
	return &ai.ModelResponse{Request: request, Message: m.answer}, m.script.checkResults(results)
}

// checkResult is the script's for a framework that hands over parsed JSON.
func (m *genkitStub) checkResult(result *ai.ToolResponse) error {
	call := m.script.byID[result.Ref]
	output, ok := result.Output.(map[string]any)
	if call == nil || !ok || output["sum"] != float64(call.sum) {
		return fmt.Errorf("the result of call %q is %v", result.Ref, result.Output)
	}
	return nil
}

func genkitAdd(s *script) ai.ToolFunc[pair, sum] {
	return func(ctx *ai.ToolContext, in pair) (sum, error) { return s.add(ctx, in) }
}

// newGenkit defines the model and the tool and returns a call of Generate.
func newGenkit(s *script) func(ctx context.Context, more ...ai.GenerateOption) (*ai.ModelResponse, error) {
	g := genkit.Init(context.Background())
	supports := &ai.ModelSupports{Multiturn: true, SystemRole: true, Tools: true}
	model := genkit.DefineModel(g, "stub/model", &ai.ModelOptions{Supports: supports}, newGenkitStub(s).generate)
	tool := genkit.DefineTool(g, toolName, toolAbout, genkitAdd(s))
	return func(ctx context.Context, more ...ai.GenerateOption) (*ai.ModelResponse, error) {
		options := append([]ai.GenerateOption{
			ai.WithModel(model),
			ai.WithSystem(instructions),
			ai.WithPrompt(question),
			ai.WithTools(tool),
			ai.WithMaxTurns(len(s.turns) + 1),
		}, more...)
		return genkit.Generate(ctx, g, options...)
	}
}

func (genkitContender) create(*script) (job, error) {
	return nil, notOffered("there is no agent to create: each call names the model and the tools")
}

// createWithTool makes the tool alone, and charges genkit neither for Init,
// which a program calls once, nor for an entry in its registry.
func (genkitContender) createWithTool(s *script) (job, error) {
	add := genkitAdd(s)
	return func(context.Context) error {
		_ = ai.NewTool(toolName, toolAbout, add)
		return nil
	}, nil
}

func (genkitContender) ask(s *script) (job, error) {
	generate := newGenkit(s)
	return func(ctx context.Context) error {
		response, err := generate(ctx)
		if err != nil {
			return err
		}
		return s.checkAnswer(response.Text())
	}, nil
}

func (genkitContender) stream(s *script) (job, error) {
	generate := newGenkit(s)
	heard := &listener{script: s}
	show := ai.WithStreaming(func(_ context.Context, piece *ai.ModelResponseChunk) error {
		heard.hear(piece.Text())
		return nil
	})
	return func(ctx context.Context) error {
		heard.begin()
		if _, err := generate(ctx, show); err != nil {
			return err
		}
		return heard.check()
	}, nil
}

func (g genkitContender) askTogether(s *script, n int) (job, error) {
	one, err := g.ask(s)
	return together(one, n), err
}
