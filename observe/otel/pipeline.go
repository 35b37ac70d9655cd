package otel

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Environment variables that the SDK does not read itself.
const (
	sdkDisabled    = "OTEL_SDK_DISABLED"
	tracesExporter = "OTEL_TRACES_EXPORTER"
	endpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	captureContent = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// Wanted reports whether the environment asks for traces: it names an OTLP
// endpoint and does not forbid them. Where it does not, a program need not make
// a [Tracer] at all.
func Wanted(getenv func(string) string) bool {
	return (getenv(endpoint) != "" || getenv(tracesEndpoint) != "") &&
		!disabled(getenv) && getenv(tracesExporter) != "none"
}

func disabled(getenv func(string) string) bool { return strings.EqualFold(getenv(sdkDisabled), "true") }

// A pipeline takes spans to their exporter in the background, in batches.
type pipeline struct {
	provider *sdktrace.TracerProvider
	batches  sdktrace.SpanProcessor
	exporter sdktrace.SpanExporter
}

// newPipeline returns nil where the environment forbids traces.
func newPipeline(ctx context.Context, exporter sdktrace.SpanExporter, log *slog.Logger) (*pipeline, error) {
	if disabled(os.Getenv) {
		return nil, nil
	}
	var err error
	if exporter == nil {
		if exporter, err = exporterFromEnvironment(ctx); exporter == nil || err != nil {
			return nil, err
		}
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(serviceName.String("troupe")), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	batches := sdktrace.NewBatchSpanProcessor(reporting{exporter, log})
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about),
		sdktrace.WithIDGenerator(NewIDGenerator()), sdktrace.WithSpanProcessor(batches))
	return &pipeline{provider, batches, exporter}, nil
}

// exporterFromEnvironment returns nil where the environment asks for none.
func exporterFromEnvironment(ctx context.Context) (sdktrace.SpanExporter, error) {
	switch name := os.Getenv(tracesExporter); name {
	case "none":
		return nil, nil
	case "", "otlp":
	default:
		return nil, fmt.Errorf("%s=%s: there are otlp and none", tracesExporter, name)
	}
	switch name := cmp.Or(os.Getenv(tracesProtocol), os.Getenv(protocol)); name {
	case "", "http/protobuf", "http/json":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("%s=%s: there are http/protobuf, http/json and grpc", protocol, name)
	}
}

// shutdown sends what is left. If ctx is done before that, exports under way are
// broken off, so that nothing goes on in the background.
func (p *pipeline) shutdown(ctx context.Context) error {
	err := p.batches.Shutdown(ctx)
	if ctx.Err() != nil {
		p.exporter.Shutdown(ctx)
	}
	return err
}

// A reporting exporter logs what could not be sent, which otherwise the SDK would
// write to standard error.
type reporting struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (r reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		r.log.Warn("spans not sent", "spans", len(spans), "err", err)
	}
	return nil
}
