package pipeline

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Summary is a delivery at a glance, computed from its session's events.
type Summary struct {
	// Success says that the delivery came to its end, that every phase succeeded and
	// that no artifact is left that failed.
	Success bool   `json:"success"`
	Session string `json:"session"`
	Request string `json:"request"`
	// State is "running", "completed", "failed", "cancelled" or "waiting" for an answer to Question.
	State    string    `json:"state"`
	Question string    `json:"question,omitempty"`
	Started  time.Time `json:"started"`
	// Duration is how long it was worked on so far, Waited how long it waited for a person:
	// both of all the session's runs, so that neither ever gets less. Between is what of
	// Duration is no phase's: checks, preparing and reporting. Asked is when the open question
	// was asked; Waited ends there, see [Summary.WaitedUntil].
	Duration  troupe.Millis     `json:"duration_ms"`
	Waited    troupe.Millis     `json:"waited_ms,omitempty"`
	Between   troupe.Millis     `json:"between_ms,omitempty"`
	Asked     time.Time         `json:"asked,omitzero"`
	Phases    []PhaseSummary    `json:"phases"`
	Artifacts []ArtifactSummary `json:"artifacts"`
	// Ledger is what became of each step of the plan.
	Ledger   []StepRecord `json:"ledger,omitempty"`
	Warnings []Warning    `json:"warnings,omitempty"`
	Errors   []string     `json:"errors,omitempty"`
	Metrics  Metrics      `json:"metrics"`
	Tokens   int          `json:"tokens"`
	Cost     float64      `json:"cost"`
	// Report is what a delivery into a repository came to, by facts, once it has come to
	// its end. Then Success is what it says.
	*Report
}

// WaitedUntil is how long it has waited for a person at a time, the open question included.
func (s *Summary) WaitedUntil(now time.Time) time.Duration {
	waited := s.Waited.Duration()
	if !s.Asked.IsZero() {
		waited += max(now.Sub(s.Asked), 0)
	}
	return waited
}

// A PhaseSummary is a phase at a glance: how it stands by its latest run, and what all its
// runs have taken.
type PhaseSummary struct {
	Name    string    `json:"name"`
	Status  string    `json:"status"` // success, partial, failed or running
	Started time.Time `json:"started"`
	// Duration is how long it was worked on so far. Waited is how long it waited for a person
	// besides that, until the latest answer.
	Duration troupe.Millis `json:"duration_ms"`
	Waited   troupe.Millis `json:"waited_ms,omitempty"`
	// Runs, Tokens, Cost and Corrections are of all its runs, too.
	Runs        int     `json:"runs"`
	Tokens      int     `json:"tokens"`
	Cost        float64 `json:"cost"`
	JSON        Level   `json:"json,omitempty"`
	Corrections int     `json:"corrections"`
	Artifacts   int     `json:"artifacts"`

	run string
	// isOpen says that its run has not come to its end.
	isOpen bool
	// was is how it stood after the latest run before that did not fail.
	was string
}

// An ArtifactSummary is an artifact as it is by now.
type ArtifactSummary struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Phase  string `json:"phase,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	State  string `json:"state"`
	Error  string `json:"error,omitempty"`
}

// A Warning is something that stopped nothing.
type Warning struct {
	Phase   string `json:"phase,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Metrics are shares between 0 and 1 of one delivery; of nothing, all is well.
type Metrics struct {
	PhaseSuccess    float64 `json:"phase_success_rate"`
	JSONCompliance  float64 `json:"json_compliance"` // phases whose agent answered as asked
	ArtifactSuccess float64 `json:"artifact_success"`
	// Completion is 1 for a delivery that came to its end, else 0.
	Completion float64 `json:"completion"`
}

// Results returns what each phase came to, the latest of each. They fit into
// Custom["phases"] of a delivery that begins where another one stopped.
func Results(events []troupe.Event) []Result {
	var results, before []Result
	for i := range events {
		if keepsBefore(&events[i]) && before != nil {
			results = before
		}
		end, ok := events[i].Body.(*troupe.RunFinished)
		if !ok || end.Output.Custom["phase"] == nil {
			continue
		}
		var r Result
		if redecode(end.Output.Outputs["result"], &r) != nil {
			continue
		}
		r.Artifacts = withoutDiffs(r.Artifacts)
		at := len(results)
		for j := range results {
			if results[j].Phase == r.Phase {
				at = j
			}
		}
		if at == len(results) {
			before = nil
		} else if results[at].planned() > 0 {
			before = results
		}
		after := results[min(at+1, len(results)):]
		results = append(results[:at:at], r) // what came after it is of an earlier pass
		for _, later := range after {
			if r.Phase == phaseImplementation && r.Site != nil && later.reviews(r.Site.Head) { // nothing was built since
				results = append(results, later)
			}
		}
	}
	return results
}

