package observe

import (
	"slices"
	"strings"
)

// A family is a metric with a series for each combination of its labels' values.
type family struct {
	name, help string
	kind       familyKind
	labels     []string
	buckets    []float64 // upper bounds, of a histogram
	series     map[labelValues]*series
	recent     map[labelValues]*series // some of them, by labels as they were given
	given      labelValues             // the last that were given, and their series
	last       *series
}

type familyKind string

const (
	counter   familyKind = "counter"
	gauge     familyKind = "gauge"
	histogram familyKind = "histogram"
)

// labelValues are the values of a family's labels, in their order. An empty one is none.
type labelValues [4]string

// A series is a number, or of a histogram what is known of the numbers observed.
type series struct {
	value   float64 // of a histogram, the sum
	count   uint64
	max     float64
	buckets []uint64 // how many were at most as large as each bound
}

// families are all that Metrics counts.
type families struct {
	runsStarted, runsEnded, runTurns                         *family
	replies, tokens, cost, latency, firstToken               *family
	contextTokens, contextShare, compactions                 *family
	toolCalls, toolErrors, toolTime                          *family
	errors, warnings, handoffs, inputRequests                *family
	artifactsSaved, artifactsFailed, phases, phaseReplyForms *family

	list []*family // in the order in which they are written
}

func newFamilies() *families {
	f := &families{}
	add := func(kind familyKind, name, help, labels string, buckets ...float64) *family {
		made := &family{
			name: "troupe_" + name, help: help, kind: kind, labels: strings.Fields(labels), buckets: buckets,
			series: map[labelValues]*series{}, recent: map[labelValues]*series{},
		}
		f.list = append(f.list, made)
		return made
	}
	f.runsStarted = add(counter, "runs_started_total", "Runs that were started.", "agent nested")
	f.runsEnded = add(counter, "runs_ended_total", "Ends of runs. A run that was stopped and resumed ends again.", "agent nested outcome")
	f.runTurns = add(histogram, "run_turns", "Model turns of a run between its start, or its last end, and its end.", "agent", 1, 2, 3, 5, 8, 13, 21, 34, 50)
	f.replies = add(counter, "model_replies_total", "Replies of models.", "agent model provider")
	f.tokens = add(counter, "tokens_total", "Tokens. Cached input is part of input, reasoning of output.", "agent model type provider")
	f.cost = add(counter, "cost_dollars_total", "Cost in US dollars, where prices are known.", "agent model provider")
	f.latency = add(histogram, "model_latency_seconds", "Time until a reply was complete.", "model provider", .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120)
	f.firstToken = add(histogram, "model_first_token_seconds", "Time until a reply began.", "model provider", .05, .1, .25, .5, 1, 2.5, 5, 10, 30)
	f.contextTokens = add(gauge, "context_tokens", "Estimated tokens of the latest request.", "agent part")
	f.contextShare = add(histogram, "context_window_ratio", "Share of the model's window that a request took.", "agent", .1, .25, .5, .75, .9, 1)
	f.compactions = add(counter, "context_compactions_total", "Times that older messages made room for newer ones.", "agent")
	f.toolCalls = add(counter, "tool_calls_total", "Tool calls that have an outcome.", "agent tool")
	f.toolErrors = add(counter, "tool_errors_total", "Tool calls that failed.", "agent tool class")
	f.toolTime = add(histogram, "tool_duration_seconds", "Time that tool calls took. That of reading tools is the time it takes to load files.", "tool", .001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60)
	f.errors = add(counter, "errors_total", "Failures: of tools by class, of runs, and what warnings call failed.", "type")
	f.warnings = add(counter, "warnings_total", "Warnings, retries of model calls among them.", "code")
	f.handoffs = add(counter, "handoffs_total", "Times that control moved from one agent to another.", "from to")
	f.inputRequests = add(counter, "input_requests_total", "Questions to the user that ended a run.", "agent")
	f.artifactsSaved = add(counter, "artifacts_saved_total", "Files written for users.", "agent")
	f.artifactsFailed = add(counter, "artifacts_failed_total", "Files that could not be written for users.", "agent")
	f.phases = add(counter, "phases_total", "Ends of a pipeline's phases.", "phase status")
	f.phaseReplyForms = add(counter, "phase_replies_total", "Replies in a pipeline's phases, by how JSON was got from them.", "phase json")
	return f
}

// at returns the series with these label values.
func (f *family) at(values labelValues) *series {
	s := f.series[values]
	if s == nil {
		s = &series{buckets: make([]uint64, len(f.buckets))}
		f.series[values] = s
	}
	return s
}

// observe takes a number into a histogram's account.
func (f *family) observe(s *series, v float64) {
	s.value += v
	s.count++
	s.max = max(s.max, v)
	first, _ := slices.BinarySearch(f.buckets, v)
	for i := first; i < len(s.buckets); i++ {
		s.buckets[i]++
	}
}
