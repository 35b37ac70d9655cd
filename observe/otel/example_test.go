package otel_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/observe/otel"
	"github.com/troupe-dev/troupe/troupetest"
)

// One trace from the caller's span through the agent to its model calls, its tool calls
// and the spans that a tool opens, in a program that has a tracer provider of its own.
func ExampleNew() {
	exporter := tracetest.NewInMemoryExporter() // a real one sends to a collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithIDGenerator(otel.NewIDGenerator()))
	tracer, err := otel.New(context.Background(), otel.Options{TracerProvider: provider})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{
		Store:   observe.Watch(troupe.NewMemoryStore(), tracer), // makes the spans
		Tracing: tracer,                                         // connects them with those of the program
	})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	query := troupe.NewTool("query", "Asks the database.", func(ctx context.Context, _ struct{}) (string, error) {
		_, span := provider.Tracer("app").Start(ctx, "SELECT")
		defer span.End()
		return "42", nil
	})
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "clerk", Tools: []troupe.Tool{query}, Model: troupetest.NewScript(nil, troupetest.Call("query", `{}`), troupetest.Say("It is 42.")),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, request := provider.Tracer("app").Start(context.Background(), "GET /answer")
	if _, err := troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "What is it?"})); err != nil {
		log.Fatal(err)
	}
	request.End()

	spans := exporter.GetSpans()
	var print func(parent tracetest.SpanStub, indent string)
	print = func(parent tracetest.SpanStub, indent string) {
		fmt.Println(indent + parent.Name)
		for _, span := range spans {
			if span.Parent.SpanID() == parent.SpanContext.SpanID() {
				print(span, indent+"  ")
			}
		}
	}
	print(spans[slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == "GET /answer" })], "")
	// Output:
	// GET /answer
	//   invoke_agent clerk
	//     chat script
	//     execute_tool query
	//       SELECT
	//     chat script
}