// keepsBefore says of an event that a person went on with what a phase had come to before
// its latest run, which came to nothing.
func keepsBefore(e *troupe.Event) bool {
	b, ok := e.Body.(*troupe.ToolReturned)
	var verdict gateResult
	return ok && b.Tool == toolGate && b.Class == "" && json.Unmarshal([]byte(b.Content), &verdict) == nil && verdict.Decision == decisionKeep
}

// Summarize computes the summary of a session's latest delivery.
func Summarize(events []troupe.Event) Summary {
	s := summarizing{Summary: Summary{State: "running"}}
	for i := range events {
		s.note(&events[i])
	}
	for _, a := range artifactsIn(events) {
		s.Artifacts = append(s.Artifacts, ArtifactSummary{a.Path, a.Type, a.request.Phase, a.SHA256, a.State, a.Error})
	}
	for _, r := range Results(events) {
		s.Errors = append(s.Errors, r.Errors...)
		s.Ledger = append(s.Ledger, r.Steps...)
		if p := s.phase(r.Phase); p != nil {
			p.Artifacts = len(r.Artifacts)
		}
	}
	s.Report = nil
	if s.State == "completed" {
		s.Report = ReportOf(events)
	}
	if s.State == "waiting" {
		s.Asked = s.last
	}
	s.measure()
	return s.Summary
}

// summarizing is a summary in the making.
type summarizing struct {
	Summary
	root string    // the run of the delivery
	last time.Time // of the event before
	// earlier are phases of runs before that one.
	earlier map[string]PhaseSummary
}

// restart begins anew with another run of the same delivery: what was spent counts on.
func (s *summarizing) restart(root string, e *troupe.Event) {
	earlier := map[string]PhaseSummary{}
	maps.Copy(earlier, s.earlier)
	for _, p := range s.Phases {
		earlier[p.Name] = p
	}
	*s = summarizing{root: root, last: s.last, earlier: earlier, Summary: Summary{
		Session: e.Session, State: "running", Started: e.Time, Duration: s.Duration, Waited: s.Waited, Between: s.Between, Tokens: s.Tokens, Cost: s.Cost,
	}}
}

func (s *summarizing) note(e *troupe.Event) {
	s.pass(e)
	if start, ok := e.Body.(*troupe.RunStarted); ok {
		s.begin(e, start)
		return
	}
	p := s.phaseOf(e.Run)
	switch b := e.Body.(type) {
	case *troupe.ToolCalled:
		if b.Tool == toolPrepare && s.root != e.Run { // a delivery into a repository, which may ask before its first phase
			s.restart(e.Run, e)
		}
	case *troupe.ToolReturned:
		if planning := s.phase(phasePlanning); planning != nil && keepsBefore(e) && planning.was != "" {
			planning.Status = planning.was
		}
	case *troupe.ModelReplied:
		s.spend(p, &b.Usage, b.Cost)
	case *troupe.ModelFailed:
		s.spend(p, &b.Usage, b.Cost)
	case *troupe.Warned:
		s.warned(p, b)
	case *troupe.UserSaid:
		s.State, s.Question = "running", ""
	case *troupe.RunResumed:
		if e.Run == s.root { // what it failed at before is no error of a delivery that goes on
			s.State, s.Errors = "running", nil
		}
	case *troupe.RunFinished:
		s.finished(e, p, b)
	case *troupe.RunFailed:
		if p != nil && p.run == e.Run {
			p.Status = "failed"
		}
		if e.Run == s.root {
			s.State = "failed"
			s.Errors = append(s.Errors, b.Error)
		}
	case *troupe.RunCancelled:
		if e.Run == s.root {
			s.State = "cancelled"
		}
	}
}

// spend counts what a call of a model has used, for the phase that it is of.
func (s *summarizing) spend(p *PhaseSummary, usage *troupe.Usage, cost float64) {
	if p == nil {
		return
	}
	tokens := usage.Total()
	p.Tokens, p.Cost = p.Tokens+tokens, p.Cost+cost
	s.Tokens, s.Cost = s.Tokens+tokens, s.Cost+cost
}

