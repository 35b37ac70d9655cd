package otel_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe/otel"
	. "github.com/troupe-dev/troupe/troupetest"
)

// sing plays a run in which every text of people, models, tools and providers
// says canary, and returns the bytes that left.
func sing(t *testing.T, o otel.Options) []byte {
	t.Helper()
	r := overHTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.url)
	tracer := newTracer(t, o)
	parrot := troupe.NewTool("parrot", "Repeats.", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		if in.Text == "canary ask" {
			return "", &troupe.InputNeeded{Question: "canary?"}
		}
		return in.Text, errors.New("canary error")
	})
	saver := troupe.NewToolWithCall("save", "Saves.", func(ctx context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		return "canary", call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: "canary.md", Description: "canary", Size: 6})
	})
	agent := newAgent(t, "bird", NewScript(t,
		Think("canary").Say("canary").Call("parrot", `{"text":"canary"}`),
		Call("parrot", `{"canary":1}`), // not what the schema says
		Call("save", `{}`),
		Call("parrot", `{"text":"canary ask"}`),
		Fail(errors.New("the key canary is wrong"))), parrot, saver)
	engine := newEngine(t, tracer, troupe.NewMemoryStore())
	out, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "canary", Custom: map[string]any{"canary": "canary"}}))
	if err != nil || out.Stop != "input_requested" {
		t.Fatalf("the first run ended with %v, %v", out.Stop, err)
	}
	if _, err = troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Session: out.Session, Text: "canary"})); err == nil {
		t.Fatal("the second run did not fail")
	}
	shutdown(t, tracer)
	return r.raw.Bytes()
}

func TestNoContentLeavesUnlessAskedFor(t *testing.T) {
	if sent := sing(t, otel.Options{}); !bytes.Contains(sent, []byte("execute_tool parrot")) || bytes.Contains(sent, []byte("canary")) {
		t.Errorf("by default this leaves:\n%q", sent)
	}
	if n := bytes.Count(sing(t, otel.Options{Content: true}), []byte("canary")); n < 20 {
		t.Errorf("with Content, %d of the canaries leave", n)
	}
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	if n := bytes.Count(sing(t, otel.Options{}), []byte("canary")); n < 20 {
		t.Errorf("with the environment's word, %d of the canaries leave", n)
	}
}

func TestTextThatIsNotUTF8DoesNotHoldBackTheRest(t *testing.T) {
	r := overHTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.url)
	tracer := newTracer(t, otel.Options{Content: true})
	bad := "a\xff"
	for i, body := range []troupe.Body{
		&troupe.RunStarted{Input: troupe.Handoff{Task: bad}},
		&troupe.ModelReplied{Model: bad, Finish: troupe.Finish(bad), Purpose: bad, Message: &troupe.Message{Text: bad}},
		&troupe.ToolCalled{Tool: bad, CallID: bad, Arguments: troupe.Arguments(bad)},
		&troupe.ToolReturned{Tool: bad, CallID: bad, Content: bad, Class: string(bad), Error: bad},
		&troupe.Warned{Code: bad, Message: bad},
		&troupe.RunFailed{Error: bad},
	} {
		tracer.Note(&troupe.Event{Seq: int64(i + 1), Session: bad, Run: bad, Step: bad, Agent: bad, Body: body})
	}
	shutdown(t, tracer)
	if spans := r.spans(); len(spans) != 3 {
		t.Errorf("came: %v", spans)
	}
}

