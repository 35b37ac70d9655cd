package test

import (
	"context"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe/otel"
	"github.com/troupe-dev/troupe/troupetest"
	"github.com/troupe-dev/troupe/work"
)

// A collector keeps the spans that a process sends.
type collector struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
}

func (c *collector) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, spans...)
	return nil
}

func (c *collector) Shutdown(context.Context) error { return nil }

// traced tells a tracer of what is stored.
type traced struct {
	troupe.Store
	tracer *otel.Tracer
}

func (s traced) Append(ctx context.Context, session string, events ...troupe.Event) error {
	err := s.Store.Append(ctx, session, events...)
	for i := range events {
		if err == nil {
			s.tracer.Note(&events[i])
		}
	}
	return err
}

// newTracer is a process's own: of the client, or of the worker.
func newTracer(t *testing.T, sent *collector) (*otel.Tracer, trace.Tracer) {
	t.Helper()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(sent), sdktrace.WithIDGenerator(otel.NewIDGenerator()))
	tracer, err := otel.New(t.Context(), otel.Options{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	return tracer, provider.Tracer("program")
}

// One trace from the client's span through the workflow and the activity, in another process, to a span that
// the tool opens.
func TestTheTraceGoesOnFromTheClientToTheTool(t *testing.T) {
	var atClient, atWorker collector
	client, own := newTracer(t, &atClient)
	tracer, ofTool := newTracer(t, &atWorker)
	lookup := troupe.NewTool("lookup", "Looks up.", func(ctx context.Context, _ struct{}) (string, error) {
		_, span := ofTool.Start(ctx, "SELECT")
		defer span.End()
		return "found", nil
	}, troupe.ReadOnly())
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "lead", Tools: []troupe.Tool{lookup}, Model: troupetest.NewScript(t, troupetest.Call("lookup", `{}`), troupetest.Say("That is it."))})
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, agent)
	s.Recorder = work.Recorder{Store: s.store, Tracing: client}
	engine, err := troupe.New(troupe.Config{Store: traced{s.store, tracer}, Tracing: tracer})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	s.worker.Engine = engine
	s.start(t)
	ctx, request := own.Start(t.Context(), "POST /messages")
	run, err := s.Start(ctx, agent, troupe.Input{Text: "What is it?"})
	if err != nil {
		t.Fatal(err)
	}
	request.End()
	if result, err := s.Wait(t.Context(), run.Session); err != nil || result.Status != "completed" {
		t.Fatalf("%+v, %v", result, err)
	}
	names := map[trace.SpanID]string{request.SpanContext().SpanID(): "POST /messages"}
	atWorker.mu.Lock()
	defer atWorker.mu.Unlock()
	for _, span := range atWorker.spans {
		names[span.SpanContext().SpanID()] = span.Name()
		if span.SpanContext().TraceID() != request.SpanContext().TraceID() {
			t.Errorf("%s is in another trace", span.Name())
		}
	}
	parents := map[string]string{}
	for _, span := range atWorker.spans {
		parents[span.Name()] = names[span.Parent().SpanID()]
	}
	for name, parent := range map[string]string{
		"invoke_agent lead": "POST /messages", "execute_tool lookup": "invoke_agent lead", "SELECT": "execute_tool lookup",
	} {
		if got, ok := parents[name]; !ok || got != parent {
			t.Errorf("the parent of %s is %q, want %q: %v", name, got, parent, parents)
		}
	}
}
