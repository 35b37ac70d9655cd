// Package otel sends runs, model calls and tool calls as OpenTelemetry spans.
//
// A [Tracer] is told of every stored event and makes the spans that the
// conventions for generative AI describe: invoke_agent for a run, chat for a
// model's reply and execute_tool for a tool call. Names, counts, times and classes
// of failure leave the program. What people, models, tools and providers wrote
// leaves it only where [Options] say so.
package otel

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-dev/troupe"
)

// Options say where spans go and what is in them. With the zero Options they go
// where the standard environment variables say, by OTLP.
type Options struct {
	// Exporter sends the spans instead of the one that the environment asks for.
	// Shutdown shuts it down.
	Exporter sdktrace.SpanExporter
	// TracerProvider makes the spans in a program that has its own. Exporter and the
	// environment then do not say where spans go, and Shutdown leaves the provider to
	// the program. It must have been made with [NewIDGenerator]: without, spans that tools
	// open have a parent that does not exist, and a run that is resumed begins another
	// trace. The Logger is warned of that.
	TracerProvider trace.TracerProvider
	// Content adds prompts, answers, arguments, results and the texts of errors. The
	// environment variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true
	// does so too.
	Content bool
	// Logger hears of spans that could not be sent, and of a provider that makes ids of its
	// own: slog.Default by default.
	Logger *slog.Logger
}

// A Tracer makes spans of events.
type Tracer struct {
	spans   trace.Tracer
	content bool
	log     *slog.Logger
	stop    func(context.Context) error

	warnIDs  sync.Once // of a provider without NewIDGenerator
	mu       sync.Mutex
	sessions map[string]*session // those with a run under way; nil where no spans are wanted
}

// New returns a tracer, which makes no spans if the environment forbids it. It
// fails if the environment asks for what there is not.
func New(ctx context.Context, o Options) (*Tracer, error) {
	t := &Tracer{
		content: o.Content || strings.EqualFold(os.Getenv(captureContent), "true"),
		log:     cmp.Or(o.Logger, slog.Default()),
		stop:    func(context.Context) error { return nil },
	}
	provider := o.TracerProvider
	if provider == nil {
		p, err := newPipeline(ctx, o.Exporter, t.log)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return t, nil
		}
		provider, t.stop = p.provider, p.shutdown
	}
	t.spans = provider.Tracer("github.com/troupe-dev/troupe/observe/otel")
	t.sessions = map[string]*session{}
	return t, nil
}

// Note takes a stored event into account. It may be called concurrently for
// different sessions; a session's events come in order. It does not wait for
// spans to be sent and does not panic.
func (t *Tracer) Note(e *troupe.Event) {
	if e == nil || e.Seq == 0 || e.Body == nil {
		return
	}
	// A program's own span processors run in here, and must not stop a run either.
	defer func() {
		if value := recover(); value != nil {
			t.log.Error("event not traced", "session", e.Session, "seq", e.Seq, "err", value)
		}
	}()
	if s := t.session(e.Session); s != nil {
		s.note(e)
	}
}

// Shutdown ends the spans of runs that have not ended, as interrupted, and sends
// what was not sent yet. It returns when ctx is done, if not before; what could not
// be sent by then is lost. Events that come later are ignored.
func (t *Tracer) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	open := t.sessions
	t.sessions = nil
	t.mu.Unlock()
	for _, s := range open {
		s.mu.Lock()
		s.interrupt(time.Now())
		s.mu.Unlock()
	}
	return t.stop(ctx)
}

// session returns what is known of a session, nil if nothing is to be traced.
func (t *Tracer) session(id string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions == nil {
		return nil
	}
	s := t.sessions[id]
	if s == nil {
		s = &session{tracer: t, id: id, runs: map[string]*run{}}
		t.sessions[id] = s
	}
	return s
}

// forget drops a session whose run has ended.
func (t *Tracer) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, id)
}
