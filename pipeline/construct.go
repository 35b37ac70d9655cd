package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// construct carries out what of the plan is left, step by step, each as a run and, if
// it succeeds, a commit of its own. The plan is read anew before every step: a person
// may have changed it.
func (w *work) construct(ctx context.Context, s *phaseStep, in troupe.Handoff) error {
	if err := w.inform(ctx); err != nil {
		return err
	}
	for range maxSteps * 2 {
		read, err := call[planRead](ctx, w.run, w.delivery.tools.readPlan, struct{}{})
		if err == nil {
			err = w.follow(ctx, &read)
		}
		if err != nil {
			return err
		}
		plan := read.Plan
		step := plan.next()
		if step == nil || w.stopped || w.mustStop() {
			return w.concludeSteps(ctx, &plan)
		}
		record, measured, err := w.constructStep(ctx, s, in, plan, *step)
		if err != nil {
			return err
		}
		w.Steps = append(w.Steps, record)
		update := *step
		update.Status, update.Commit, update.Rounds, update.Reason = record.State, record.Commit, record.Rounds, record.Reason
		if record.State == StepDone {
			update.Files = record.Files
		}
		if plan, err = call[Plan](ctx, w.run, w.delivery.tools.writePlan, planUpdate{Step: &update}); err != nil {
			return err
		}
		if w.stopped, err = w.passStep(ctx, &plan, record, measured); err != nil {
			return err
		}
	}
	return fmt.Errorf("phase %s: the plan does not come to its end", w.phase.Name)
}

// mustStop reports whether a step has failed that ends the work.
func (w *work) mustStop() bool {
	return !w.delivery.Repository.KeepGoing && slices.ContainsFunc(w.Steps, func(r StepRecord) bool { return r.State == StepFailed })
}

// stepFacts are what was measured of a step, and what was warned of.
type stepFacts struct {
	checks, baseline []checks.Outcome
	warnings         []string
}

// constructStep runs one step.
func (w *work) constructStep(ctx context.Context, s *phaseStep, in troupe.Handoff, plan Plan, step PlanStep) (record StepRecord, measured stepFacts, err error) {
	n := slices.IndexFunc(plan.Steps, func(p PlanStep) bool { return p.ID == step.ID }) + 1
	var passage planStep
	if path, _ := w.planned(); path != "" && !step.isAdded() {
		at := slices.IndexFunc(plan.planned(), func(p PlanStep) bool { return p.ID == step.ID }) + 1
		found, err := w.lookUp(ctx, path, at)
		if err != nil {
			return record, measured, err
		}
		if passage = found; !found.Found {
			if err := w.warn(ctx, "plan_step_not_found", fmt.Sprintf("neither the knowledge base nor the plan has a passage for step %d (%s): the builder gets the step's goal alone", n, step.Title)); err != nil {
				return record, measured, err
			}
			passage = planStep{Step: n, Note: "not found"}
		}
	}
	h := troupe.Handoff{Task: in.Task, Outputs: map[string]any{"phases": w.earlier}, Custom: map[string]any{
		"site": w.site, "now": w.now, "extras": in.Custom["extras"], "baseline": in.Custom["baseline"], "step": step, "plan": plan, "passage": passage,
	}}
	out, err := runBelow(ctx, w.run, &stepRun{&phaseStep{w.delivery, w.phase}, step.ID}, h)
	if err != nil {
		return record, measured, err
	}
	var more struct {
		json                        Level
		warnings, errors, sensitive []string
		proposals                   []Proposal
	}
	w.now = state{}
	for key, into := range map[string]any{"record": &record, "now": &w.now, "json": &more.json, "warnings": &more.warnings, "proposals": &more.proposals, "sensitive": &more.sensitive, "errors": &more.errors, "checks": &measured.checks} {
		if err := redecode(out.Outputs[key], into); err != nil {
			return record, measured, fmt.Errorf("step %s: %s: %w", step.ID, key, err)
		}
	}
	if err := redecode(in.Custom["baseline"], &measured.baseline); err != nil {
		return record, measured, fmt.Errorf("step %s: baseline: %w", step.ID, err)
	}
	record.Step, measured.warnings = n, more.warnings
	w.JSON = worse(w.JSON, more.json)
	w.Warnings = append(w.Warnings, more.warnings...)
	w.Proposals = append(w.Proposals, more.proposals...)
	w.Sensitive = append(w.Sensitive, more.sensitive...)
	return record, measured, nil
}

// concludeSteps makes the phase's result of what became of the steps.
func (w *work) concludeSteps(ctx context.Context, plan *Plan) error {
	plan.skipWaiting()
	for i, s := range plan.Steps {
		known := slices.ContainsFunc(w.Steps, func(r StepRecord) bool { return r.ID == s.ID })
		switch {
		case known:
		case s.Status == StepDone:
			w.Steps = append(w.Steps, StepRecord{Step: i + 1, ID: s.ID, Title: s.Title, State: StepDone, Files: s.Files, Commit: s.Commit, Rounds: s.Rounds})
		case s.Status == StepFailed && !w.mustStop() && len(w.Steps) == 0:
			w.Steps = append(w.Steps, StepRecord{Step: i + 1, ID: s.ID, Title: s.Title, State: StepFailed, Reason: s.Reason})
		default:
			w.Steps = append(w.Steps, StepRecord{Step: i + 1, ID: s.ID, Title: s.Title, State: StepSkipped, Reason: s.Reason})
		}
	}
	slices.SortStableFunc(w.Steps, func(a, b StepRecord) int { return a.Step - b.Step })
	at := w.now
	w.Site, w.Stopped = &at, w.stopped
	return w.conclude()
}
