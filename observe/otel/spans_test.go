package otel_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe/otel"
	. "github.com/troupe-dev/troupe/troupetest"
)

// Runs come out as trees of spans with times, attributes and statuses: see
// testdata. Time is fake, and so exact.
func TestSpansShowWhatHappened(t *testing.T) {
	usage := troupe.Usage{Input: 100, CachedInput: 60, Output: 20, Reasoning: 5}
	scenes := map[string]struct {
		content bool
		parts   map[string][]Turn
		wantErr bool
	}{
		"nested": {parts: map[string][]Turn{
			"lead": {
				Wait(time.Second).Say("Let me see.").Wait(time.Second).Calls(
					troupe.ToolCall{Name: "slow", Arguments: `{"seconds":3}`},
					troupe.ToolCall{Name: "slow", Arguments: `{"seconds":1}`},
					troupe.ToolCall{Name: "helper", Arguments: `{"task":"help me"}`}).Using(usage),
				Wait(time.Second).Say("That is it.").Using(usage),
			},
			"helper": {
				Wait(2*time.Second).Call("broken", `{}`).Using(usage),
				Wait(time.Second).Say("I could not.").Using(usage),
			},
		}},
		"content": {content: true, parts: map[string][]Turn{
			"lead": {
				Think("Hm.").Say("Let me see.").Call("broken", `{}`),
				Say("It is <broken>."),
			},
			"helper": nil,
		}},
		"failing": {wantErr: true, parts: map[string][]Turn{
			"lead":   {Call("helper", `{"task":"help me"}`), Wait(time.Second).Fail(errors.New("the key sk-1 is wrong"))},
			"helper": {Fail(&troupe.ModelError{Temporary: true, RetryAfter: time.Hour, Err: errors.New("overloaded")})},
		}},
	}
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent kept
				tracer := newTracer(t, otel.Options{Exporter: &sent, Content: scene.content})
				cast := NewCast(t, scene.parts)
				helper := newAgent(t, "helper", cast, broken())
				lead := newAgent(t, "lead", cast, slow(), broken(), troupe.AsTool(helper, "Helps."))
				engine := newEngine(t, tracer, troupe.NewMemoryStore())
				out, err := troupe.Collect(engine.Run(t.Context(), lead, troupe.Input{Text: "What is it?"}))
				if (err != nil) != scene.wantErr {
					t.Errorf("the run ended with %v", err)
				}
				shutdown(t, tracer)
				compare(t, name+".txt", sent.spans, out.Session, out.Run)
				if ids := traces(sent.spans); len(ids) != 1 {
					t.Errorf("one run made %d traces", len(ids))
				}
			})
		})
	}
}

func TestACancelledRunEndsItsSpansAndAResumedOneGoesOnWithItsTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		var first, second kept
		run := func(sent *kept, play func(*troupe.Engine, troupe.Step) (troupe.Outcome, error), turns map[string][]Turn) troupe.Outcome {
			cast := NewCast(t, turns)
			lead := newAgent(t, "lead", cast, troupe.AsTool(newAgent(t, "helper", cast, slow()), "Helps."))
			tracer := newTracer(t, otel.Options{Exporter: sent})
			out, _ := play(newEngine(t, tracer, store), lead)
			shutdown(t, tracer)
			return out
		}
		cut := run(&first, func(e *troupe.Engine, step troupe.Step) (troupe.Outcome, error) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("the user went home"))
			defer cancel()
			return troupe.Collect(e.Run(ctx, step, troupe.Input{Text: "Help."}))
		}, map[string][]Turn{
			"lead":   {Wait(time.Second).Call("helper", `{"task":"help me"}`)},
			"helper": {Wait(time.Second).Call("slow", `{"seconds":60}`)},
		})
		compare(t, "cancelled.txt", first.spans, cut.Session, cut.Run)

		time.Sleep(time.Hour)
		out := run(&second, func(e *troupe.Engine, step troupe.Step) (troupe.Outcome, error) {
			return troupe.Collect(e.Resume(t.Context(), step, cut.Session))
		}, map[string][]Turn{
			"lead":   {Wait(time.Second).Say("There you are.")},
			"helper": {Wait(time.Second).Say("I was interrupted.")},
		})
		if out.Text != "There you are." {
			t.Errorf("the resumed run ended with %q", out.Text)
		}
		compare(t, "resumed.txt", second.spans, cut.Session, cut.Run)
		if ids := traces(append(first.spans, second.spans...)); len(ids) != 1 {
			t.Errorf("a run and its resumption made %d traces", len(ids))
		}
	})
}

func TestShutdownEndsWhatIsUnderWayAsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent kept
		tracer := newTracer(t, otel.Options{Exporter: &sent})
		lead := newAgent(t, "lead", NewScript(t, Call("slow", `{"seconds":60}`)), slow())
		engine := newEngine(t, tracer, troupe.NewMemoryStore())
		started, err := engine.Start(t.Context(), lead, troupe.Input{Text: "Go."})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		shutdown(t, tracer)
		if err := engine.Close(); err != nil { // its events come too late, and do no harm
			t.Error(err)
		}
		compare(t, "interrupted.txt", sent.spans, started.Session, started.Run)
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Errorf("shut down again: %v", err)
		}
	})
}

// Some of these events are rare in runs.
func TestMentionsBecomeEventsOfTheRunsSpan(t *testing.T) {
	for _, content := range []bool{false, true} {
		var sent kept
		tracer := newTracer(t, otel.Options{Exporter: &sent, Content: content})
		for i, body := range []troupe.Body{
			&troupe.RunStarted{},
			&troupe.Warned{Code: "model_retry", Message: "attempt 1 broke"},
			&troupe.HandedOff{From: "a", To: "b", Handoff: troupe.Handoff{Task: "carry on"}},
			&troupe.ArtifactSaved{Path: "plan.md", Size: 12, Type: "text/markdown", Description: "a plan"},
			&troupe.ContextCompacted{Summary: "they talked", Dropped: 4, Kept: 2, TokensBefore: 900, TokensAfter: 300},
			&troupe.InputRequested{Question: "may I?", Tool: "ask", CallID: "c1"},
			&troupe.ModelReplied{Model: "openai/gpt-5", Purpose: "summary"}, // without a message
			&troupe.RunFinished{Stop: "input_requested"},
		} {
			tracer.Note(&troupe.Event{Seq: int64(i + 1), Time: time.Unix(int64(i), 0), Session: "s", Run: "r", Agent: "a", Body: body})
		}
		shutdown(t, tracer)
		name := map[bool]string{false: "mentions.txt", true: "mentions_content.txt"}[content]
		compare(t, name, sent.spans, "\x00", "\x00")
	}
}

// The first that a process hears of a resumed run may come from deep inside it.
func TestRunsAroundAnUnseenOneAreNamedWhenTheySpeak(t *testing.T) {
	var sent kept
	tracer := newTracer(t, otel.Options{Exporter: &sent})
	for i, e := range []troupe.Event{
		{Run: "r:4/0/1:3/1", Step: "2", Agent: "inner", Body: &troupe.ModelReplied{Latency: troupe.Millis(500 * time.Millisecond)}},
		{Run: "r:4/0/1:3/1", Agent: "inner", Body: &troupe.RunFinished{}},
		{Run: "r:4/0/1", Agent: "middle", Body: &troupe.RunFinished{}},
		{Run: "r", Step: "4/0", Agent: "outer", Body: &troupe.ToolReturned{Tool: "middle", CallID: "c1", Duration: troupe.Millis(time.Second)}},
		{Run: "r", Agent: "outer", Body: &troupe.RunFinished{}},
	} {
		e.Seq, e.Session, e.Time = int64(i+9), "s", time.Unix(int64(i), 0)
		tracer.Note(&e)
	}
	shutdown(t, tracer)
	compare(t, "unseen.txt", sent.spans, "\x00", "\x00")
}

