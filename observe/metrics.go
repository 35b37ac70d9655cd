package observe

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// Metrics counts what events say. It is a [Sink], to be told of events as they
// happen or of those in a store, each session's in order, and gives the same either
// way. It may be used concurrently.
//
// A run's outcome is success, partial or failed as its output says, failed or
// cancelled if it was stopped, and waiting if it ended with a question to the user.
// A run that goes on after an end ends again: troupe_runs_ended_total counts every
// end, [Metrics.Summary] only the latest of each run. To that end, sessions whose
// run may go on are remembered, but no more than 10,000 at a time.
//
// A pipeline's phase is a nested run whose output has in Custom both "phase", a
// name, and "status", one of "success", "partial" and "failed"; and "json", if its
// model replied: "strict" for JSON as asked for, else "extracted", "repaired",
// "corrected", "markdown" or "raw". The share of "strict" is the compliance. A
// warning with the code "artifact_failed" says that a file could not be written.
//
// A label has at most 200 values; what comes after is "other". Tools that models
// make up are "unknown".
type Metrics struct {
	mu sync.Mutex
	*families
	// latest counts the latest end of each run, otherwise as runsEnded.
	latest map[labelValues]int
	// sessions are those whose latest run has not ended for good.
	sessions map[string]*sessionState
	// spare is one that has ended, with nothing in it, for the next.
	spare *sessionState
	// known are the values that each label has so far.
	known map[string]map[string]bool
}

var _ Sink = (*Metrics)(nil)

const (
	maxLabelValues = 200
	maxLabelBytes  = 128
	maxSessions    = 10_000
)

// A sessionState is what is known of a session's latest run and those nested in it.
type sessionState struct {
	runs    map[string]*runState
	stopped bool
}

type runState struct {
	turns int // since its start or its last end
	// ended is the latest end, if it has ended.
	ended *labelValues
}

// NewMetrics returns metrics that are all zero.
func NewMetrics() *Metrics {
	return &Metrics{
		families: newFamilies(), latest: map[labelValues]int{},
		sessions: map[string]*sessionState{}, known: map[string]map[string]bool{},
	}
}

// metricKinds are the kinds of events that [Metrics] counts. It takes no notice of others.
var metricKinds = []string{
	"run_started", "model_replied", "tool_returned", "handed_off", "input_requested", "artifact_saved", "context_compacted",
	"model_failed", "limit_reached", "warned", "run_finished", "run_failed", "run_cancelled",
}

// Note implements [Sink].
func (m *Metrics) Note(e *troupe.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		m.add(m.runsStarted, 1, e.Agent, nested(e))
		if e.Parent == "" {
			m.forget(e.Session) // only a session's latest run can go on
		}
	case *troupe.ModelReplied:
		m.reply(e, b)
	case *troupe.ToolReturned:
		m.tool(e, b)
	case *troupe.HandedOff:
		m.add(m.handoffs, 1, b.From, b.To)
	case *troupe.InputRequested:
		m.add(m.inputRequests, 1, e.Agent)
	case *troupe.ArtifactSaved:
		m.add(m.artifactsSaved, 1, e.Agent)
	case *troupe.ContextCompacted:
		m.add(m.compactions, 1, e.Agent)
	case *troupe.ModelFailed:
		m.spent(e.Agent, b.Model, b.Provider, b.Usage, b.Cost)
		if m.add(m.warnings, 1, "model_failed"); b.RetryIn == 0 {
			m.add(m.errors, 1, "model_failed")
		}
	case *troupe.LimitReached:
		m.add(m.warnings, 1, "limit_"+string(b.Stop))
	case *troupe.Warned:
		m.warned(e, b)
	case *troupe.RunFinished:
		m.phase(e, b.Output.Custom)
		m.ended(e, outcomeOf(b))
	case *troupe.RunFailed:
		m.add(m.errors, 1, "run_failed")
		m.ended(e, "failed")
	case *troupe.RunCancelled:
		m.ended(e, outcomeCancelled)
	}
}

// The outcomes that are not a [string].
const (
	outcomeCancelled = "cancelled"
	outcomeWaiting   = "waiting"
)

func outcomeOf(b *troupe.RunFinished) string {
	switch {
	case b.Stop == "input_requested":
		return outcomeWaiting
	case b.Output.Meta.Status == "":
		return "success"
	}
	return string(b.Output.Meta.Status)
}

func nested(e *troupe.Event) string {
	if e.Parent == "" {
		return "false"
	}
	return "true"
}

// run returns what is known of the event's run.
func (m *Metrics) run(e *troupe.Event) *runState {
	session := m.sessions[e.Session]
	if session == nil {
		if len(m.sessions) >= maxSessions {
			m.forgetOne()
		}
		if session, m.spare = m.spare, nil; session == nil {
			session = &sessionState{runs: map[string]*runState{}}
		}
		m.sessions[e.Session] = session
	}
	session.stopped = false
	state := session.runs[e.Run]
	if state == nil {
		state = &runState{}
		session.runs[e.Run] = state
	}
	return state
}

// forgetOne makes room: if it can be, at the cost of a session that has no run under
// way.
func (m *Metrics) forgetOne() {
	var victim string
	for id, session := range m.sessions {
		victim = id
		if session.stopped {
			break
		}
	}
	delete(m.sessions, victim)
}

