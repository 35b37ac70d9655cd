package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when test events happen, one second after the other.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// eventsOf numbers bodies as the events of one run.
func eventsOf(session, run, agent string, bodies ...troupe.Body) []troupe.Event {
	events := make([]troupe.Event, len(bodies))
	for i, body := range bodies {
		events[i] = troupe.Event{
			Seq: int64(i + 1), Time: noon.Add(time.Duration(i) * time.Second),
			Session: session, Run: run, Step: "1", Agent: agent, Body: body,
		}
	}
	return events
}

// lines returns the JSON records in a log.
func lines(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var records []map[string]any
	for line := range bytes.Lines(log.Bytes()) {
		var record map[string]any
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		records = append(records, record)
	}
	return records
}

// of returns the records whose key has the value.
func of(records []map[string]any, key string, value any) []map[string]any {
	var found []map[string]any
	for _, record := range records {
		if record[key] == value {
			found = append(found, record)
		}
	}
	return found
}

// play runs an agent that reads a file, uses a tool that fails until its arguments
// change, calls one that crashes and one that does not exist, and answers. A second
// run of it fails. It returns the log, as JSON records and as events.
func play(t *testing.T, level slog.Level, sinks ...observe.Sink) ([]map[string]any, []troupe.Event) {
	t.Helper()
	type file struct {
		Path string `json:"file_path"`
	}
	tools := []troupe.Tool{
		troupe.NewTool("read_file", "reads", func(context.Context, file) (string, error) { return "the brief", nil }),
		troupe.NewTool("flaky", "fails", func(_ context.Context, in file) (string, error) {
			if in.Path == "a" {
				return "", errors.New("a is broken")
			}
			return "fine", nil
		}),
		troupe.NewTool("crash", "panics", func(context.Context, struct{}) (string, error) { panic("at the disco") }),
	}
	model := troupetest.NewScript(t,
		troupetest.Think("A brief comes first.").Say("Reading the brief.").Call("read_file", `{"file_path":"brief.md"}`).
			Using(troupe.Usage{Input: 100, CachedInput: 40, Output: 20, Reasoning: 5}),
		troupetest.Call("flaky", `{"file_path":"a"}`),
		troupetest.Call("flaky", `{"file_path":"b"}`),
		troupetest.Call("crash", `{}`).Call("made_up", `{}`),
		troupetest.Say("All done."),
		troupetest.Turn{}.Fail(errors.New("the key is not valid")),
	)
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "mira", Instructions: "Be brief.", Model: model, Tools: tools, Window: 1000,
		Price: troupe.Price{Input: 1, CachedInput: 1, Output: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	handler := slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level})
	store := troupe.NewMemoryStore()
	engine, err := troupe.New(troupe.Config{Store: observe.Watch(store, append(sinks, observe.Log(handler))...)})
	if err != nil {
		t.Fatal(err)
	}
	var session string
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "Sum up the brief."}) {
		if err != nil {
			t.Fatal(err)
		}
		session = e.Session
	}
	failed := false
	for _, err := range engine.Run(t.Context(), agent, troupe.Input{Session: session, Text: "Once more."}) {
		failed = failed || err != nil
	}
	if !failed {
		t.Fatal("the second run did not fail")
	}
	return lines(t, &log), logOf(t, store, session)
}