// A provider that makes ids of its own leaves spans of tools without a parent: whoever set it up
// is told, once.
func TestAProviderWithoutTheIDGeneratorIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		options []sdktrace.TracerProviderOption
		warned  int
	}{
		{nil, 1},
		{[]sdktrace.TracerProviderOption{sdktrace.WithIDGenerator(otel.NewIDGenerator())}, 0},
		{[]sdktrace.TracerProviderOption{sdktrace.WithSampler(sdktrace.NeverSample())}, 0},
	} {
		var sent kept
		var log bytes.Buffer
		provider := sdktrace.NewTracerProvider(append(c.options, sdktrace.WithSyncer(&sent))...)
		tracer := newTracer(t, otel.Options{TracerProvider: provider, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for i, e := range []troupe.Event{
			{Run: "r", Agent: "a", Body: &troupe.RunStarted{}},
			{Run: "r", Step: "1", Agent: "a", Body: &troupe.ToolCalled{Tool: "t", CallID: "c1"}},
			{Run: "r", Step: "1", Agent: "a", Body: &troupe.ToolReturned{Tool: "t", CallID: "c1"}},
			{Run: "r", Step: "2", Agent: "a", Body: &troupe.ToolCalled{Tool: "t", CallID: "c2"}},
			{Run: "r", Agent: "a", Body: &troupe.RunFinished{}},
		} {
			e.Seq, e.Session, e.Time = int64(i+1), "s", time.Unix(int64(i), 0)
			tracer.Note(&e)
		}
		if got := strings.Count(log.String(), "WithIDGenerator(otel.NewIDGenerator())"); got != c.warned {
			t.Errorf("%d warnings, not %d: %s", got, c.warned, log.String())
		}
	}
}

// G6: one trace from the caller's span through agent, model and tool, to a span that
// the tool opens.
func TestOneTraceFromTheCallerToTheTool(t *testing.T) {
	var sent kept
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&sent), sdktrace.WithIDGenerator(otel.NewIDGenerator()))
	tracer := newTracer(t, otel.Options{TracerProvider: provider})
	own := provider.Tracer("program")
	lookup := troupe.NewTool("lookup", "Looks up.", func(ctx context.Context, _ struct{}) (string, error) {
		_, span := own.Start(ctx, "SELECT")
		defer span.End()
		return "found", nil
	}, troupe.ReadOnly())
	agent := newAgent(t, "lead", NewScript(t, Call("lookup", `{}`), Say("That is it.")), lookup)
	engine, err := troupe.New(troupe.Config{Store: traced{troupe.NewMemoryStore(), tracer}, Tracing: tracer})
	if err != nil {
		t.Fatal(err)
	}
	ctx, handler := own.Start(t.Context(), "GET /answer")
	if _, err := troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "What is it?"})); err != nil {
		t.Fatal(err)
	}
	handler.End()
	parents := map[string]string{}
	names := map[trace.SpanID]string{}
	for _, span := range sent.spans {
		names[span.SpanContext().SpanID()] = span.Name()
		if span.SpanContext().TraceID() != handler.SpanContext().TraceID() {
			t.Errorf("%s is in another trace", span.Name())
		}
	}
	for _, span := range sent.spans {
		parents[span.Name()] = names[span.Parent().SpanID()]
	}
	for name, parent := range map[string]string{
		"invoke_agent lead": "GET /answer", "chat script": "invoke_agent lead",
		"execute_tool lookup": "invoke_agent lead", "SELECT": "execute_tool lookup",
	} {
		if got, ok := parents[name]; !ok || got != parent {
			t.Errorf("the parent of %s is %q, want %q: %v", name, got, parent, parents)
		}
	}
}
