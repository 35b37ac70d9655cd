package main

import (
	"context"
	"iter"
	"runtime"
	"time"

	"github.com/troupe-dev/troupe"
)

// troupeContender is Troupe with its defaults: every event of a run is numbered
// and kept in the engine's store, and each operation deletes the session it made.
type troupeContender struct{}

// troupeStub plays the script with chunks made beforehand.
type troupeStub struct {
	script *script
	heard  *listener // set where the answer is streamed
	turns  [][]troupe.Chunk
	answer []troupe.Chunk
}

func newTroupeStub(s *script) *troupeStub {
	stub := &troupeStub{script: s}
	for _, calls := range s.turns {
		var asked []troupe.Chunk
		for _, c := range calls {
			asked = append(asked, troupe.Chunk{Call: &troupe.ToolCall{ID: c.id, Name: c.tool, Arguments: c.arguments}})
		}
		stub.turns = append(stub.turns, append(asked, troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}))
	}
	for _, piece := range s.pieces {
		stub.answer = append(stub.answer, troupe.Chunk{Text: piece})
	}
	stub.answer = append(stub.answer, troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}})
	return stub
}

// Generate yields the turn that the conversation has come to.
func (m *troupeStub) Generate(_ context.Context, request *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		chunks, err := m.next(request.Messages)
		if err != nil {
			yield(troupe.Chunk{}, err)
			return
		}
		for _, chunk := range chunks {
			if !yield(chunk, nil) {
				return
			}
			if m.heard != nil && chunk.Text != "" {
				<-m.heard.next
			}
		}
	}
}

func (m *troupeStub) next(messages []*troupe.Message) ([]troupe.Chunk, error) {
	turn, results := 0, 0
	for _, message := range messages {
		switch message.Role {
		case troupe.RoleAssistant:
			turn++
		case troupe.RoleTool:
			results++
			if err := m.script.checkResult(message.CallID, message.Text); err != nil {
				return nil, err
			}
		}
	}
	if turn < len(m.turns) {
		return m.turns[turn], nil
	}
	return m.answer, m.script.checkResults(results)
}

func newTroupeTool(s *script) troupe.Tool {
	return troupe.NewTool(toolName, toolAbout, s.add, troupe.ReadOnly()) // so that the tools of a turn run at the same time
}

func newTroupeAgent(stub *troupeStub, tool troupe.Tool) (*troupe.Agent, error) {
	return troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: instructions, Model: stub, Tools: []troupe.Tool{tool}})
}

func (troupeContender) create(s *script) (job, error) {
	stub, tool := newTroupeStub(s), newTroupeTool(s)
	return func(context.Context) error {
		_, err := newTroupeAgent(stub, tool)
		return err
	}, nil
}

func (troupeContender) createWithTool(s *script) (job, error) {
	stub := newTroupeStub(s)
	return func(context.Context) error {
		_, err := newTroupeAgent(stub, newTroupeTool(s))
		return err
	}, nil
}

// A stage is an agent and all that it takes to run it.
type stage struct {
	engine *troupe.Engine
	store  troupe.Store
	agent  *troupe.Agent
}

func newStage(s *script, stub *troupeStub) (*stage, error) {
	store := troupe.NewMemoryStore()
	engine, err := troupe.New(troupe.Config{Store: store, Limits: troupe.Limits{Turns: turnLimit}})
	if err != nil {
		return nil, err
	}
	agent, err := newTroupeAgent(stub, newTroupeTool(s))
	return &stage{engine, store, agent}, err
}

func (troupeContender) ask(s *script) (job, error) {
	on, err := newStage(s, newTroupeStub(s))
	return func(ctx context.Context) error {
		result, err := troupe.Collect(on.engine.Run(ctx, on.agent, troupe.Input{Text: question}))
		if err != nil {
			return err
		}
		if err := s.checkAnswer(result.Text); err != nil {
			return err
		}
		return on.store.Delete(ctx, result.Session)
	}, err
}

// stream paces the stub by its reader: Troupe never lets a reader slow a model
// down, and joins the pieces that one is late for.
func (troupeContender) stream(s *script) (job, error) {
	stub := newTroupeStub(s)
	heard := &listener{script: s, next: make(chan struct{}, 1)}
	stub.heard = heard
	on, err := newStage(s, stub)
	return func(ctx context.Context) error {
		heard.begin()
		var session string
		for event, err := range on.engine.Run(ctx, on.agent, troupe.Input{Text: question}) {
			if err != nil {
				return err
			}
			session = event.Session
			if delta, ok := event.Body.(*troupe.TextDelta); ok {
				heard.hear(delta.Text)
			}
		}
		if err := heard.check(); err != nil {
			return err
		}
		return on.store.Delete(ctx, session)
	}, err
}

func (t troupeContender) askTogether(s *script, n int) (job, error) {
	one, err := t.ask(s)
	return together(one, n), err
}

// firstPair and firstSum are types of their own for every T.
type firstPair[T any] struct {
	A int `json:"a"`
	B int `json:"b"`
}

type firstSum[T any] struct {
	Sum int `json:"sum"`
}

// firstTool is what an agent and its tool cost when the tool is the first of its
// types. Troupe infers the schema of a type once per process, so a row that
// makes the same tool again and again does not see this.
func firstTool() (figure, error) {
	stub := newTroupeStub(newScript(1, 1))
	var least figure
	for i, create := range []func(*troupeStub) (figure, error){
		createFirst[int8], createFirst[int16], createFirst[int32], createFirst[int64],
	} {
		seen, err := create(stub)
		if err != nil {
			return figure{}, err
		}
		if i == 0 {
			least = seen
		}
		least = least.least(seen)
	}
	return least, nil
}

func createFirst[T any](stub *troupeStub) (figure, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	tool := troupe.NewTool(toolName, toolAbout, func(_ context.Context, in firstPair[T]) (firstSum[T], error) {
		return firstSum[T]{in.A + in.B}, nil
	})
	_, err := newTroupeAgent(stub, tool)
	took := time.Since(started)
	runtime.ReadMemStats(&after)
	return figure{took, int64(after.TotalAlloc - before.TotalAlloc), int64(after.Mallocs - before.Mallocs)}, err
}
