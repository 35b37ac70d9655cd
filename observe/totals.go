package observe

import (
	"math"

	"github.com/troupe-dev/troupe"
)

// runSummary counts the runs of an agent, nested or not. Empty means all.
func (m *Metrics) runSummary(agent, nested string) RunSummary {
	r := RunSummary{Started: int(m.runsStarted.total(agent, nested))}
	for values, n := range m.latest {
		if !values.match(agent, nested) {
			continue
		}
		switch values[2] {
		case "success":
			r.Success += n
		case outcomeWaiting:
			r.Waiting += n
		case outcomeCancelled:
			r.Cancelled += n
		case "failed":
			r.Failed += n
		default:
			r.Partial += n
		}
	}
	r.Completion = share(float64(r.Success), float64(r.Success+r.Partial+r.Failed+r.Cancelled))
	return r
}

func (m *Metrics) agentSummary(agent string) AgentSummary {
	runs := m.runSummary(agent, "")
	s := AgentSummary{
		Runs:          runs,
		TurnsPerRun:   share(m.runTurns.total(agent), float64(runs.Success+runs.Partial+runs.Failed+runs.Cancelled+runs.Waiting)),
		ToolCalls:     m.toolCalls.by(1, agent),
		ToolErrors:    int(m.toolErrors.total(agent)),
		Spent:         m.spending(agent, ""),
		InputRequests: int(m.inputRequests.total(agent)),
		Context: ContextSummary{
			Tokens:      m.contextTokens.by(1, agent),
			Compactions: int(m.compactions.total(agent)),
		},
	}
	if used := m.contextShare.series[labelValues{agent}]; used != nil {
		s.Context.Mean = share(used.value, float64(used.count))
		s.Context.Max = share(used.max, 1)
	}
	return s
}

func (m *Metrics) spending(agent, model string) Spending {
	return Spending{
		Usage: troupe.Usage{
			Input:       int(m.tokens.total(agent, model, "input")),
			CachedInput: int(m.tokens.total(agent, model, "cached_input")),
			Output:      int(m.tokens.total(agent, model, "output")),
			Reasoning:   int(m.tokens.total(agent, model, "reasoning")),
		},
		// Rounded, since the sum depends on the order in its last digits.
		Cost: math.Round(m.cost.total(agent, model)*1e9) / 1e9,
	}
}

func (m *Metrics) phaseSummary() PhaseSummary {
	s := PhaseSummary{
		Success:    share(m.phases.total("", "success"), m.phases.total()),
		Compliance: share(m.phaseReplyForms.total("", "strict"), m.phaseReplyForms.total()),
		ByPhase:    map[string]map[string]int{},
		JSON:       m.phaseReplyForms.by(1),
	}
	for phase := range m.known["phase"] {
		s.ByPhase[phase] = m.phases.by(1, phase)
	}
	return s
}

// match reports whether the first values are these; an empty one matches all.
func (v *labelValues) match(values ...string) bool {
	for i, value := range values {
		if value != "" && value != v[i] {
			return false
		}
	}
	return true
}

// total is the sum of the series whose first label values are these, where an empty
// one stands for all.
func (f *family) total(values ...string) (sum float64) {
	for labels, s := range f.series {
		if labels.match(values...) {
			sum += s.value
		}
	}
	return sum
}

// by sums up, as total does, for each value of a label.
func (f *family) by(label int, values ...string) map[string]int {
	sums := map[string]int{}
	for labels, s := range f.series {
		if labels.match(values...) {
			sums[labels[label]] += int(s.value)
		}
	}
	return sums
}

func (f *family) timing(value string) Timing {
	var all series
	for labels, s := range f.series {
		if labels.match(value) {
			all.value, all.count, all.max = all.value+s.value, all.count+s.count, max(all.max, s.max)
		}
	}
	if all.count == 0 {
		return Timing{}
	}
	return Timing{Mean: inMillis(all.value / float64(all.count)), Max: inMillis(all.max)}
}

// inMillis turns seconds into milliseconds, to the microsecond.
func inMillis(seconds float64) float64 { return math.Round(seconds*1e6) / 1e3 }

// share returns part/whole, nil if there is no whole.
func share(part, whole float64) *float64 {
	if whole == 0 {
		return nil
	}
	quotient := part / whole
	return &quotient
}
