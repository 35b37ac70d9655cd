package pipeline

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
)

// passPlan asks about the plan. What a person says is guidance: planning is run once
// more with it, or, where planning is no part of this run, the builders get it.
func (c *course) passPlan(ctx context.Context, plan Plan) error {
	planning := slices.IndexFunc(c.Phases, func(p Phase) bool { return p.Name == phasePlanning })
	for round := 0; ; round++ {
		verdict, err := call[gateResult](ctx, c.run, c.gate, gateRequest{
			Phase: phasePlanning, Kind: gatePlan, Next: phaseImplementation, Ready: true, Rounds: maxRounds - round,
			Warnings: c.told(phaseDiscovery, phasePlanning), Question: planQuestion(&plan, c.site.ID, maxRounds-round, c.told(phaseDiscovery, phasePlanning)),
		})
		switch {
		case err != nil || verdict.Decision == decisionGoOn:
			return err
		case verdict.Decision == decisionStop:
			c.stopped = stoppedByPerson
			return nil
		case planning < 0:
			c.extras.Guidance = verdict.Guidance
			return nil
		}
		h := c.handed()
		h.Custom["guidance"] = verdict.Guidance
		result, decision, err := c.passPhase(ctx, c.run, h, planning, c.results(), phaseImplementation, &plan)
		if err != nil || decision == decisionKeep {
			return err
		}
		if c.done = append(c.done, result); decision == decisionStop {
			if c.stopped = stoppedByPerson; len(result.Errors) > 0 {
				c.stopped = "planning could not follow: " + strings.Join(result.Errors, "; ")
			}
			return nil
		}
		if plan, err = c.makePlan(ctx); err != nil || c.stopped != "" {
			return err
		}
	}
}

// told are the warnings of phases that people are told.
func (c *course) told(phases ...string) []string {
	var all []string
	for _, name := range phases {
		if r := c.result(name); r != nil {
			all = append(all, r.Warnings...)
		}
	}
	return toldOf(all)
}

func planQuestion(plan *Plan, id string, rounds int, warnings []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The plan has %s:\n", counted(len(plan.Steps), "step", "steps"))
	for _, s := range plan.Steps {
		fmt.Fprintf(&b, "\n%s. %s\n", s.ID, s.Title)
		if goal := strings.TrimSpace(s.Goal); goal != "" && goal != s.Title {
			fmt.Fprintf(&b, "   %s\n", strings.ReplaceAll(clipText(goal, 400), "\n", "\n   "))
		}
		if len(s.Files) > 0 {
			fmt.Fprintf(&b, "   files: %s\n", strings.Join(s.Files, ", "))
		}
	}
	b.WriteString(awareText(warnings))
	fmt.Fprintf(&b, "\nAnswer \"go on\" to carry it out, \"stop\"%s. 'troupe deliveries plan %s --edit' changes it before you do.", orGuidance(rounds), id)
	return b.String()
}

func orGuidance(rounds int) string {
	if rounds <= 0 {
		return " to end here; anything else ends it, too"
	}
	return " to end here, or say what should be different"
}

// passDiff asks about the whole change. What a person wants changed becomes a step of
// its own, checked and reviewed like the others.
func (c *course) passDiff(ctx context.Context) error {
	for round := 0; ; round++ {
		question, err := c.diffQuestion(ctx, maxRounds-round)
		if err != nil {
			return err
		}
		verdict, err := call[gateResult](ctx, c.run, c.gate, gateRequest{Phase: phaseQA, Kind: gateDiff, Ready: true, Rounds: maxRounds - round, Warnings: c.told(phaseImplementation, phaseQA), Question: question})
		switch {
		case err != nil || verdict.Decision == decisionGoOn:
			return err
		case verdict.Decision == decisionStop:
			c.stopped = stoppedByPerson
			return nil
		}
		plan, err := call[Plan](ctx, c.run, c.tools.readPlan, struct{}{})
		if err != nil {
			return err
		}
		if _, err := call[Plan](ctx, c.run, c.tools.writePlan, planUpdate{Add: []PlanStep{plan.wish(verdict.Guidance, nil)}}); err != nil {
			return err
		}
		if err := c.implement(ctx); err != nil || c.stopped != "" {
			return err
		}
		if c.isReviewed() {
			if err := c.reviewed(ctx); err != nil || c.stopped != "" {
				return err
			}
		}
	}
}

