package otel

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-dev/troupe"
)

// A session is what is under way in a session: one run that a caller started, and
// the runs nested in it.
type session struct {
	tracer *Tracer
	id     string

	mu   sync.Mutex // Shutdown may come in between
	root string
	runs map[string]*run
}

// A run is the span of a run, and those of its tool calls under way, by step.
type run struct {
	span  trace.Span
	agent string // empty until an event of its own says so
	calls map[string]trace.Span
	told  []part // what the model was told beforehand, where content is sent
	// failure is how a model call failed, if that is the latest event of the run.
	failure string
}

func (s *session) note(e *troupe.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	root, _, _ := strings.Cut(e.Run, ":")
	if root != s.root {
		s.interrupt(e.Time) // a session has one run at a time: the other's end was lost
		s.root = root
	}
	r := s.open(e.Run, e)
	if r.agent == "" {
		r.agent = valid(e.Agent)
		r.span.SetName(spanName(invokeAgent, r.agent))
		r.span.SetAttributes(agentName.String(r.agent))
	}
	failure := r.failure
	r.failure = ""
	t := s.tracer
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		r.span.SetAttributes(t.asked(b)...)
		if b.Edited {
			r.span.SetAttributes(troupeEdited.Bool(true))
		}
	case *troupe.ContextLoaded:
		r.tell(t, b)
	case *troupe.ModelReplied:
		s.start(r, e, chat, b.Model, t.replied(b)).End(trace.WithTimestamp(e.Time))
	case *troupe.ToolCalled:
		r.calls[e.Step] = s.start(r, e, executeTool, b.Tool, t.called(b))
	case *troupe.ToolReturned:
		s.returned(r, e, b)
	case *troupe.RunFinished:
		r.span.SetAttributes(t.finished(b)...)
		s.end(r, e, b.Spent.Add(b.SpentBelow))
	case *troupe.RunFailed:
		if b.Stack != "" {
			failure = "panicked"
		}
		t.fail(r.span, cmp.Or(failure, "failed"), b.Error)
		s.end(r, e, b.Spent.Add(b.SpentBelow))
	case *troupe.RunCancelled:
		t.fail(r.span, "cancelled", b.Reason)
		s.end(r, e, b.Spent.Add(b.SpentBelow))
	case *troupe.ModelFailed:
		if b.RetryIn == 0 {
			r.failure = cmp.Or(b.Reason, "model_failed")
		}
		s.mention(r, e)
	case *troupe.Warned, *troupe.LimitReached, *troupe.Noted, *troupe.RunResumed, *troupe.BranchesStopped, *troupe.HandedOff, *troupe.InputRequested, *troupe.ArtifactSaved, *troupe.ContextCompacted:
		s.mention(r, e)
	}
}

// open returns the run of that id. If it is not known, its span begins with e,
// which may be an event of a run nested in it; unless e says that the run has just
// started, another process saw it start, and this pass over it is a resumed one.
func (s *session) open(id string, e *troupe.Event) *run {
	if r := s.runs[id]; r != nil {
		return r
	}
	var ctx context.Context
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		ctx = within(s.open(id[:i], e).around(id[i+1:]))
	} else {
		ctx = rootOf(s.id, id, e)
	}
	attributes := s.common(invokeAgent, id)
	if _, started := e.Body.(*troupe.RunStarted); !started || id != e.Run {
		attributes = append(attributes, troupeResumed.Bool(true))
	}
	_, span := s.tracer.spans.Start(ctx, invokeAgent, trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithTimestamp(began(e)), trace.WithAttributes(attributes...))
	r := &run{span: span, calls: map[string]trace.Span{}}
	s.runs[id] = r
	return r
}

// around returns the span in which a step of the run happens: that of the tool
// call whose step is a prefix of its own, else that of the run.
func (r *run) around(step string) trace.Span {
	for i := strings.LastIndexByte(step, '/'); i >= 0; i = strings.LastIndexByte(step, '/') {
		step = step[:i]
		if call := r.calls[step]; call != nil {
			return call
		}
	}
	return r.span
}

func within(span trace.Span) context.Context {
	return trace.ContextWithSpan(context.Background(), span)
}

// start begins the span of something that a run does. Only models are elsewhere.
func (s *session) start(r *run, e *troupe.Event, operation, object string, attributes []attribute.KeyValue) trace.Span {
	kind := trace.SpanKindInternal
	if operation == chat {
		kind = trace.SpanKindClient
	}
	attributes = append(attributes, agentName.String(r.agent), text(troupeStep, e.Step))
	attributes = append(attributes, s.common(operation, e.Run)...)
	_, span := s.tracer.spans.Start(named(within(r.around(e.Step)), s.id, e.Run, e.Step), spanName(operation, valid(object)),
		trace.WithSpanKind(kind), trace.WithTimestamp(began(e)), trace.WithAttributes(attributes...))
	s.tracer.expectID(span, spanIDOf(s.id, e.Run, e.Step))
	return span
}

// returned ends a tool call, which another process may have begun.
func (s *session) returned(r *run, e *troupe.Event, b *troupe.ToolReturned) {
	span := r.calls[e.Step]
	if span == nil {
		span = s.start(r, e, executeTool, b.Tool, toolAttributes(b.Tool, b.CallID))
	}
	delete(r.calls, e.Step)
	span.SetAttributes(s.tracer.result(b)...)
	if b.Class != "" {
		s.tracer.fail(span, string(b.Class), b.Error)
	}
	span.End(trace.WithTimestamp(e.Time))
}

// mention makes the event one of the run's span.
func (s *session) mention(r *run, e *troupe.Event) {
	r.span.AddEvent(string(e.Kind()), trace.WithTimestamp(e.Time), trace.WithAttributes(s.tracer.mentioned(e.Body)...))
}

// end ends a run; with the outermost one, nothing is left of the session. That one
// keeps the account of all that is nested in it: the others have none of their own.
func (s *session) end(r *run, e *troupe.Event, spent troupe.Spent) {
	if e.Run == s.root {
		r.span.SetAttributes(accountOf(spent)...)
	}
	r.interruptCalls(e.Time)
	r.span.End(trace.WithTimestamp(e.Time))
	delete(s.runs, e.Run)
	if e.Run == s.root {
		s.interrupt(e.Time)
		s.tracer.forget(s.id)
	}
}

// interrupt ends all that is under way.
func (s *session) interrupt(at time.Time) {
	for _, r := range s.runs {
		r.interruptCalls(at)
		interrupted(r.span, at)
	}
	clear(s.runs)
}

func (r *run) interruptCalls(at time.Time) {
	for _, span := range r.calls {
		interrupted(span, at)
	}
}

func interrupted(span trace.Span, at time.Time) {
	class := "interrupted"
	span.SetAttributes(errorType.String(class))
	span.SetStatus(codes.Error, class)
	span.End(trace.WithTimestamp(at))
}

// common returns the attributes that all spans have.
func (s *session) common(operation, run string) []attribute.KeyValue {
	return []attribute.KeyValue{
		operationName.String(operation),
		text(conversationID, s.id), text(troupeSession, s.id), text(troupeRun, run),
	}
}

// began is when that began of which e is the outcome.
func began(e *troupe.Event) time.Time {
	switch b := e.Body.(type) {
	case *troupe.ModelReplied:
		return e.Time.Add(-b.Latency.Duration())
	case *troupe.ToolReturned:
		return e.Time.Add(-b.Duration.Duration())
	}
	return e.Time
}

func spanName(operation, object string) string {
	if object == "" {
		return operation
	}
	return operation + " " + object
}
