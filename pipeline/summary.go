package pipeline

import (
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
	State     string            `json:"state"`
	Question  string            `json:"question,omitempty"`
	Started   time.Time         `json:"started"`
	Duration  troupe.Millis     `json:"duration_ms"`
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

// A PhaseSummary is a phase at a glance: its latest run, where there were several.
type PhaseSummary struct {
	Name    string    `json:"name"`
	Status  string    `json:"status"` // success, partial, failed or running
	Started time.Time `json:"started"`
	// Duration is how long it was worked on. Waited is how long it waited for a person
	// besides that.
	Duration troupe.Millis `json:"duration_ms"`
	Waited   troupe.Millis `json:"waited_ms,omitempty"`
	// Runs, Tokens, Cost and Corrections are of all its runs.
	Runs        int     `json:"runs"`
	Tokens      int     `json:"tokens"`
	Cost        float64 `json:"cost"`
	JSON        Level   `json:"json,omitempty"`
	Corrections int     `json:"corrections"`
	Artifacts   int     `json:"artifacts"`

	run string
	// isOpen says that its run has not come to its end, idle is how long nobody worked on
	// it until now.
	isOpen bool
	idle   time.Duration
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
	var results []Result
	for i := range events {
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
		results = append(results[:at], r) // what came after it is of an earlier pass
	}
	return results
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
	s.measure()
	return s.Summary
}

// summarizing is a summary in the making.
type summarizing struct {
	Summary
	root string    // the run of the delivery
	last time.Time // of the event before
	// tokens and cost are of runs before that one.
	tokens int
	cost   float64
}

// restart begins anew with another run of the same delivery: what was spent counts on.
func (s *summarizing) restart(root string, e *troupe.Event) {
	tokens, cost := s.tokens, s.cost
	for _, p := range s.Phases {
		tokens, cost = tokens+p.Tokens, cost+p.Cost
	}
	*s = summarizing{root: root, last: s.last, tokens: tokens, cost: cost, Summary: Summary{Session: e.Session, State: "running", Started: e.Time}}
}

func (s *summarizing) note(e *troupe.Event) {
	s.pause(e)
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
	case *troupe.ModelReplied:
		if p != nil {
			p.Tokens += b.Usage.Total()
			p.Cost += b.Cost
		}
	case *troupe.ModelFailed:
		if p != nil {
			p.Tokens += b.Usage.Total()
			p.Cost += b.Cost
		}
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
			s.Duration = b.Spent.Elapsed
		}
	case *troupe.RunCancelled:
		if e.Run == s.root {
			s.State = "cancelled"
		}
	}
}

// pause notes how long nothing was done until somebody answered, or had the delivery
// go on.
func (s *summarizing) pause(e *troupe.Event) {
	gap := max(e.Time.Sub(s.last), 0)
	s.last = e.Time
	_, answers := e.Body.(*troupe.UserSaid)
	if _, resumes := e.Body.(*troupe.RunResumed); !answers && !resumes {
		return
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if !p.isOpen {
			continue
		}
		p.idle += gap
		if answers {
			p.Waited += troupe.Millis(gap)
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
		s.Phases = append(s.Phases, PhaseSummary{Name: e.Agent})
		p = &s.Phases[len(s.Phases)-1]
	}
	p.run, p.Status, p.Started, p.JSON = e.Run, "running", e.Time, ""
	p.isOpen, p.idle, p.Waited = true, 0, 0
	p.Runs++
}

func (s *summarizing) finished(e *troupe.Event, p *PhaseSummary, end *troupe.RunFinished) {
	switch {
	case e.Run == s.root:
		s.State, s.Duration = "completed", end.Spent.Elapsed
		if end.Stop == "input_requested" {
			s.State, s.Question = "waiting", end.Output.Summary
		}
	case p != nil && p.run == e.Run:
		p.Status, _ = end.Output.Custom["status"].(string)
		form, _ := end.Output.Custom["json"].(string)
		p.JSON, p.Duration = Level(form), troupe.Millis(max(e.Time.Sub(p.Started)-p.idle, 0))
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
	s.Tokens, s.Cost = s.tokens, s.cost
	for _, p := range s.Phases {
		s.Tokens, s.Cost = s.Tokens+p.Tokens, s.Cost+p.Cost
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