// diffQuestion shows all that a person needs to decide.
func (c *course) diffQuestion(ctx context.Context, rounds int) (string, error) {
	change, err := call[diffResult](ctx, c.run, c.tools.diff, diffRequest{From: c.site.Base, To: c.now.Head})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The change is ready: %s.\n", statLine(change.Files))
	b.WriteString(checksText(c.verified, c.baseline))
	if c.review != nil {
		if said := c.review.forPeople(); said != "" {
			b.WriteString("\nThe review:\n" + said)
		}
	}
	if r := c.result(phaseImplementation); r != nil && len(r.Sensitive) > 0 {
		fmt.Fprintf(&b, "\nTests and checks that it changes:\n- %s\n", strings.Join(r.Sensitive, "\n- "))
	}
	b.WriteString(awareText(c.told(phaseImplementation, phaseQA)))
	fmt.Fprintf(&b, "\n%s\n\nAnswer \"go on\" to deliver it, \"stop\"%s.", shownDiff(change.Diff, 60<<10), orGuidance(rounds))
	return b.String(), nil
}

// planWish makes a step of what a person says about a delivery all of whose steps are done.
// Where steps are left, or phases are run again, it is said to their agents.
func (c *course) planWish(ctx context.Context) error {
	if !c.extras.Continue || c.From != "" {
		return nil
	}
	said := (&gateRequest{Rounds: 1}).decide(troupe.Answer{Text: c.extras.Guidance})
	if c.extras.Guidance == "" || said.Decision != decisionAgain {
		return nil
	}
	plan, err := call[Plan](ctx, c.run, c.tools.readPlan, struct{}{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(plan.Steps, func(s PlanStep) bool { return s.Status != StepDone }) {
		return nil
	}
	_, err = call[Plan](ctx, c.run, c.tools.writePlan, planUpdate{Add: []PlanStep{plan.wish(said.Guidance, nil)}})
	return err
}

// wish makes a step of what a person wants changed.
func (p *Plan) wish(text string, files []string) PlanStep {
	for n := 1; ; n++ {
		id := fmt.Sprintf("wish-%d", n)
		if p.step(id) == nil {
			return PlanStep{ID: id, Title: clipText(titleOf("# "+strings.ReplaceAll(text, ":", " ")), 70), Goal: "The person who asked for this has seen the change so far and says: " + text, Files: files, Status: StepTodo}
		}
	}
}

// passStep asks about a step that was carried out, where every step is asked about.
// What a person wants changed becomes the next step.
func (w *work) passStep(ctx context.Context, plan *Plan, record StepRecord, measured stepFacts) (stopped bool, err error) {
	if w.delivery.Approve != ApproveManual || record.State != StepDone {
		return false, nil
	}
	change, err := call[diffResult](ctx, w.run, w.delivery.tools.diff, diffRequest{From: record.Commit + "^", To: record.Commit})
	if err != nil {
		return false, err
	}
	warnings := toldOf(measured.warnings)
	question := fmt.Sprintf("%s is done: %s.\n%s%s\n%s\n\nAnswer \"go on\", \"stop\"%s.", stepName(record.ID, record.Title), statLine(change.Files), checksText(measured.checks, measured.baseline), awareText(warnings), shownDiff(change.Diff, 30<<10), orGuidance(maxRounds))
	verdict, err := call[gateResult](ctx, w.run, w.delivery.gate, gateRequest{Phase: "step " + record.ID, Title: record.Title, Kind: gateStep, Ready: true, Rounds: maxRounds, Status: "success", Warnings: warnings, Question: question})
	if err != nil || verdict.Decision != decisionAgain {
		return verdict.Decision == decisionStop, err
	}
	_, err = call[Plan](ctx, w.run, w.delivery.tools.writePlan, planUpdate{After: record.ID, Add: []PlanStep{plan.wish(verdict.Guidance, record.Files)}})
	return false, err
}

// stepName is what people call a step of the plan: its title, for ids are for agents.
func stepName(id, title string) string {
	if title == "" {
		return "step " + id
	}
	return "“" + title + "”"
}

// forGit are the lines of a diff that say nothing to people.
var forGit = regexp.MustCompile(`(?m)^(?:diff --git .*|index [0-9a-f]+\.\..*|(?:new|deleted) file mode \d+)\n`)

// shownDiff is a diff as people are shown it, with at most so many bytes.
func shownDiff(diff string, most int) string {
	return fenced("diff", clipText(forGit.ReplaceAllString(diff, ""), most))
}

// fenced is a text as a block of code that nothing in the text ends.
func fenced(kind, text string) string {
	fence := words.Fence(text)
	return fence + kind + "\n" + text + "\n" + fence
}
