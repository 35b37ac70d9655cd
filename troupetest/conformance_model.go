package troupetest

import (
	"context"
	"encoding/json"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Behaviour is what [TestModel] needs a model to do with every request.
type Behaviour string

// The behaviours. A model that cannot be made to show one calls t.Skip.
const (
	Answering   Behaviour = "answering"    // it says a text in at least two pieces
	Calling     Behaviour = "calling"      // it calls the tool lookup with {"city":"Oslo"}
	Failing     Behaviour = "failing"      // it yields an error
	BreakingOff Behaviour = "breaking off" // it says something, and its stream ends without an end
	Stalling    Behaviour = "stalling"     // it says something, and then nothing more
)

// TestModel checks what [troupe.Model] promises. start returns a model that shows
// a behaviour for as long as the subtest t lasts.
func TestModel(t *testing.T, start func(t *testing.T, does Behaviour) troupe.Model) {
	suite := modelSuite{start}
	t.Run("an answer ends with one End, which is last", suite.answers)
	t.Run("a call comes whole", suite.calls)
	t.Run("an error is last", suite.fails)
	t.Run("what breaks off has no End", suite.breaksOff)
	t.Run("break stops it and leaves nothing running", suite.stopsAtBreak)
	t.Run("a context that is done stops it", suite.stopsWhenCancelled)
	t.Run("a context that was done before is an error", suite.refusesWhenCancelled)
	t.Run("it may be called concurrently", suite.isConcurrent)
	t.Run("it leaves the request as it is", suite.leavesTheRequest)
}

type modelSuite struct {
	start func(t *testing.T, does Behaviour) troupe.Model
}

// patience is how long something may take that should be prompt.
const patience = time.Minute

// promptly fails the test if f takes too long. It leaves f running in that case.
func promptly(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s: not done after %v", what, patience)
	}
}

// An answer is all that a model yields for one request.
type answer struct {
	chunks []troupe.Chunk
	errs   []error
}

// hear ranges over an answer to its very end, whatever comes.
func hear(ctx context.Context, t *testing.T, m troupe.Model, req *troupe.Request) (a answer) {
	t.Helper()
	promptly(t, "an answer", func() {
		for chunk, err := range m.Generate(ctx, req) {
			if err != nil {
				a.errs = append(a.errs, err)
				continue
			}
			if len(a.errs) > 0 {
				t.Errorf("after an error came %+v", chunk)
			}
			a.chunks = append(a.chunks, chunk)
		}
	})
	if len(a.errs) > 1 {
		t.Errorf("there is more than one error: %v", a.errs)
	}
	return a
}

// end returns the End of an answer, nil if there is none.
func (a *answer) end(t *testing.T) *troupe.End {
	t.Helper()
	for i, chunk := range a.chunks {
		if chunk.End == nil {
			continue
		}
		if rest := a.chunks[i+1:]; len(rest) > 0 {
			t.Errorf("after the End came %+v", rest)
		}
		return chunk.End
	}
	return nil
}

func (a *answer) text() string {
	var b strings.Builder
	for _, chunk := range a.chunks {
		b.WriteString(chunk.Text)
	}
	return b.String()
}

// conformanceRequest has something of everything that a request may have.
func conformanceRequest(t *testing.T) *troupe.Request {
	t.Helper()
	lookup, err := troupe.NewRawTool(troupe.ToolSpec{
		Name: "lookup", Description: "Looks up a city.",
		Input: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := troupe.NewToolSet(lookup)
	if err != nil {
		t.Fatal(err)
	}
	temperature := 0.5
	return &troupe.Request{
		Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "Be brief."},
			{Role: troupe.RoleUser, Text: "Where is Bergen? 🏔"},
			{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{ID: "c1", Name: "lookup", Arguments: `{"city": "Bergen"}`}}},
			{Role: troupe.RoleTool, CallID: "c1", Tool: "lookup", Text: "in Norway"},
			{Role: troupe.RoleAssistant, Text: "In Norway."},
			{Role: troupe.RoleUser, Text: "And Oslo?"},
		},
		Tools:  tools,
		Params: &troupe.Params{Temperature: &temperature},
	}
}

func (s modelSuite) answers(t *testing.T) {
	a := hear(t.Context(), t, s.start(t, Answering), conformanceRequest(t))
	finishes := []troupe.Finish{troupe.FinishStop, troupe.FinishCalls, troupe.FinishLength, troupe.FinishFiltered}
	switch end := a.end(t); {
	case end == nil || len(a.errs) > 0:
		t.Errorf("got %+v and %v, with no End or with an error", a.chunks, a.errs)
	case !slices.Contains(finishes, end.Finish):
		t.Errorf("the finish %q is none of %q", end.Finish, finishes)
	}
	if a.text() == "" || len(a.chunks) < 3 {
		t.Errorf("want text in several pieces, got %+v", a.chunks)
	}
}

