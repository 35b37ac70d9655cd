package observe_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
)

func folded(events ...troupe.Event) *observe.Metrics {
	m := observe.NewMetrics()
	for i := range events {
		m.Note(&events[i])
	}
	return m
}

func exposed(t *testing.T, m *observe.Metrics) string {
	t.Helper()
	var out strings.Builder
	if err := m.WritePrometheus(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestMetricsTellWhatAnAgentDid(t *testing.T) {
	m := observe.NewMetrics()
	_, events := play(t, slog.LevelError, m)
	samples := exposition(t, exposed(t, m))
	for name, want := range map[string]float64{
		`troupe_runs_started_total{agent="mira",nested="false"}`:                  2,
		`troupe_runs_ended_total{agent="mira",nested="false",outcome="success"}`:  1,
		`troupe_runs_ended_total{agent="mira",nested="false",outcome="failed"}`:   1,
		`troupe_run_turns_sum{agent="mira"}`:                                      5,
		`troupe_run_turns_bucket{agent="mira",le="5"}`:                            2,
		`troupe_run_turns_bucket{agent="mira",le="3"}`:                            1,
		`troupe_model_replies_total{agent="mira",model="script"}`:                 5,
		`troupe_tokens_total{agent="mira",model="script",type="cached_input"}`:    40,
		`troupe_tokens_total{agent="mira",model="script",type="reasoning"}`:       5,
		`troupe_tool_calls_total{agent="mira",tool="flaky"}`:                      2,
		`troupe_tool_calls_total{agent="mira",tool="unknown"}`:                    1,
		`troupe_tool_errors_total{agent="mira",tool="crash",class="panicked"}`:    1,
		`troupe_tool_duration_seconds_count{tool="read_file"}`:                    1,
		`troupe_tool_duration_seconds_bucket{tool="read_file",le="+Inf"}`:         1,
		`troupe_errors_total{type="tool_failed"}`:                                 1,
		`troupe_errors_total{type="run_failed"}`:                                  1,
		`troupe_warnings_total{code="model_failed"}`:                              1,
		`troupe_model_latency_seconds_count{model="script"}`:                      5,
		`troupe_context_window_ratio_count{agent="mira"}`:                         5,
		`troupe_context_tokens{agent="mira",part="system"}`:                       float64(latestContext(events).System),
		`troupe_model_first_token_seconds_bucket{model="script",le="30"}`:         5,
		`troupe_cost_dollars_total{agent="mira",model="script"}`:                  cost(events),
		`troupe_context_tokens{agent="mira",part="history"}`:                      float64(latestContext(events).History),
		`troupe_tool_errors_total{agent="mira",tool="unknown",class="not_found"}`: 1,
		`troupe_tool_errors_total{agent="mira",tool="flaky",class="failed"}`:      1,
		`troupe_tool_duration_seconds_bucket{tool="crash",le="60"}`:               1,
	} {
		if got, ok := samples[name]; !ok || got != want {
			t.Errorf("%s = %v (%v), want %v", name, got, ok, want)
		}
	}
	s := m.Summary()
	mira := s.Agents["mira"]
	if *s.Runs.Completion != 0.5 || *mira.TurnsPerRun != 2.5 || mira.ToolErrors != 3 || mira.ToolCalls["flaky"] != 2 || mira.Spent != s.Models["script"].Spent || mira.Spent.Cost != cost(events) {
		t.Errorf("summary: %+v", s)
	}
	if s.Tools["read_file"].Time.Mean <= 0 || s.Tools["read_file"].Time.Max < s.Tools["read_file"].Time.Mean || *mira.Context.Max < *mira.Context.Mean {
		t.Errorf("means and maxima: %+v", s)
	}
	if diff := cmp.Diff(s, folded(events...).Summary()); diff != "" {
		t.Errorf("the log gives something else: %s", diff)
	}
	if diff := cmp.Diff(exposed(t, m), exposed(t, folded(events...))); diff != "" {
		t.Errorf("the log gives something else: %s", diff)
	}
}

func latestContext(events []troupe.Event) (latest troupe.ContextUse) {
	for _, e := range events {
		if r, ok := e.Body.(*troupe.ModelReplied); ok {
			latest = r.Context
		}
	}
	return latest
}

func cost(events []troupe.Event) (sum float64) {
	for _, e := range events {
		if r, ok := e.Body.(*troupe.ModelReplied); ok {
			sum += r.Cost
		}
	}
	return sum
}

func TestARunThatGoesOnIsNotCountedTwice(t *testing.T) {
	reply := &troupe.ModelReplied{Message: &troupe.Message{}}
	done := &troupe.RunFinished{Stop: "answered"}
	asked := &troupe.RunFinished{Stop: "input_requested", Output: troupe.Handoff{Meta: troupe.HandoffMeta{Status: "partial"}}}
	start, failed, cancelled, resumed := &troupe.RunStarted{}, &troupe.RunFailed{}, &troupe.RunCancelled{}, &troupe.RunResumed{}
	for name, test := range map[string]struct {
		bodies []troupe.Body
		want   observe.RunSummary
		ends   float64
	}{
		"failed, then done":      {[]troupe.Body{start, reply, failed, resumed, reply, done}, observe.RunSummary{Started: 1, Success: 1}, 2},
		"cancelled, then failed": {[]troupe.Body{start, cancelled, resumed, failed}, observe.RunSummary{Started: 1, Failed: 1}, 2},
		"killed, then done":      {[]troupe.Body{start, reply, resumed, done}, observe.RunSummary{Started: 1, Success: 1}, 1},
		"asked, then done":       {[]troupe.Body{start, asked, &troupe.UserSaid{}, done}, observe.RunSummary{Started: 1, Success: 1}, 2},
		"asked":                  {[]troupe.Body{start, asked}, observe.RunSummary{Started: 1, Waiting: 1}, 1},
		"under way":              {[]troupe.Body{start, reply}, observe.RunSummary{Started: 1}, 0},
		"failed, then another":   {[]troupe.Body{start, failed, start, done}, observe.RunSummary{Started: 2, Failed: 1, Success: 1}, 2},
	} {
		m := folded(eventsOf("s", "r", "mira", test.bodies...)...)
		got := m.Summary().Runs
		got.Completion = nil
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		ends := 0.
		for name, value := range exposition(t, exposed(t, m)) {
			if strings.HasPrefix(name, "troupe_runs_ended_total") {
				ends += value
			}
		}
		if ends != test.ends {
			t.Errorf("%s: %v ends", name, ends)
		}
	}
}

// Two providers may call a model the same: what they take and cost is told apart, and the
// summary has both together.
func TestProvidersAreToldApart(t *testing.T) {
	reply := func(provider string, cost float64, latency time.Duration) *troupe.ModelReplied {
		return &troupe.ModelReplied{Message: &troupe.Message{}, Model: "m", Provider: provider, Cost: cost, Usage: troupe.Usage{Input: 7}, Latency: troupe.Millis(latency), FirstToken: troupe.Millis(latency)}
	}
	m := folded(eventsOf("s", "r", "mira", &troupe.RunStarted{}, reply("one", 0.5, time.Second), reply("two", 0.25, 3*time.Second),
		&troupe.ModelFailed{Error: "withheld", Usage: troupe.Usage{Input: 3}, Cost: 1, Model: "m", Provider: "two"})...)
	all := exposition(t, exposed(t, m))
	for name, want := range map[string]float64{
		`troupe_cost_dollars_total{agent="mira",model="m",provider="one"}`: 0.5, `troupe_cost_dollars_total{agent="mira",model="m",provider="two"}`: 1.25,
		`troupe_tokens_total{agent="mira",model="m",type="input",provider="two"}`: 10, `troupe_model_replies_total{agent="mira",model="m",provider="one"}`: 1,
		`troupe_model_latency_seconds_sum{model="m",provider="two"}`: 3, `troupe_model_first_token_seconds_count{model="m",provider="one"}`: 1,
	} {
		if all[name] != want {
			t.Errorf("%s is %v", name, all[name])
		}
	}
	if s := m.Summary().Models["m"]; s.Replies != 2 || s.Spent.Cost != 1.75 || s.Latency.Mean != 2000 || s.Latency.Max != 3000 {
		t.Errorf("%+v", s)
	}
}

// What came to nothing is paid for, and counted.
func TestAnAnswerThatCameToNothingIsCounted(t *testing.T) {
	m := folded(eventsOf("s", "r", "mira", &troupe.RunStarted{}, &troupe.ModelFailed{Error: "withheld", Usage: troupe.Usage{Input: 7, Output: 3}, Cost: 0.5, Model: "m"},
		&troupe.ModelFailed{Error: "down"})...)
	all := exposition(t, exposed(t, m))
	for name, want := range map[string]float64{`troupe_cost_dollars_total{agent="mira",model="m"}`: 0.5, `troupe_tokens_total{agent="mira",model="m",type="input"}`: 7} {
		if all[name] != want {
			t.Errorf("%s is %v of %v", name, all[name], all)
		}
	}
}

func TestPhasesArtifactsAndErrorsOfAPipeline(t *testing.T) {
	var events []troupe.Event
	note := func(run, parent string, body troupe.Body) {
		events = append(events, troupe.Event{Session: "s", Run: run, Parent: parent, Agent: "pipeline", Seq: int64(len(events) + 1), Body: body})
	}
	note("r", "", &troupe.RunStarted{})
	for i, phase := range [][3]string{{"requirements", "success", "strict"}, {"design", "success", "repaired"}, {"design", "failed", "strict"}, {"qa", "partial", ""}} {
		custom := map[string]any{"phase": phase[0], "status": phase[1], "json": phase[2]}
		note(fmt.Sprint("r:", i), "r", &troupe.RunFinished{Output: troupe.Handoff{Custom: custom}})
	}
	note("r:9", "r", &troupe.RunFinished{Output: troupe.Handoff{Custom: map[string]any{"phase": "design"}}}) // an agent at work in a phase
	note("r", "", &troupe.ArtifactSaved{})
	note("r", "", &troupe.ArtifactSaved{})
	note("r", "", &troupe.ArtifactSaved{})
	note("r", "", &troupe.Warned{Code: "artifact_failed"})
	note("r", "", &troupe.HandedOff{From: "a", To: "b"})
	note("r", "", &troupe.InputRequested{})
	note("r", "", &troupe.ContextCompacted{})
	note("r", "", &troupe.RunFinished{})
	m := folded(events...)
	s := m.Summary()
	if *s.Phases.Success != 0.5 || *s.Phases.Compliance != 2./3 || *s.Artifacts.Success != 0.75 || *s.Runs.Completion != 1 {
		t.Errorf("rates: %+v %+v %+v", s.Phases, s.Artifacts, s.Runs)
	}
	if diff := cmp.Diff(map[string]map[string]int{"requirements": {"success": 1}, "design": {"success": 1, "failed": 1}, "qa": {"partial": 1}}, s.Phases.ByPhase); diff != "" {
		t.Error(diff)
	}
	if s.Errors["artifact_failed"] != 1 || s.Handoffs != 1 || s.Agents["pipeline"].InputRequests != 1 || s.Agents["pipeline"].Context.Compactions != 1 {
		t.Errorf("counts: %+v", s)
	}
	samples := exposition(t, exposed(t, m))
	if samples[`troupe_phases_total{phase="design",status="failed"}`] != 1 || samples[`troupe_phase_replies_total{phase="requirements",json="strict"}`] != 1 || samples[`troupe_handoffs_total{from="a",to="b"}`] != 1 {
		t.Errorf("samples: %v", samples)
	}
}

func TestASummaryIsSnakeCaseAndLeavesOutWhatIsNotKnown(t *testing.T) {
	data, err := json.Marshal(observe.NewMetrics().Summary())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"runs":{"started":0,"success":0,"partial":0,"failed":0,"cancelled":0,"waiting":0},"agents":{},"models":{},"tools":{},` +
		`"phases":{"by_phase":{},"json":{}},"artifacts":{"saved":0,"failed":0},"handoffs":0,"errors":{},"warnings":{}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	_, events := play(t, slog.LevelError)
	if data, err = json.Marshal(folded(events...).Summary()); err != nil || strings.ContainsAny(string(data), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t.Errorf("%s: %v", data, err)
	}
}

func TestLabelsAreBoundedAndEscaped(t *testing.T) {
	m := observe.NewMetrics()
	odd := "a\"b\\c\nd{e}=,"
	for i := range 1000 {
		m.Note(&troupe.Event{Agent: odd, Body: &troupe.ToolReturned{Tool: fmt.Sprint("tool", i), Duration: troupe.Millis(time.Second)}})
	}
	m.Note(&troupe.Event{Agent: odd, Body: &troupe.ToolReturned{Tool: "tool0", Class: "not_found", Duration: 1}}) // as a tool may say itself
	m.Note(&troupe.Event{Agent: strings.Repeat("long", 100), Body: &troupe.Warned{Code: "\xff"}})
	samples := exposition(t, exposed(t, m))
	tools := 0
	for name := range samples {
		if strings.HasPrefix(name, "troupe_tool_calls_total{") {
			tools++
		}
	}
	if samples[`troupe_tool_calls_total{agent="a\"b\\c\nd{e}=,",tool="tool0"}`] != 2 {
		t.Error("a tool that did not find something is taken for one that does not exist")
	}
	if tools != 201 || samples[`troupe_tool_calls_total{agent="a\"b\\c\nd{e}=,",tool="other"}`] != 800 || samples[`troupe_warnings_total{code="other"}`] != 1 {
		t.Errorf("%d tools: %v", tools, samples)
	}
	if s := m.Summary(); s.Tools["other"].Calls != 800 || s.Agents[odd].ToolCalls["other"] != 800 {
		t.Errorf("others: %+v", s.Tools["other"])
	}
}

func TestMetricsMayBeUsedConcurrently(t *testing.T) {
	m := observe.NewMetrics()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for _, e := range eventsOf(fmt.Sprint(i), "r", "mira", &troupe.RunStarted{}, &troupe.ModelReplied{}, &troupe.ToolReturned{Tool: "t"}, &troupe.RunFinished{}) {
				m.Note(&e)
			}
			m.Summary()
			exposed(t, m)
		})
	}
	wg.Wait()
	if runs := m.Summary().Runs; runs.Started != 8 || runs.Success != 8 {
		t.Errorf("runs = %+v", runs)
	}
}
