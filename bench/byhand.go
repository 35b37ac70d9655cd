package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// byHand is the loop that one writes without a framework: ask the model, call
// the tools it asks for, ask again.
type byHand struct{}

type handMessage struct {
	role, text, callID string
	calls              []call
}

// A handModel replies to a conversation and shows the pieces as they come.
type handModel func(ctx context.Context, messages []handMessage, tools []*handTool, show func(string)) (handMessage, error)

type handTool struct {
	name, description string
	schema            json.RawMessage
	run               func(ctx context.Context, arguments string) (string, error)
}

type handAgent struct {
	instructions string
	model        handModel
	tools        []*handTool
}

// turnLimit is the limit that every loop needs, high enough for every row.
const turnLimit = 200

func (a *handAgent) ask(ctx context.Context, question string, show func(string)) (string, error) {
	messages := []handMessage{{role: "system", text: a.instructions}, {role: "user", text: question}}
	for range turnLimit {
		reply, err := a.model(ctx, messages, a.tools, show)
		if err != nil {
			return "", err
		}
		if len(reply.calls) == 0 {
			return reply.text, nil
		}
		messages = append(messages, reply)
		messages = append(messages, a.callAll(ctx, reply.calls)...)
	}
	return "", errors.New("no answer within the limit of turns")
}

func (a *handAgent) callAll(ctx context.Context, calls []call) []handMessage {
	results := make([]handMessage, len(calls))
	if len(calls) == 1 {
		results[0] = a.call(ctx, calls[0])
		return results
	}
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() { results[i] = a.call(ctx, calls[i]) })
	}
	group.Wait()
	return results
}

func (a *handAgent) call(ctx context.Context, c call) handMessage {
	result := handMessage{role: "tool", callID: c.id}
	i := slices.IndexFunc(a.tools, func(t *handTool) bool { return t.name == c.tool })
	if i < 0 {
		result.text = "there is no such tool"
		return result
	}
	text, err := a.tools[i].run(ctx, c.arguments)
	if err != nil {
		text = err.Error()
	}
	result.text = text
	return result
}

// handStub plays the script.
func handStub(s *script) handModel {
	return func(_ context.Context, messages []handMessage, _ []*handTool, show func(string)) (handMessage, error) {
		turn, results := 0, 0
		for i := range messages {
			switch m := &messages[i]; m.role {
			case "assistant":
				turn++
			case "tool":
				results++
				if err := s.checkResult(m.callID, m.text); err != nil {
					return handMessage{}, err
				}
			}
		}
		if turn < len(s.turns) {
			return handMessage{role: "assistant", calls: s.turns[turn]}, nil
		}
		if show != nil {
			for _, piece := range s.pieces {
				show(piece)
			}
		}
		return handMessage{role: "assistant", text: s.answer}, s.checkResults(results)
	}
}

// Neither constructor may be inlined, or the compiler would see that a row does
// not use what it makes and put it on the stack.

//go:noinline
func newHandTool(s *script) *handTool {
	return &handTool{
		name:        toolName,
		description: toolAbout,
		schema:      json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`),
		run:         s.addJSON,
	}
}

//go:noinline
func newHandAgent(model handModel, tool *handTool) *handAgent {
	return &handAgent{instructions: instructions, model: model, tools: []*handTool{tool}}
}

func (byHand) create(s *script) (job, error) {
	model, tool := handStub(s), newHandTool(s)
	return func(context.Context) error {
		_ = newHandAgent(model, tool)
		return nil
	}, nil
}

func (byHand) createWithTool(s *script) (job, error) {
	model := handStub(s)
	return func(context.Context) error {
		_ = newHandAgent(model, newHandTool(s))
		return nil
	}, nil
}

func (byHand) ask(s *script) (job, error) {
	agent := newHandAgent(handStub(s), newHandTool(s))
	return func(ctx context.Context) error {
		answer, err := agent.ask(ctx, question, nil)
		if err != nil {
			return err
		}
		return s.checkAnswer(answer)
	}, nil
}

func (byHand) stream(s *script) (job, error) {
	agent := newHandAgent(handStub(s), newHandTool(s))
	heard := &listener{script: s}
	return func(ctx context.Context) error {
		heard.begin()
		if _, err := agent.ask(ctx, question, heard.hear); err != nil {
			return err
		}
		return heard.check()
	}, nil
}

func (h byHand) askTogether(s *script, n int) (job, error) {
	one, err := h.ask(s)
	return together(one, n), err
}
