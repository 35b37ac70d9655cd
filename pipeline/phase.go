package pipeline

import (
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
	Phase  string        `json:"phase"`
	Status troupe.Status `json:"status"`
	// JSON is how the agent's answer became JSON: of several answers, the worst.
	JSON        Level           `json:"json,omitempty"`
	Corrections int             `json:"corrections,omitempty"`
	Outputs     json.RawMessage `json:"outputs,omitempty"`
	Artifacts   []Saved         `json:"artifacts,omitempty"`
	NextPhase   NextPhase       `json:"next_phase"`
	// Errors are what the agent reported, and what the contract misses that the
	// phase cannot do without. Warnings stopped nothing.
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Proposals are files that the agent tried to write itself.
	Proposals []Proposal `json:"proposals,omitempty"`
	// Steps is what became of each step of the plan, of the implementation.
	Steps []StepRecord `json:"steps,omitempty"`
}

// opens reports whether the gate to the next phase is open.
func (r *Result) opens() bool {
	return r.Status != troupe.StatusFailed && r.NextPhase.Ready && len(r.NextPhase.Blockers) == 0
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

func (s *phaseStep) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	w := &work{
		delivery: s.delivery, phase: s.phase, run: run, at: placeOf(run.Now(), in.Task),
		in: inputContext{Request: requestOf(in.Task)}, Result: Result{Phase: s.phase.Name},
	}
	w.in.Guidance, _ = in.Custom["guidance"].(string)
	if err := redecode(in.Outputs["phases"], &w.earlier); err != nil {
		return troupe.Handoff{}, fmt.Errorf("phase %s: earlier phases: %w", s.phase.Name, err)
	}
	w.in.Earlier = earlierOf(w.earlier)
	act := w.think
	if s.phase.Name == phaseImplementation {
		act = w.build
	}
	if err := act(ctx); err != nil {
		return troupe.Handoff{}, err
	}
	return w.handoff(in), nil
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
}

// think is a phase that asks its agent once.
func (w *work) think(ctx context.Context) (err error) {
	switch w.phase.Name {
	case phaseDiscovery:
		w.in.Files, err = w.projectFiles(ctx)
	case phaseQA:
		w.in.Files, err = w.implementedFiles(ctx)
	}
	if err != nil {
		return err
	}
	out, err := w.ask(ctx)
	if err != nil {
		return err
	}
	w.Status, w.Outputs, w.NextPhase = out.Status, out.Outputs, out.NextPhase
	return w.save(ctx, out.Artifacts)
}

// ask asks the agent and returns what its answer was understood as. If it cannot be
// read as JSON with all that is critical, the agent is asked once to correct it. An
// answer that still lacks something critical has the status failed.
func (w *work) ask(ctx context.Context) (Output, error) {
	prompt, err := w.phase.prompt(w.in, w.at)
	if err != nil {
		return Output{}, err
	}
	text, parsed, err := w.askOnce(ctx, prompt)
	if err != nil {
		return Output{}, err
	}
	if parsed.Correction != "" {
		w.Corrections++
		if err := w.warn(ctx, codeCorrection, parsed.Correction); err != nil {
			return Output{}, err
		}
		_, again, err := w.askOnce(ctx, fmt.Sprintf(correctionText, parsed.Correction, clipped(text), w.phase.Contract.Schema()))
		if err != nil {
			return Output{}, err
		}
		if again.Level != LevelMarkdown && again.Level != LevelRaw {
			again.Level, again.isCut = LevelCorrected, parsed.isCut // what was tried is looked for in the first answer
			parsed = again
		}
	}
	err = w.judge(ctx, text, &parsed)
	return parsed.Output, err
}

// codeCorrection is the code of the warning that an agent was asked to correct itself.
const codeCorrection = "json_correction"

// correctionText asks for a correction: what is wrong, the answer, the schema.
const correctionText = `%s

YOUR LAST ANSWER:
%s

REQUIRED OUTPUT SCHEMA:
%s

TASK:
Correct your last answer so that it fits the schema.

Return ONLY the JSON object.`

// maxQuoted is how much of an answer is shown to the agent again, in bytes.
const maxQuoted = 256 << 10

func clipped(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "\n[cut here]"
}

// askOnce asks the agent and parses its answer.
func (w *work) askOnce(ctx context.Context, prompt string) (string, Parsed, error) {
	out, err := w.run.Do(ctx, w.phase.Agent, troupe.Handoff{Task: prompt})
	if err != nil {
		return "", Parsed{}, err
	}
	if out.Meta.Stop == "length" || out.Meta.Stop == "content_filter" { // not whole, whatever it looks like
		return out.Summary, w.phase.Contract.parseCut(out.Summary), nil
	}
	parsed, err := w.phase.Contract.Parse(out.Summary)
	if err != nil {
		// Several answers are none; what is left is the raw text.
		err = w.warn(ctx, "json_ambiguous", err.Error())
	}
	if isLimit(out.Meta.Stop) {
		// Nothing more is to be spent without a person's consent.
		parsed.Correction = ""
		parsed.Output.NextPhase.Blockers = append(parsed.Output.NextPhase.Blockers, TextItem("the run's limit is reached: "+string(out.Meta.Stop)))
	}
	return out.Summary, parsed, err
}

// isLimit reports whether an agent stopped because a budget of the whole run is used up.
func isLimit(stop troupe.Stop) bool {
	return slices.Contains([]troupe.Stop{"turns", "tool_calls", "tokens", "cost", "time"}, stop)
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
			code, parsed.Output.Status = "contract_failed", troupe.StatusFailed
		}
		if err := w.warn(ctx, code, problem.String()); err != nil {
			return err
		}
	}
	for _, item := range parsed.Output.Errors {
		w.Errors = append(w.Errors, item.String())
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
	if w.Status == troupe.StatusSuccess && slices.ContainsFunc(w.Artifacts, func(s Saved) bool { return s.State == StateFailed }) {
		w.Status = troupe.StatusPartial
	}
	custom := map[string]any{"phase": w.Phase, "status": string(w.Status), "json": string(w.JSON)}
	if w.Steps != nil {
		custom["ledger"] = w.Steps
	}
	return troupe.Handoff{
		Task: in.Task, Summary: w.summary(), Outputs: map[string]any{"result": w.Result}, Custom: custom,
		Meta: troupe.HandoffMeta{Status: w.Status},
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