// Whatever comes, in whatever order, is taken: newTracer fails the test if Note
// had to recover from a panic.
func TestNoteTakesAnyEvents(t *testing.T) {
	bodies := []troupe.Body{
		nil, &troupe.RunStarted{}, &troupe.ContextLoaded{Content: "x"}, &troupe.UserSaid{}, &troupe.TextDelta{}, &troupe.ThoughtDelta{},
		&troupe.ModelReplied{}, &troupe.ToolCalled{}, &troupe.ToolReturned{}, &troupe.HandedOff{}, &troupe.InputRequested{},
		&troupe.ArtifactSaved{}, &troupe.ContextCompacted{}, &troupe.Warned{}, &troupe.RunFinished{}, &troupe.RunFailed{}, &troupe.RunCancelled{},
	}
	rapid.Check(t, func(rt *rapid.T) {
		var sent kept
		tracer := newTracer(t, otel.Options{Exporter: &sent, Content: rapid.Bool().Draw(rt, "content")})
		tracer.Note(nil)
		for range rapid.IntRange(0, 60).Draw(rt, "events") {
			tracer.Note(&troupe.Event{
				Seq:     rapid.Int64Range(0, 3).Draw(rt, "seq"),
				Session: rapid.SampledFrom([]string{"", "s"}).Draw(rt, "session"),
				Run:     rapid.SampledFrom([]string{"", ":", "a", "a:1", "a:2/0/1", "a:2/0/1:3", "b:1:1", "/:/"}).Draw(rt, "run"),
				Step:    rapid.SampledFrom([]string{"", "1", "2/0", "2/0/1", "/"}).Draw(rt, "step"),
				Body:    rapid.SampledFrom(bodies).Draw(rt, "body"),
			})
		}
		shutdown(t, tracer)
		for _, s := range sent.spans {
			if s.EndTime().IsZero() {
				rt.Errorf("%s has no end", s.Name())
			}
		}
	})
}

// A program's own provider stays its own, and with our ids keeps a run in one trace.
func TestAProgramsOwnProviderMakesTheSpans(t *testing.T) {
	var sent kept
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&sent), sdktrace.WithIDGenerator(otel.NewIDGenerator()))
	for range 2 {
		tracer := newTracer(t, otel.Options{TracerProvider: provider})
		tracer.Note(&troupe.Event{Seq: 1, Session: "s", Run: "r", Agent: "a", Body: &troupe.RunResumed{}})
		shutdown(t, tracer)
	}
	_, own := provider.Tracer("own").Start(t.Context(), "own")
	own.End()
	if ids := traces(sent.spans); len(sent.spans) != 3 || len(ids) != 2 {
		t.Errorf("%d spans in the traces %v", len(sent.spans), ids)
	}
}

func TestSessionsAreTracedConcurrently(t *testing.T) {
	var sent kept
	tracer := newTracer(t, otel.Options{Exporter: &sent})
	var sessions sync.WaitGroup
	for n := range 8 {
		sessions.Go(func() {
			for range 50 {
				noteRun(tracer, strconv.Itoa(n))
			}
		})
	}
	sessions.Wait()
	shutdown(t, tracer)
	if len(sent.spans) != 8*50*4 {
		t.Errorf("%d spans", len(sent.spans))
	}
}

// noteRun notes a run with two model calls and one tool call: four spans.
func noteRun(tracer *otel.Tracer, session string) {
	e := troupe.Event{Session: session, Run: "r", Step: "1", Agent: "clerk", Time: time.Unix(0, 0)}
	for i, body := range []troupe.Body{
		&troupe.RunStarted{}, &troupe.UserSaid{}, &troupe.ContextLoaded{},
		&troupe.ModelReplied{Model: "gpt-5"}, &troupe.ToolCalled{Tool: "add"}, &troupe.ToolReturned{Tool: "add"},
		&troupe.ModelReplied{Model: "gpt-5"}, &troupe.RunFinished{},
	} {
		e.Seq, e.Body = int64(i+1), body
		tracer.Note(&e)
	}
}

func TestOpenTelemetryIsLinkedOnlyWhereItIsImported(t *testing.T) {
	const module = "github.com/troupe-dev/troupe"
	list := func(packages ...string) string {
		out, err := exec.Command("go", append([]string{"list", "-e", "-deps"}, packages...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const otel = "go.opentelemetry.io/"
	if deps := list(module, module+"/observe", module+"/model/openai", module+"/store/sqlite"); strings.Contains(deps, otel) || !strings.Contains(deps, module+"\n") {
		t.Errorf("linked:\n%s", deps)
	}
	if !strings.Contains(list(module+"/observe/otel"), otel) {
		t.Error("and here it is not found either")
	}
}

func BenchmarkNote(b *testing.B) {
	tracer := newTracer(b, otel.Options{Exporter: tracetest.NewNoopExporter()})
	b.ReportAllocs()
	for b.Loop() {
		noteRun(tracer, "s")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8, "ns/event")
	shutdown(b, tracer)
}
