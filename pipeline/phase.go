package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A Result is what a phase came to. The phase's run hands it back under
// Outputs["result"].
type Result struct {
	Phase  string `json:"phase"`
	Status Status `json:"status"`
	// JSON is how the agent's answer became JSON: of several answers, the worst.
	JSON        Level           `json:"json,omitempty"`
	Corrections int             `json:"corrections,omitempty"`
	Outputs     json.RawMessage `json:"outputs,omitempty"`
	Artifacts   []Saved         `json:"artifacts,omitempty"`
	NextPhase   NextPhase       `json:"next_phase"`
	// Errors are what the agent reported, and what is missing that the phase cannot do
	// without, in words for people. Warnings stopped nothing; those of a contract name
	// the fields.
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Proposals are files that the agent tried to write itself.
	Proposals []Proposal `json:"proposals,omitempty"`
	// Steps is what became of each step of the plan, of the implementation.
	Steps []StepRecord `json:"steps,omitempty"`
	// Site is what the worktree holds after it, Sensitive are changes to tests and to
	// what defines the checks, and Review is what QA came to, in a repository.
	Site      *state   `json:"site,omitempty"`
	Sensitive []string `json:"sensitive,omitempty"`
	Review    *review  `json:"review,omitempty"`
	// Stopped says that a person ended it after a step.
	Stopped bool `json:"stopped,omitempty"`
	// Plan is what was carried out, of an implementation, where a person has changed the
	// plan that planning had come to.
	Plan *Plan `json:"plan,omitempty"`
}

// opens reports whether the gate to the next phase is open.
func (r *Result) opens() bool {
	return r.Status != "failed" && r.NextPhase.Ready && len(r.NextPhase.Blockers) == 0
}

// said is what the agent answered instead of what was asked for, in short; nothing where
// that is data.
func (r *Result) said() string {
	var kept struct {
		Text string `json:"text"`
	}
	if r.JSON == LevelRaw {
		_ = redecode(r.Outputs, &kept) // what is of another form is shown elsewhere
	}
	if isData(kept.Text) {
		return ""
	}
	return clipText(strings.TrimSpace(kept.Text), 1500)
}

// phaseStep is a phase as a step: it asks the agent, checks the answer and
// processes the artifacts.
type phaseStep struct {
	delivery *delivery
	phase    *Phase
}

func (s *phaseStep) Name() string { return s.phase.Name }

func (s *phaseStep) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "phase", Name: s.phase.Name}
}

func (s *phaseStep) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (out troupe.Handoff, err error) {
	defer passQuestion(&out, &err)
	if s.Name() != phaseImplementation { // whose steps see to that
		if err := room(run, "phase "+s.Name()); err != nil {
			return troupe.Handoff{}, err
		}
	}
	w, err := s.begin(run, in)
	if err != nil {
		return troupe.Handoff{}, err
	}
	act := w.think
	switch {
	case s.phase.Name == phaseImplementation:
		act = func(ctx context.Context) error { return w.construct(ctx, s, in) }
	case s.phase.Name == phaseQA && s.delivery.Repository != nil && in.Custom["round"] != nil:
		act = func(ctx context.Context) error { return w.inspect(ctx, in) }
	}
	if err := act(ctx); err != nil {
		return troupe.Handoff{}, err
	}
	return w.handoff(in), nil
}

// room fails where a limit leaves no room for a phase or a step of the plan: nothing more is to be
// spent without a person's consent.
func room(run *troupe.Run, what string) error {
	if err := run.Room(); err != nil {
		return fmt.Errorf("%s is not begun: %w; 'troupe deliveries resume' goes on, with as much again or what --budget says", what, err)
	}
	return nil
}

