package otel

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-dev/troupe"
)

// NewIDGenerator returns the generator by which a trace's id follows from the
// session and the run: a run that is resumed in another process goes on with its
// trace, and is sampled there if it was sampled before. Other traces, and all
// spans, get random ids. It is for a program's own provider; see [Options].
func NewIDGenerator() sdktrace.IDGenerator { return idGenerator{} }

type idGenerator struct{}

// traceIDKey marks the id that a context asks for.
type traceIDKey struct{}

// rootOf returns a context in which a span begins the trace of a run, or goes on with
// that of whoever started it.
func rootOf(session, run string, e *troupe.Event) context.Context {
	parent := ""
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		parent = b.Trace
	case *troupe.RunResumed:
		parent = b.Trace
	}
	if span, ok := parsed(parent); ok {
		return trace.ContextWithRemoteSpanContext(context.Background(), span)
	}
	return context.WithValue(context.Background(), traceIDKey{}, traceIDOf(session, run))
}

func (g idGenerator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, ok := ctx.Value(traceIDKey{}).(trace.TraceID)
	if !ok {
		rand.Read(id[:])
	}
	return id, g.NewSpanID(ctx, id)
}

// spanIDKey is where a context keeps the id that its next span is to have.
type spanIDKey struct{}

func (idGenerator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, ok := ctx.Value(spanIDKey{}).(trace.SpanID)
	if !ok {
		rand.Read(id[:])
	}
	return id
}

// named returns ctx in which the next span is that of an effect: its id follows from
// where the effect is, so that a span which is opened meanwhile can hang below it.
func named(ctx context.Context, session, run, step string) context.Context {
	return context.WithValue(ctx, spanIDKey{}, spanIDOf(session, run, step))
}

// expectID warns once where a provider of the program's own gives spans other ids than those
// that are asked for. A provider that makes no spans gives them none.
func (t *Tracer) expectID(span trace.Span, want trace.SpanID) {
	if got := span.SpanContext(); got.HasSpanID() && got.SpanID() != want && span.IsRecording() {
		t.warnIDs.Do(func() {
			t.log.Warn("spans that tools open will have no parent, and resumed runs another trace: make the TracerProvider with sdktrace.WithIDGenerator(otel.NewIDGenerator())")
		})
	}
}

func spanIDOf(session, run, step string) trace.SpanID {
	sum := sha256.Sum256([]byte(session + "\x00" + run + "\x00" + step))
	return trace.SpanID(sum[:8])
}

func traceIDOf(session, run string) trace.TraceID {
	root, _, _ := strings.Cut(run, ":")
	sum := sha256.Sum256([]byte(session + "\x00" + root))
	return trace.TraceID(sum[:16])
}

// Parent implements [troupe.Tracing]: it returns the span in ctx as a W3C
// traceparent.
func (t *Tracer) Parent(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", span.TraceID(), span.SpanID(), span.TraceFlags())
}

// Within implements [troupe.Tracing]: spans that are opened in the context it
// returns hang below that of the effect. A tracer provider of the program's own must
// use [NewIDGenerator] for that.
func (t *Tracer) Within(ctx context.Context, parent, session, run, step string) context.Context {
	effect := trace.SpanContextConfig{TraceID: traceIDOf(session, run), SpanID: spanIDOf(session, run, step), TraceFlags: trace.FlagsSampled}
	if outer, ok := parsed(parent); ok {
		effect.TraceID, effect.TraceFlags = outer.TraceID(), outer.TraceFlags()
	}
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(effect))
}

// parsed reads a W3C traceparent.
func parsed(parent string) (trace.SpanContext, bool) {
	parts := strings.Split(parent, "-")
	if len(parts) != 4 {
		return trace.SpanContext{}, false
	}
	traceID, err := trace.TraceIDFromHex(parts[1])
	if err != nil {
		return trace.SpanContext{}, false
	}
	spanID, err := trace.SpanIDFromHex(parts[2])
	if err != nil {
		return trace.SpanContext{}, false
	}
	flags := trace.TraceFlags(0)
	if parts[3] == "01" {
		flags = trace.FlagsSampled
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: flags, Remote: true})
	return span, span.IsValid()
}
