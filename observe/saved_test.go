package observe

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

// Metrics that were kept after any event and went on come to the same.
func TestMetricsGoOnFromWhereTheyWereKept(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	var events []troupe.Event
	for _, session := range []string{"s1", "s2"} {
		for i, body := range []troupe.Body{
			&troupe.RunStarted{}, &troupe.ModelReplied{Message: &troupe.Message{}, Model: "m", Cost: 0.5, Usage: troupe.Usage{Input: 3}, Latency: troupe.Millis(time.Second)},
			&troupe.ToolReturned{Tool: "calc", Class: "timeout"}, &troupe.Warned{Code: "w"}, &troupe.RunFinished{Stop: "input_requested"},
			&troupe.ModelReplied{Message: &troupe.Message{}, Model: "m"}, &troupe.RunFailed{Error: "no"}, &troupe.RunFinished{Stop: "answered"},
		} {
			events = append(events, troupe.Event{Seq: int64(i + 1), Time: at, Session: session, Run: "r", Agent: "alex", Body: body})
		}
	}
	whole := NewMetrics()
	for i := range events {
		whole.Note(&events[i])
	}
	for cut := range events {
		first := NewMetrics()
		for i := range events[:cut] {
			first.Note(&events[i])
		}
		data, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second := NewMetrics()
		if err := json.Unmarshal(data, second); err != nil {
			t.Fatal(err)
		}
		for i := range events[cut:] {
			second.Note(&events[cut+i])
		}
		if difference := cmp.Diff(whole.Summary(), second.Summary()); difference != "" {
			t.Errorf("kept after event %d: %s", cut, difference)
		}
	}
	if err := json.Unmarshal([]byte(`{"families":{"troupe_of_another_time":[{"labels":["","",""]}]}}`), NewMetrics()); err == nil {
		t.Error("what another program counted is taken over")
	}
}