// forget drops what is known of a session.
func (m *Metrics) forget(id string) {
	if session := m.sessions[id]; session != nil {
		delete(m.sessions, id)
		clear(session.runs)
		m.spare = session
	}
}

func (m *Metrics) ended(e *troupe.Event, outcome string) {
	state := m.run(e)
	m.observe(m.runTurns, float64(state.turns), e.Agent)
	end := m.values(m.runsEnded, e.Agent, nested(e), outcome)
	m.runsEnded.at(end).value++
	m.latest[end]++
	if state.ended != nil {
		m.latest[*state.ended]--
	}
	state.turns, state.ended = 0, &end
	switch {
	case e.Parent != "":
	case e.Kind() == "run_finished" && outcome != outcomeWaiting:
		m.forget(e.Session)
	default:
		m.sessions[e.Session].stopped = true
	}
}

func (m *Metrics) reply(e *troupe.Event, b *troupe.ModelReplied) {
	if b.Purpose == "" {
		m.run(e).turns++
	}
	m.add(m.replies, 1, e.Agent, b.Model, b.Provider)
	m.spent(e.Agent, b.Model, b.Provider, b.Usage, b.Cost)
	m.observe(m.latency, b.Latency.Duration().Seconds(), b.Model, b.Provider)
	if b.FirstToken > 0 {
		m.observe(m.firstToken, b.FirstToken.Duration().Seconds(), b.Model, b.Provider)
	}
	if b.Context.Total() == 0 {
		return
	}
	m.set(m.contextTokens, float64(b.Context.System), e.Agent, "system")
	m.set(m.contextTokens, float64(b.Context.Tools), e.Agent, "tools")
	m.set(m.contextTokens, float64(b.Context.History), e.Agent, "history")
	if b.Context.Window > 0 {
		m.observe(m.contextShare, float64(b.Context.Total())/float64(b.Context.Window), e.Agent)
	}
}

// spent counts what an answer took, whether it came to something or not.
func (m *Metrics) spent(agent, model, provider string, u troupe.Usage, cost float64) {
	if cost == 0 && u == (troupe.Usage{}) && model == "" {
		return
	}
	m.add(m.tokens, float64(u.Input), agent, model, "input", provider)
	m.add(m.tokens, float64(u.CachedInput), agent, model, "cached_input", provider)
	m.add(m.tokens, float64(u.Output), agent, model, "output", provider)
	m.add(m.tokens, float64(u.Reasoning), agent, model, "reasoning", provider)
	m.add(m.cost, cost, agent, model, provider)
}

func (m *Metrics) tool(e *troupe.Event, b *troupe.ToolReturned) {
	tool := b.Tool
	if b.Class == "not_found" && b.Duration == 0 {
		tool = "unknown"
	}
	m.add(m.toolCalls, 1, e.Agent, tool)
	if b.Class != "" {
		m.add(m.toolErrors, 1, e.Agent, tool, string(b.Class))
		m.add(m.errors, 1, "tool_"+string(b.Class))
	}
	if b.Duration > 0 { // else it was not carried out
		m.observe(m.toolTime, b.Duration.Duration().Seconds(), tool)
	}
}

func (m *Metrics) warned(e *troupe.Event, b *troupe.Warned) {
	m.add(m.warnings, 1, b.Code)
	if strings.HasSuffix(b.Code, "_failed") {
		m.add(m.errors, 1, b.Code)
	}
	if b.Code == "artifact_failed" {
		m.add(m.artifactsFailed, 1, e.Agent)
	}
}

func (m *Metrics) phase(e *troupe.Event, custom map[string]any) {
	phase, _ := custom["phase"].(string)
	status, _ := custom["status"].(string)
	if e.Parent == "" || phase == "" || status == "" {
		return
	}
	m.add(m.phases, 1, phase, status)
	if form, _ := custom["json"].(string); form != "" {
		m.add(m.phaseReplyForms, 1, phase, form)
	}
}

func (m *Metrics) add(f *family, v float64, labels ...string) {
	m.series(f, labels...).value += v
}

func (m *Metrics) set(f *family, v float64, labels ...string) {
	m.series(f, labels...).value = v
}

func (m *Metrics) observe(f *family, v float64, labels ...string) {
	f.observe(m.series(f, labels...), v)
}

// maxRecent is for how many combinations of labels a family remembers the series.
const maxRecent = 1000

// series returns the series for labels as events have them. Labels that were bounded once are
// always bounded so.
func (m *Metrics) series(f *family, labels ...string) *series {
	var given labelValues
	copy(given[:], labels)
	if f.last != nil && f.given == given {
		return f.last
	}
	s := f.recent[given]
	if s == nil {
		s = f.at(m.values(f, labels...))
		if len(f.recent) < maxRecent {
			f.recent[given] = s
		}
	}
	f.given, f.last = given, s
	return s
}

// values bounds label values in number and size.
func (m *Metrics) values(f *family, labels ...string) (values labelValues) {
	for i, value := range labels {
		known := m.known[f.labels[i]]
		if known == nil {
			known = map[string]bool{}
			m.known[f.labels[i]] = known
		}
		switch {
		case known[value]:
		case value == "" && f.labels[i] == "provider": // a library's user need not name it
			continue
		case value == "":
			value = "unknown"
		case len(known) >= maxLabelValues, len(value) > maxLabelBytes, !utf8.ValidString(value):
			value = "other"
		}
		if !known[value] {
			known[value] = true
		}
		values[i] = value
	}
	return values
}
