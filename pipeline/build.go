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
	// Reason is why it failed or was skipped, in words for people.
	Reason string `json:"reason,omitempty"`
	// Cause is the same in a word: edits, unreadable, too_long, no_answer, unchanged, checks,
	// blocked, environment or stopped. Detail is what a program printed about it.
	Cause  string `json:"cause,omitempty"`
	Detail string `json:"detail,omitempty"`
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
	result, err := w.run.Call(ctx, w.delivery.plan, planRequest{Feature: w.at.feature, Step: n, Plan: plan, Edited: w.Plan != nil})
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

// conclude makes the phase's outputs of the ledger.
func (w *work) conclude() error {
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
	w.NextPhase = NextPhase{Ready: len(outputs.StepsCompleted) > 0}
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
