package otel

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// NewIDGenerator returns the generator by which a trace's id follows from the
// session and the run: a run that is resumed in another process goes on with its
// trace, and is sampled there if it was sampled before. Other traces, and all
// spans, get random ids. It is for a program's own provider; see [Options].
func NewIDGenerator() sdktrace.IDGenerator { return idGenerator{} }

type idGenerator struct{}

// traceIDKey marks the id that a context asks for.
type traceIDKey struct{}

// rootOf returns a context in which a span begins the trace of a run.
func rootOf(session, run string) context.Context {
	sum := sha256.Sum256([]byte(session + "\x00" + run))
	return context.WithValue(context.Background(), traceIDKey{}, trace.TraceID(sum[:16]))
}

func (g idGenerator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, ok := ctx.Value(traceIDKey{}).(trace.TraceID)
	if !ok {
		rand.Read(id[:])
	}
	return id, g.NewSpanID(ctx, id)
}

func (idGenerator) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var id trace.SpanID
	rand.Read(id[:])
	return id
}