func (s modelSuite) calls(t *testing.T) {
	a := hear(t.Context(), t, s.start(t, Calling), conformanceRequest(t))
	if end := a.end(t); end == nil || end.Finish != troupe.FinishCalls {
		t.Errorf("want an End with %s, got %+v and %v", troupe.FinishCalls, end, a.errs)
	}
	var calls []troupe.ToolCall
	for _, chunk := range a.chunks {
		if chunk.Call != nil {
			calls = append(calls, *chunk.Call)
		}
	}
	var arguments struct{ City string }
	if len(calls) != 1 || calls[0].Name != "lookup" ||
		json.Unmarshal([]byte(calls[0].Arguments), &arguments) != nil || arguments.City != "Oslo" {
		t.Errorf(`want one call of lookup with {"city":"Oslo"}, got %+v`, calls)
	}
}

func (s modelSuite) fails(t *testing.T) {
	a := hear(t.Context(), t, s.start(t, Failing), conformanceRequest(t))
	if len(a.errs) != 1 || a.end(t) != nil {
		t.Errorf("want one error and no End, got %v and %+v", a.errs, a.chunks)
	}
}

func (s modelSuite) breaksOff(t *testing.T) {
	a := hear(t.Context(), t, s.start(t, BreakingOff), conformanceRequest(t))
	if a.end(t) != nil || a.text() == "" {
		t.Errorf("want text and no End, got %+v", a.chunks)
	}
}

// breakOff ranges over an answer and breaks off at its first chunk.
func breakOff(ctx context.Context, t *testing.T, m troupe.Model, req *troupe.Request) {
	t.Helper()
	promptly(t, "break", func() {
		for _, err := range m.Generate(ctx, req) {
			if err != nil {
				t.Errorf("want a chunk first, got %v", err)
			}
			break
		}
	})
}

// breaks is how often an answer is broken off, warmUps how often before counting,
// so that connections which are kept for reuse do not count.
const breaks, warmUps = 40, 5

func (s modelSuite) stopsAtBreak(t *testing.T) {
	for _, does := range []Behaviour{Answering, Stalling} {
		t.Run(string(does), func(t *testing.T) {
			m, req := s.start(t, does), conformanceRequest(t)
			before := 0
			for i := range warmUps + breaks {
				if i == warmUps {
					before = runtime.NumGoroutine()
				}
				breakOff(t.Context(), t, m, req)
			}
			awaitGoroutines(t, before+breaks/2)
		})
	}
}

// awaitGoroutines fails the test if more than limit goroutines do not go away.
func awaitGoroutines(t *testing.T, limit int) {
	t.Helper()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	deadline := time.Now().Add(patience)
	for n := runtime.NumGoroutine(); n > limit; n = runtime.NumGoroutine() {
		if time.Now().After(deadline) {
			var stacks strings.Builder
			pprof.Lookup("goroutine").WriteTo(&stacks, 1) // those of which there are most come first
			t.Fatalf("%d goroutines are left, at most %d should be:\n%.2000s", n, limit, stacks.String())
		}
		<-ticks.C
	}
}

func (s modelSuite) stopsWhenCancelled(t *testing.T) {
	m, req := s.start(t, Stalling), conformanceRequest(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	promptly(t, "cancel", func() {
		for _, err := range m.Generate(ctx, req) {
			last = err
			cancel()
		}
	})
	if last == nil {
		t.Error("the answer was cancelled, and ended without an error")
	}
}

func (s modelSuite) refusesWhenCancelled(t *testing.T) {
	m, req := s.start(t, Answering), conformanceRequest(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := hear(ctx, t, m, req); len(a.errs) != 1 || a.end(t) != nil {
		t.Errorf("want an error and no End, got %v and %+v", a.errs, a.chunks)
	}
}

func (s modelSuite) isConcurrent(t *testing.T) {
	m, req := s.start(t, Answering), conformanceRequest(t)
	answers := make([]answer, 8)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			for chunk, err := range m.Generate(t.Context(), req) {
				if err != nil {
					t.Errorf("answer %d: %v", i, err)
					return
				}
				answers[i].chunks = append(answers[i].chunks, chunk)
			}
		})
	}
	promptly(t, "concurrent answers", wg.Wait)
	for i := range answers {
		if answers[i].end(t) == nil || answers[i].text() != answers[0].text() {
			t.Errorf("answer %d is %q, another %q", i, answers[i].text(), answers[0].text())
		}
	}
}

func (s modelSuite) leavesTheRequest(t *testing.T) {
	for _, does := range []Behaviour{Answering, Calling} {
		t.Run(string(does), func(t *testing.T) {
			m, req := s.start(t, does), conformanceRequest(t)
			before := snapshot(t, req)
			hear(t.Context(), t, m, req)
			if after := snapshot(t, req); after != before {
				t.Errorf("the request was\n%s\nand is now\n%s", before, after)
			}
		})
	}
}

// snapshot shows all of a request.
func snapshot(t *testing.T, req *troupe.Request) string {
	t.Helper()
	data, err := json.Marshal(struct {
		Messages []*troupe.Message
		Tools    []troupe.ToolSpec
		Params   *troupe.Params
	}{req.Messages, req.Tools.Specs(), req.Params})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