// pass counts the time since the event before: as worked, as waited for a person, or as
// nobody's, where there was no run or no process. The page counts in the same way.
func (s *summarizing) pass(e *troupe.Event) {
	gap := troupe.Millis(max(e.Time.Sub(s.last), 0))
	if s.last.IsZero() {
		gap = 0
	}
	s.last = e.Time
	isBreak := false
	switch b := e.Body.(type) {
	case *troupe.SessionForked: // what is before it was done in another session
		return
	case *troupe.UserSaid:
		s.waited(gap)
		return
	case *troupe.RunResumed:
		isBreak = true
	case *troupe.RunStarted:
		isBreak = e.Parent == ""
	case *troupe.RunCancelled: // perhaps long after its process died
		isBreak = strings.HasPrefix(b.Reason, "interrupted")
	}
	switch {
	case s.State == "waiting":
		s.waited(gap)
	case s.State == "running" && !isBreak:
		s.worked(gap)
	}
}

func (s *summarizing) worked(gap troupe.Millis) {
	s.Duration += gap
	between := gap
	for i := range s.Phases {
		if p := &s.Phases[i]; p.isOpen {
			p.Duration += gap
			between = 0
		}
	}
	s.Between += between
}

func (s *summarizing) waited(gap troupe.Millis) {
	s.Waited += gap
	for i := range s.Phases {
		if p := &s.Phases[i]; p.isOpen {
			p.Waited += gap
		}
	}
}

// begin notes the start of a delivery or of a phase. A run that has neither phases
// nor anything else of a delivery, such as a retry, leaves no trace.
func (s *summarizing) begin(e *troupe.Event, start *troupe.RunStarted) {
	s.Session = e.Session
	if e.Parent == "" || strings.Contains(e.Parent, ":") {
		return
	}
	if s.root != e.Parent {
		s.restart(e.Parent, e)
	}
	s.Request = start.Input.Task
	p := s.phase(e.Agent)
	if p == nil {
		was := s.earlier[e.Agent]
		s.Phases = append(s.Phases, PhaseSummary{Name: e.Agent, Duration: was.Duration, Waited: was.Waited, Runs: was.Runs, Tokens: was.Tokens, Cost: was.Cost, Corrections: was.Corrections})
		p = &s.Phases[len(s.Phases)-1]
	}
	if p.Status != "failed" {
		p.was = p.Status
	}
	p.run, p.Status, p.Started, p.JSON = e.Run, "running", e.Time, ""
	for i := range s.Phases {
		s.Phases[i].isOpen = p == &s.Phases[i] // they come one after the other
	}
	p.Runs++
}

func (s *summarizing) finished(e *troupe.Event, p *PhaseSummary, end *troupe.RunFinished) {
	switch {
	case e.Run == s.root:
		s.State = "completed"
		if end.Stop == "input_requested" {
			s.State, s.Question = "waiting", end.Output.Summary
		}
	case p != nil && p.run == e.Run:
		p.Status, _ = end.Output.Custom["status"].(string)
		form, _ := end.Output.Custom["json"].(string)
		p.JSON = Level(form)
		p.isOpen = end.Stop == "input_requested"
	}
}

func (s *summarizing) warned(p *PhaseSummary, b *troupe.Warned) {
	w := Warning{Code: b.Code, Message: b.Message}
	if p != nil {
		w.Phase = p.Name
		if b.Code == codeCorrection {
			p.Corrections++
		}
	}
	s.Warnings = append(s.Warnings, w)
}

// phaseOf returns the phase that a run is, or is nested in.
func (s *summarizing) phaseOf(run string) *PhaseSummary {
	for i := range s.Phases {
		if p := &s.Phases[i]; run == p.run || strings.HasPrefix(run, p.run+":") {
			return p
		}
	}
	return nil
}

func (s *summarizing) phase(name string) *PhaseSummary {
	for i := range s.Phases {
		if s.Phases[i].Name == name {
			return &s.Phases[i]
		}
	}
	return nil
}

func (s *summarizing) measure() {
	successes, replies, strict, kept := 0, 0, 0, 0
	for _, p := range s.Phases {
		successes += oneIf(p.Status == "success")
		replies += oneIf(p.JSON != "")
		strict += oneIf(p.JSON == LevelStrict)
	}
	for _, a := range s.Artifacts {
		kept += oneIf(a.State != StateFailed)
	}
	s.Metrics = Metrics{
		PhaseSuccess: share(successes, len(s.Phases)), JSONCompliance: share(strict, replies),
		ArtifactSuccess: share(kept, len(s.Artifacts)), Completion: float64(oneIf(s.State == "completed")),
	}
	if s.Report != nil {
		s.Success = s.Outcome == OutcomeDelivered
		return
	}
	s.Success = s.State == "completed" && successes == len(s.Phases) && kept == len(s.Artifacts)
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}
