package otel

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/troupe-dev/troupe"
)

func TestNothingIsKeptOfRunsThatAreOver(t *testing.T) {
	tracer, err := New(t.Context(), Options{Exporter: tracetest.NewNoopExporter()})
	if err != nil {
		t.Fatal(err)
	}
	note := func(run string, body troupe.Body) {
		tracer.Note(&troupe.Event{Seq: 1, Session: "s", Run: run, Step: "1", Body: body})
	}
	note("a", &troupe.RunStarted{})
	for range 10 {
		note("a", &troupe.ToolCalled{})
		note("a:1/1", &troupe.RunStarted{})
		note("a:1/1", &troupe.ToolCalled{})
		note("a:1/1", &troupe.RunCancelled{})
		note("a", &troupe.ToolReturned{})
	}
	if s := tracer.sessions["s"]; len(s.runs) != 1 || len(s.runs["a"].calls) != 0 {
		t.Errorf("kept while the run goes on: %v", s.runs)
	}
	note("b", &troupe.RunStarted{}) // the end of a was lost
	note("b:1", &troupe.RunStarted{})
	if s := tracer.sessions["s"]; len(s.runs) != 2 || s.runs["a"] != nil {
		t.Errorf("kept when another run has started: %v", s.runs)
	}
	note("b", &troupe.RunFailed{})
	if len(tracer.sessions) != 0 {
		t.Errorf("kept: %v", tracer.sessions)
	}
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAModelsNameMayTellItsProvider(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-4o-2024-08-06": "openai", "openai/o3-mini": "openai", "openai/gpt-oss-20b": "",
		"Claude-sonnet-4": "anthropic", "models/gemini-2.5-pro": "gcp.gemini", "qwen3:8b": "", "": "", "/": "",
	} {
		if got := providerOf("", model); got != want {
			t.Errorf("%q: %q", model, got)
		}
	}
}

func TestAProviderThatIsKnownIsNamed(t *testing.T) {
	for provider, want := range map[string]string{"ollama": "ollama", "bedrock": "aws.bedrock", "office": "office"} {
		found := false
		for _, a := range (&Tracer{}).replied(&troupe.ModelReplied{Model: "gpt-oss:20b", Provider: provider}) {
			found = found || a.Key == providerName && a.Value.AsString() == want
		}
		if !found {
			t.Errorf("%s is not named %s", provider, want)
		}
	}
}