// begin reads what a phase is handed.
func (s *phaseStep) begin(run *troupe.Run, in troupe.Handoff) (*work, error) {
	w := &work{
		delivery: s.delivery, phase: s.phase, run: run, at: placeOf(run.Now(), in.Task),
		in: inputContext{Request: requestOf(in.Task)}, Result: Result{Phase: s.phase.Name},
	}
	w.in.Guidance, _ = in.Custom["guidance"].(string)
	var more extras
	for _, part := range []struct{ from, into any }{
		{in.Outputs["phases"], &w.earlier}, {in.Custom["site"], &w.site}, {in.Custom["now"], &w.now}, {in.Custom["extras"], &more},
	} {
		if err := redecode(part.from, part.into); err != nil {
			return nil, fmt.Errorf("phase %s: what it is handed: %w", s.phase.Name, err)
		}
	}
	for i := range w.earlier {
		if changed := w.earlier[i].Plan; changed != nil {
			w.earlier = withPlan(w.earlier, changed)
		}
	}
	w.given = more.Given
	if w.in.Guidance == "" {
		w.in.Guidance = more.Guidance
	}
	w.in.Earlier = earlierOf(w.earlier)
	return w, nil
}

// redecode turns what was handed over into a type of ours: it is that type where
// the step before was just run, and plain JSON where it is read from the log.
func redecode(value, into any) error {
	if value == nil {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// work is one run of a phase.
type work struct {
	delivery *delivery
	phase    *Phase
	run      *troupe.Run
	at       place
	earlier  []Result
	in       inputContext
	Result

	// site and now are where a delivery into a repository works; given are documents
	// that came with the request.
	site  prepared
	now   state
	given []document
	// stopped says that a person ended the phase.
	stopped bool
	// demand says what else is missing in an answer, for a correction; nil where nothing is.
	demand func(*Parsed) *setback
}

// think is a phase that asks its agent once.
func (w *work) think(ctx context.Context) (err error) {
	if err := w.inform(ctx); err != nil {
		return err
	}
	out, err := w.ask(ctx)
	if err != nil {
		return err
	}
	w.Status, w.Outputs, w.NextPhase = out.Status, out.Outputs, out.NextPhase
	if w.phase.Name == phaseDiscovery && w.delivery.Repository != nil {
		if err := w.checkFiles(ctx); err != nil {
			return err
		}
	}
	if w.phase.Name == phasePlanning && len(out.Artifacts) == 0 {
		if plan, err := planOf(out.Outputs, ""); err == nil {
			out.Artifacts = []Artifact{{Name: "implementation-plan.md", Content: plan.Markdown(), Type: ArtifactKnowledge}}
		}
	}
	return w.save(ctx, out.Artifacts)
}

// inform gathers what the agent gets to know besides the request.
func (w *work) inform(ctx context.Context) (err error) {
	if w.phase.Name == phaseDiscovery {
		if err := w.consult(ctx); err != nil {
			return err
		}
	}
	if w.delivery.Repository != nil {
		return w.informOfRepository(ctx)
	}
	if w.phase.Name == phaseDiscovery {
		w.in.Files, err = w.projectFiles(ctx)
	}
	return err
}

// ask asks the agent and returns what its answer was understood as. If it cannot be
// read as JSON with all that is critical, the agent is asked once to correct it, in the
// same conversation. An answer that still lacks something critical has the status failed.
func (w *work) ask(ctx context.Context) (Output, error) {
	opening, err := w.phase.prompt(w.in, w.at)
	if err != nil {
		return Output{}, err
	}
	talk := conversation{opening: opening}
	first, err := w.converse(ctx, &talk)
	if err != nil {
		return Output{}, err
	}
	text, parsed := first.text, first.parsed
	for tries := 0; tries < w.corrections(); tries++ {
		correction := w.correction(&parsed)
		if correction == nil {
			break
		}
		w.Corrections++
		if err := w.warn(ctx, codeCorrection, correction.person); err != nil {
			return Output{}, err
		}
		if err := room(w.run, "a correction of phase "+w.phase.Name); err != nil {
			return Output{}, err
		}
		talk.add(text, correction.agent)
		again, err := w.converse(ctx, &talk)
		if err != nil {
			return Output{}, err
		}
		if again.parsed.Level != LevelMarkdown && again.parsed.Level != LevelRaw {
			text, parsed = again.text, again.parsed
			parsed.Level = LevelCorrected
		} else if w.correction(&again.parsed) != nil && tries+1 < w.corrections() {
			text = again.text
		}
	}
	if w.demand != nil && parsed.Level != LevelRaw && parsed.Output.Status != "failed" {
		if missing := w.demand(&parsed); missing != nil {
			parsed.Output.Status = "failed"
			parsed.Output.Errors = append(parsed.Output.Errors, TextItem(missing.person))
		}
	}
	err = w.judge(ctx, text, &parsed)
	return parsed.Output, err
}

// corrections is how often an agent may correct itself: once more where there is a
// repository, whose steps ask for more than a document does.
func (w *work) corrections() int {
	if w.delivery.Repository != nil {
		return 2
	}
	return 1
}

// correction is what the agent is to put right, nil where nothing is.
func (w *work) correction(p *Parsed) *setback {
	if p.Correction != "" {
		return &setback{agent: p.Correction, person: p.forPeople()}
	}
	if w.demand != nil && p.Level != LevelRaw && p.Output.Status != "failed" && len(p.Output.NextPhase.Blockers) == 0 {
		return w.demand(p)
	}
	return nil
}

// codeCorrection is the code of the warning that an agent was asked to correct itself,
// codeUnused that of one that an answer was of no use and is asked for again.
const (
	codeCorrection = "json_correction"
	codeUnused     = "answer_unused"
)

// maxQuoted is how much of an answer is shown to the agent again, in bytes.
const maxQuoted = 256 << 10

func clipped(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "\n[cut here]"
}

// isLimit reports whether an agent stopped because a budget of the whole run is used up.
func isLimit(stop string) bool {
	return slices.Contains([]string{"turns", "tokens", "cost", "time"}, stop)
}

// judge records how an answer was understood and what is wrong with it.
func (w *work) judge(ctx context.Context, text string, parsed *Parsed) error {
	w.JSON = worse(w.JSON, parsed.Level)
	if parsed.Level != LevelStrict {
		if err := w.warn(ctx, "json_"+string(parsed.Level), strings.Join(parsed.Notes, "; ")); err != nil {
			return err
		}
	}
	for _, problem := range parsed.Problems {
		code := "contract"
		if parsed.Level == LevelRaw && problem.Critical && problem.Pointer != "" {
			// There is an answer, and it lacks what the phase is for.
			code, parsed.Output.Status = "contract_failed", "failed"
		}
		if err := w.warn(ctx, code, problem.String()); err != nil {
			return err
		}
	}
	if parsed.Level == LevelRaw {
		// Its errors are by the fields of the JSON, as the warnings are: people are told the rest.
		w.Errors = append(w.Errors, "the answer could not be used: "+cmp.Or(parsed.plain, notAsAsked))
	} else {
		for _, item := range parsed.Output.Errors {
			w.Errors = append(w.Errors, item.String())
		}
	}
	return w.compensate(ctx, text, parsed)
}

// worse returns the level that is further from what was asked for.
func worse(a, b Level) Level {
	order := []Level{"", LevelStrict, LevelExtracted, LevelRepaired, LevelCorrected, LevelMarkdown, LevelRaw}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// warn records something that stops nothing.
func (w *work) warn(ctx context.Context, code, message string) error {
	w.Warnings = append(w.Warnings, code+": "+message)
	return w.run.Warn(ctx, code, message)
}

// handoff is what the phase hands back.
func (w *work) handoff(in troupe.Handoff) troupe.Handoff {
	if w.Status == "success" && slices.ContainsFunc(w.Artifacts, func(s Saved) bool { return s.State == StateFailed }) {
		w.Status = "partial"
	}
	custom := map[string]any{"phase": w.Phase, "status": string(w.Status), "json": string(w.JSON)}
	if w.Steps != nil {
		custom["ledger"] = w.Steps
	}
	return troupe.Handoff{
		Task: in.Task, Summary: w.summary(), Outputs: map[string]any{"result": w.Result}, Custom: custom,
		Meta: troupe.HandoffMeta{Status: string(w.Status)},
	}
}

// summary says in a few lines what the phase came to.
func (w *work) summary() string {
	lines := []string{fmt.Sprintf("%s: %s", w.Phase, w.Status)}
	for _, a := range w.Artifacts {
		lines = append(lines, fmt.Sprintf("- %s %s", a.State, a.Path))
	}
	for _, e := range w.Errors {
		lines = append(lines, "- error: "+e)
	}
	return strings.Join(lines, "\n")
}

// isToolFailure returns why a tool failed, and passes on what is our own failure.
func isToolFailure(err error) (string, error) {
	if failure, ok := errors.AsType[*troupe.ToolError](err); ok {
		return failure.Message, nil
	}
	return "", err
}
