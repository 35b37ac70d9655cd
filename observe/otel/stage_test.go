package otel_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe/otel"
	"github.com/troupe-dev/troupe/troupetest"
)

var updating = troupetest.UpdateFlag()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A traced store tells a tracer of what it has stored.
type traced struct {
	troupe.Store
	tracer *otel.Tracer
}

func (s traced) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if err := s.Store.Append(ctx, session, events...); err != nil {
		return err
	}
	for i := range events {
		s.tracer.Note(&events[i])
	}
	return nil
}

// kept is an exporter that keeps what it is given.
type kept struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
}

func (k *kept) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, spans...)
	return nil
}

func (k *kept) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.spans)
}

func (k *kept) Shutdown(context.Context) error { return nil }

// failing fails the test when anything is logged.
func failing(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(complaint{t}, nil)) }

type complaint struct{ testing.TB }

func (c complaint) Write(line []byte) (int, error) {
	c.Errorf("logged: %s", line)
	return len(line), nil
}

func newTracer(t testing.TB, o otel.Options) *otel.Tracer {
	t.Helper()
	if o.Logger == nil {
		o.Logger = failing(t)
	}
	tracer, err := otel.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func newEngine(t testing.TB, tracer *otel.Tracer, store troupe.Store) *troupe.Engine {
	t.Helper()
	engine, err := troupe.New(troupe.Config{Store: traced{store, tracer}})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func newAgent(t testing.TB, id string, model troupe.Model, tools ...troupe.Tool) *troupe.Agent {
	t.Helper()
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: id, Instructions: "You are the " + id + ".", Model: model, Tools: tools,
		Price: troupe.Price{Input: 1, Output: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

// slow is a tool that takes some time, more of it than others if it is asked to.
func slow() troupe.Tool {
	type in struct {
		Seconds int `json:"seconds"`
	}
	return troupe.NewTool("slow", "Takes its time.", func(ctx context.Context, in in) (string, error) {
		select {
		case <-time.After(time.Duration(in.Seconds) * time.Second):
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, troupe.ReadOnly(), troupe.Timeout(-1))
}

func broken() troupe.Tool {
	return troupe.NewTool("broken", "Fails.", func(context.Context, struct{}) (string, error) {
		return "", fmt.Errorf("no such file: %s", "/secret")
	}, troupe.ReadOnly())
}

// shutdown sends what the tracer has, and fails the test if it cannot.
func shutdown(t testing.TB, tracer *otel.Tracer) {
	t.Helper()
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// compare checks the spans against a file, as a tree with times from the
// beginning of the first span. Session and run are shown as S and R.
func compare(t *testing.T, file string, spans []sdktrace.ReadOnlySpan, session, run string) {
	t.Helper()
	got := strings.NewReplacer(session, "S", run, "R").Replace(draw(spans))
	file = filepath.Join("testdata", file)
	if updating() {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func draw(spans []sdktrace.ReadOnlySpan) string {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b sdktrace.ReadOnlySpan) int {
		if order := a.StartTime().Compare(b.StartTime()); order != 0 {
			return order
		}
		return strings.Compare(fmt.Sprint(a.Name(), a.Attributes()), fmt.Sprint(b.Name(), b.Attributes()))
	})
	var b strings.Builder
	for _, s := range spans {
		if !s.Parent().IsValid() {
			drawBelow(&b, spans, s, "")
		}
	}
	return b.String()
}

func drawBelow(b *strings.Builder, spans []sdktrace.ReadOnlySpan, s sdktrace.ReadOnlySpan, indent string) {
	zero := spans[0].StartTime()
	fmt.Fprintf(b, "%s%s (%s) %v to %v", indent, s.Name(), s.SpanKind(), s.StartTime().Sub(zero), s.EndTime().Sub(zero))
	if status := s.Status(); status.Code != 0 {
		fmt.Fprintf(b, " %s: %s", status.Code, status.Description)
	}
	b.WriteString("\n")
	for _, kv := range s.Attributes() {
		fmt.Fprintf(b, "%s  | %s = %s\n", indent, kv.Key, kv.Value.String())
	}
	for _, e := range s.Events() {
		fmt.Fprintf(b, "%s  * %v %s", indent, e.Time.Sub(zero), e.Name)
		for _, kv := range e.Attributes {
			fmt.Fprintf(b, " %s=%s", kv.Key, kv.Value.String())
		}
		b.WriteString("\n")
	}
	for _, child := range spans {
		if child.Parent().SpanID() == s.SpanContext().SpanID() {
			drawBelow(b, spans, child, indent+"    ")
		}
	}
}

// traces returns the ids of the traces that the spans belong to.
func traces(spans []sdktrace.ReadOnlySpan) []trace.TraceID {
	var ids []trace.TraceID
	for _, s := range spans {
		if id := s.SpanContext().TraceID(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
