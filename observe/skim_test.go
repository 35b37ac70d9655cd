package observe_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
)

var skimmedTexts = []string{"", "alex", "write_file", "Zoë \"the\" 作家", "a\\b\n\u2028", "success", "partial", "not_found", "input_requested", "model_failed", `{"body":{"cost":9}}`}

// anything fills a value with what events may hold.
func anything(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(skimmedTexts[r.IntN(len(skimmedTexts))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N([]int64{1, 10, 100_000, 1 << 40}[r.IntN(4)]))
		if v.Type() == reflect.TypeFor[troupe.Millis]() {
			v.SetInt(v.Int() / 1000 * 1000) // to the microsecond, as it is written
		}
	case reflect.Float64:
		v.SetFloat(float64(r.IntN(3)) * r.Float64())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Tag.Get("json") != "-" {
				anything(r, v.Field(i))
			}
		}
	case reflect.Pointer:
		if v.Type().Elem() == reflect.TypeFor[troupe.Message]() {
			v.Set(reflect.ValueOf(&troupe.Message{Role: troupe.RoleAssistant, Text: skimmedTexts[r.IntN(len(skimmedTexts))]}))
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]any]() && r.IntN(2) == 0 {
			some := map[string]any{"phase": "qa", "status": skimmedTexts[r.IntN(len(skimmedTexts))], "json": "strict", "more": []any{1.0, "}"}}
			for range r.IntN(3) {
				delete(some, []string{"phase", "status", "json"}[r.IntN(3)])
			}
			v.Set(reflect.ValueOf(some))
		}
	}
}

// What is counted of events that were skimmed is what is counted of those that were read.
func TestSkimmedEventsAreCountedAlike(t *testing.T) {
	bodies := []troupe.Body{
		&troupe.RunStarted{}, &troupe.UserSaid{}, &troupe.ModelReplied{}, &troupe.ToolCalled{}, &troupe.ToolReturned{}, &troupe.HandedOff{},
		&troupe.InputRequested{}, &troupe.ArtifactSaved{}, &troupe.ContextCompacted{}, &troupe.ModelFailed{}, &troupe.LimitReached{},
		&troupe.Warned{}, &troupe.RunFinished{}, &troupe.RunFailed{}, &troupe.RunCancelled{}, &troupe.SessionForked{},
	}
	for _, kind := range observe.MetricKinds() {
		if !slices.ContainsFunc(bodies, func(b troupe.Body) bool { return b.Kind() == kind }) {
			t.Errorf("%s is not tried", kind)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	read, skimmed, skimmer := observe.NewMetrics(), observe.NewMetrics(), observe.NewSkimmer()
	for n := range 5000 {
		body := reflect.New(reflect.TypeOf(bodies[n%len(bodies)]).Elem())
		anything(r, body.Elem())
		event := troupe.Event{
			Seq: int64(n + 1), Time: noon, Session: fmt.Sprint("s", r.IntN(20)), Run: fmt.Sprint("r", r.IntN(3)), Step: "1",
			Parent: []string{"", "p"}[r.IntN(2)], Agent: skimmedTexts[r.IntN(4)], Body: body.Interface().(troupe.Body),
		}
		content, err := event.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var whole troupe.Event
		if err := json.Unmarshal(content, &whole); err != nil {
			t.Fatal(err)
		}
		read.Note(&whole)
		part, isCounted, err := skimmer.Skim(content)
		if err != nil || isCounted != slices.Contains(observe.MetricKinds(), event.Kind()) {
			t.Fatalf("%s is counted: %v, %v", content, isCounted, err)
		}
		if isCounted {
			if part.Seq != event.Seq || part.Session != event.Session {
				t.Fatalf("%s is skimmed as event %d of session %q", content, part.Seq, part.Session)
			}
			skimmed.Note(&part)
		}
		if n%7 == 0 {
			skimmer.Reset() // nothing is left of those before
		}
	}
	// A summary adds up what these texts have, in any order.
	if got, want := exposed(t, skimmed), exposed(t, read); got != want {
		t.Errorf("skimmed:\n%s\nread:\n%s", got, want)
	}
}

// An event that somebody else wrote, in another order and with spaces, is read all the same,
// and one that is damaged is told of.
func TestEventsOfAnotherFormAreSkimmed(t *testing.T) {
	skimmer := observe.NewSkimmer()
	event, isCounted, err := skimmer.Skim([]byte(`{"body": {"tool": "look", "content": "", "size": 0, "duration_ms": 2, "call_id": "c"}, "kind": "tool_returned",
		"seq": 3, "time": "2026-05-04T12:00:00Z", "session": "s", "run": "r", "step": "1", "agent": "alex"}`))
	if b, ok := event.Body.(*troupe.ToolReturned); err != nil || !isCounted || !ok || b.Tool != "look" || event.Agent != "alex" {
		t.Errorf("%+v, %v, %v", event, isCounted, err)
	}
	for _, damaged := range []string{``, `{"seq":4,"kind":"tool_returned","body":{"tool":"lo`, `{"seq":4,"kind":"model_replied","body":{"cost":"much"}}`} {
		if event, isCounted, err := skimmer.Skim([]byte(damaged)); err == nil || isCounted || !strings.Contains(err.Error(), "event") {
			t.Errorf("%q: %+v, %v, %v", damaged, event, isCounted, err)
		}
	}
}

func BenchmarkSkim(b *testing.B) {
	event := troupe.Event{Seq: 3, Time: noon, Session: "00000001-0000-4000-8000-000000000000", Run: "00000001", Step: "2", Agent: "clerk", Body: &troupe.ModelReplied{
		Message: &troupe.Message{Role: troupe.RoleAssistant, Text: strings.Repeat("The tide is out. ", 20)}, Finish: troupe.FinishStop, Model: "m", Provider: "p", Attempt: 1,
		Usage: troupe.Usage{Input: 40, Output: 12}, Cost: 0.01, Latency: 1_000_000_000,
	}}
	content, err := event.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("skimmed", func(b *testing.B) {
		skimmer := observe.NewSkimmer()
		for b.Loop() {
			if _, _, err := skimmer.Skim(content); err != nil {
				b.Fatal(err)
			}
			skimmer.Reset()
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			var e troupe.Event
			if err := e.UnmarshalJSON(content); err != nil {
				b.Fatal(err)
			}
		}
	})
}
