package observe_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
)

// benchmarkSink tells a sink of a turn with a tool call, event by event.
func benchmarkSink(b *testing.B, sink observe.Sink) {
	events := eventsOf("0f8fad5b-d9cb-469f-a165-70867728950e", "a1b2c3d4", "mira",
		&troupe.ModelReplied{
			Message: &troupe.Message{Text: "I will read the brief.", Calls: []troupe.ToolCall{{Name: "read_file"}}},
			Model:   "gpt", Latency: troupe.Millis(time.Second), FirstToken: troupe.Millis(time.Millisecond),
			Usage: troupe.Usage{Input: 1000, Output: 50}, Context: troupe.ContextUse{System: 500, History: 500, Window: 8000},
		},
		&troupe.ToolCalled{Tool: "read_file", Arguments: `{"file_path":"{bundle-root}/brief.md"}`, Attempt: 1},
		&troupe.ToolReturned{Tool: "read_file", Content: longText, Size: len(longText), Duration: troupe.Millis(time.Millisecond)},
	)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		sink.Note(&events[i%len(events)])
		i++
	}
}

func BenchmarkLog(b *testing.B) {
	benchmarkSink(b, observe.Log(slog.NewJSONHandler(io.Discard, nil)))
}

func BenchmarkLogRedacted(b *testing.B) {
	handler := observe.Redact(slog.NewJSONHandler(io.Discard, nil), "a-known-secret-value", "another-known-secret")
	benchmarkSink(b, observe.Log(handler))
}

func BenchmarkMetrics(b *testing.B) { benchmarkSink(b, observe.NewMetrics()) }
