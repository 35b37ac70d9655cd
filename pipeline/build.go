package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// maxSteps is how many steps of a plan are carried out.
const maxSteps = 200

// A StepRecord is what became of one step of the plan: an entry of the ledger.
type StepRecord struct {
	Step int `json:"step"`
	// ID is that of the plan, in a repository, where Commit is what the step became and
	// Rounds how often it was checked.
	ID     string   `json:"id,omitempty"`
	Commit string   `json:"commit,omitempty"`
	Rounds int      `json:"rounds,omitempty"`
	Title  string   `json:"title,omitempty"`
	State  string   `json:"state"`
	Files  []string `json:"files,omitempty"`
	// Reason is why it failed or was skipped.
	Reason string `json:"reason,omitempty"`
}

// build carries out the plan: for each step it looks up that step alone and asks
// the builder once. A step that fails is on record and the others go on, unless it
// says that something blocks them. A model that cannot be asked fails the phase,
// which is then resumed at that step.
func (w *work) build(ctx context.Context) error {
	plan, total := w.planned()
	last := total
	if total == 0 || total > maxSteps {
		last = maxSteps
	}
	var blockers Items
	for n := 1; n <= last; n++ {
		if len(blockers) > 0 {
			if total > 0 {
				w.Steps = append(w.Steps, StepRecord{Step: n, State: StepSkipped, Reason: fmt.Sprintf("step %d is blocked", w.blockedAt())})
			}
			continue
		}
		step, err := w.lookUp(ctx, plan, n)
		if err != nil {
			return err
		}
		if total == 0 && !step.Found {
			break
		}
		if blockers, err = w.buildStep(ctx, step); err != nil {
			return err
		}
	}
	if total > last {
		blockers = append(blockers, TextItem(fmt.Sprintf("the plan has %d steps, and at most %d are carried out", total, maxSteps)))
	}
	return w.conclude(blockers)
}

// planned returns the path of the plan and how many steps it has: as many as its
// headings count, else as many as planning says, else 0 for not known.
func (w *work) planned() (path string, steps int) {
	for _, r := range w.earlier {
		if r.Phase != phasePlanning {
			continue
		}
		var planning Planning
		// Forgiving, as what agents write is read: no number is none.
		_ = json.Unmarshal(r.Outputs, &planning)
		steps, _ = strconv.Atoi(planning.TotalSteps.String())
		for _, a := range r.Artifacts {
			if path == "" || a.Steps > 0 {
				path = a.Path
			}
			if a.Steps > 0 {
				return path, a.Steps
			}
		}
	}
	return path, max(steps, 0)
}

// lookUp finds one step of the plan. One that cannot be found is an empty passage.
func (w *work) lookUp(ctx context.Context, plan string, n int) (planStep, error) {
	step := planStep{Step: n}
	result, err := w.run.Call(ctx, w.delivery.plan, planRequest{Feature: w.at.feature, Step: n, Plan: plan})
	if err != nil {
		why, err := isToolFailure(err)
		if err != nil {
			return step, err
		}
		return step, w.warn(ctx, "plan_failed", fmt.Sprintf("step %d: %s", n, why))
	}
	if err := json.Unmarshal([]byte(result.Content), &step); err != nil {
		return step, fmt.Errorf("%s: %w", toolPlan, err)
	}
	return step, nil
}

// buildStep has the builder carry out one step, and returns what blocks the rest.
func (w *work) buildStep(ctx context.Context, step planStep) (blockers Items, err error) {
	record := StepRecord{Step: step.Step, Title: titleOf(step.Passage), State: StepFailed}
	defer func() { w.Steps = append(w.Steps, record) }()
	if step.Passage == "" {
		record.Reason = "the plan has no such step"
		return nil, nil
	}
	w.in.Step, w.in.Made = &step, w.made()
	errorsBefore := len(w.Errors)
	out, err := w.ask(ctx)
	if err != nil {
		return nil, err
	}
	before := len(w.Artifacts)
	if err := w.save(ctx, out.Artifacts); err != nil {
		return nil, err
	}
	for _, a := range w.Artifacts[before:] {
		if a.SHA256 != "" {
			record.Files = append(record.Files, a.Path)
		}
	}
	switch {
	case out.Status != "failed" && len(out.NextPhase.Blockers) == 0 && (out.NextPhase.Ready || record.Files != nil):
		record.State = StepDone
	case len(w.Errors) > errorsBefore:
		record.Reason = w.Errors[errorsBefore]
	case len(out.NextPhase.Blockers) > 0:
		record.Reason = out.NextPhase.Blockers[0].String()
	default:
		record.Reason = "the builder says that it is not done"
	}
	return out.NextPhase.Blockers, nil
}

// made lists the files that were written so far, each once.
func (w *work) made() []string {
	var list []string
	for _, s := range w.Steps {
		for _, f := range s.Files {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// blockedAt returns the step that was tried last.
func (w *work) blockedAt() int {
	for _, s := range slices.Backward(w.Steps) {
		if s.State != StepSkipped {
			return s.Step
		}
	}
	return 0
}

// conclude makes the phase's outputs of the ledger.
func (w *work) conclude(blockers Items) error {
	var outputs struct {
		Implementation
		Steps []StepRecord `json:"steps"`
	}
	outputs.Steps = w.Steps
	for _, s := range w.Steps {
		item := TextItem(fmt.Sprintf("Step %d: %s", s.Step, s.Title))
		if s.State == StepDone {
			outputs.StepsCompleted = append(outputs.StepsCompleted, item)
		} else {
			outputs.StepsRemaining = append(outputs.StepsRemaining, item)
		}
	}
	for _, f := range w.made() {
		outputs.FilesChanged = append(outputs.FilesChanged, TextItem(f))
	}
	data, err := json.Marshal(outputs)
	if err != nil {
		return fmt.Errorf("phase %s: outputs: %w", w.phase.Name, err)
	}
	w.Outputs = data
	w.NextPhase = NextPhase{Ready: len(outputs.StepsCompleted) > 0 && len(blockers) == 0, Blockers: blockers}
	switch {
	case len(outputs.StepsCompleted) == 0:
		w.Status = "failed"
		if len(w.Steps) == 0 {
			w.Errors = append(w.Errors, "there is no plan to carry out")
		}
	case len(outputs.StepsRemaining) > 0:
		w.Status = "partial"
	default:
		w.Status = "success"
	}
	return nil
}
