package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
)

// checkAll formats what was changed and runs the checks, cheap ones first. The first
// that fails ends the round.
func (b *builder) checkAll(ctx context.Context, notes string) (feedback string, done bool, why string, err error) {
	if feedback, why, err := b.settleDependencies(ctx); err != nil || feedback+why != "" {
		return feedback, false, why, err
	}
	if len(b.delivery.Repository.Format) > 0 {
		formatted, err := call[state](ctx, b.run, b.delivery.tools.format, formatRequest{state: b.now, Since: b.start.Tree, At: b.run.Now()})
		if err != nil {
			reason, err := isToolFailure(err)
			if err != nil {
				return "", false, "", err
			}
			return b.failed("The formatter failed, so that nothing was checked:\n"+reason, nil)
		}
		b.now = formatted
	}
	change, err := call[diffResult](ctx, b.run, b.delivery.tools.stat, diffRequest{From: b.start.Tree, To: b.now.Tree})
	if err != nil {
		return "", false, "", err
	}
	if err := b.delivery.findChecks(ctx, b.run, &b.site, b.now); err != nil {
		return "", false, "", err
	}
	var changed []string
	for _, f := range change.Files {
		changed = append(changed, f.Path)
	}
	var spent time.Duration
	for _, check := range b.checksToRun(changed) {
		r, stopped, err := b.runCheck(ctx, check, spent)
		if err != nil || stopped != "" {
			return "", false, stopped, err
		}
		spent += r.Took
		if problem := verdictOn(r.Outcome, before(b.baseline, check.Name)); problem != "" {
			if r.OK { // then nothing else tells why the round counts as failed
				if err := b.warn(ctx, "tests_missing", problem); err != nil {
					return "", false, "", err
				}
			}
			b.last = &r.Outcome
			b.lastFeedback = notes + problem + "\n" + b.notInstalled(&r.Outcome) + "\n" + r.Feedback
			return b.failed(b.lastFeedback, &r.Outcome)
		}
	}
	return "", true, "", nil
}

// checksToRun are those that the step names, or all, where changed files lie.
func (b *builder) checksToRun(changed []string) (list []checks.Check) {
	named := slices.ContainsFunc(b.site.Checks, func(c checks.Check) bool { return slices.Contains(b.step.Checks, c.Name) })
	for _, c := range b.site.Checks {
		if named && !slices.Contains(b.step.Checks, c.Name) && !strings.HasPrefix(c.Name, "build") {
			continue
		}
		if c.Concerns(changed, edit.MatchPath) {
			list = append(list, c)
		}
	}
	return list
}

// runCheck runs a check. One that cannot run is a question, never the builder's fault.
func (b *builder) runCheck(ctx context.Context, check checks.Check, spent time.Duration) (r checkResult, stopped string, err error) {
	for {
		r, err = call[checkResult](ctx, b.run, b.delivery.tools.check, checkRequest{state: b.now, Check: check.Name, At: b.run.Now(), Spent: spent, Retry: retriesInStep, Before: slimBefore(b.baseline, check.Name), Label: fmt.Sprintf("step %s round %d", b.step.ID, b.rounds+1)})
		if err != nil {
			return r, "", err
		}
		b.now = r.state
		if err := b.noteByHand(ctx); err != nil {
			return r, "", err
		}
		if len(r.Flaky) > 0 {
			if err := b.warn(ctx, codeFlaky, flakyNote(&r.Outcome)); err != nil {
				return r, "", err
			}
		}
		if r.Cause != checks.CauseEnvironment || b.isOurs(&r.Outcome) {
			return r, "", nil
		}
		verdict, err := call[gateResult](ctx, b.run, b.delivery.gate, gateRequest{Phase: "step " + b.step.ID, Kind: gateEnvironment, Question: cannotRun(&r.Outcome, fmt.Sprintf("in round %d of step %s", b.rounds+1, b.step.ID))})
		if err != nil {
			return r, "", err
		}
		if verdict.Decision != decisionGoOn {
			return r, gaveUp + "the check " + check.Name + " could not run: " + r.Remedy, nil
		}
	}
}

// isOurs tells what looks like the environment's fault and came with the change: a
// dependency that was not there before, or a check that ran within its limits before.
func (b *builder) isOurs(o *checks.Outcome) bool {
	was := before(b.baseline, o.Name)
	if was == nil { // all that there is in a new repository came with the change
		return b.site.New && strings.Contains(o.Remedy, notHere)
	}
	if !was.OK {
		return false
	}
	return slices.ContainsFunc([]string{notHere, "longer than it may", "more processes", "wrote more", "more memory"}, func(part string) bool { return strings.Contains(o.Remedy, part) })
}

// notHere is in the remedy of a check that lacks a dependency.
const notHere = "depends on is not here"

// before is what a check said of the base, nil if it said nothing.
func before(baseline []checks.Outcome, name string) *checks.Outcome {
	for i := range baseline {
		if baseline[i].Name == name {
			return &baseline[i]
		}
	}
	return nil
}

// slimBefore is what a check said of the base, with as much as a comparison needs.
func slimBefore(baseline []checks.Outcome, name string) *checks.Outcome {
	was := before(baseline, name)
	if was == nil {
		return nil
	}
	return &checks.Outcome{Name: name, OK: was.OK, Exit: was.Exit, Failing: was.Failing, Flaky: was.Flaky, Tests: was.Tests}
}

// codeFlaky is the code of the warning that a test is not to be relied on.
const codeFlaky = "check_flaky"

// flakyNote says which tests are not to be relied on.
func flakyNote(o *checks.Outcome) string {
	return fmt.Sprintf("%s: failed and passed when it was run again, unchanged: %s", o.Name, strings.Join(o.Flaky, ", "))
}

// verdictOn says what is wrong with an outcome: what failed before may fail now, and no
// test may be lost.
func verdictOn(o checks.Outcome, was *checks.Outcome) string {
	if !o.OK {
		if was == nil || was.OK && len(was.Flaky) == 0 {
			return "Your change was applied, and a check fails."
		}
		if fresh := checks.Newly(o, *was); len(fresh) > 0 {
			return "Your change was applied, and what passed before fails now: " + strings.Join(fresh, ", ") + "."
		}
	}
	if was != nil && o.Tests >= 0 && o.Tests < was.Tests {
		return fmt.Sprintf("Only %d tests ran in %q, and %d did before: tests may not be removed or skipped. Bring them back.", o.Tests, o.Name, was.Tests)
	}
	return ""
}

// failed counts a round that failed, and says what the agent is told.
func (b *builder) failed(feedback string, o *checks.Outcome) (string, bool, string, error) {
	b.rounds++
	mark, output := "the formatter failed", feedback
	if o != nil {
		mark, output = o.Mark(), o.Excerpt
		if b.lastSignature == o.Signature() && o.Errors() >= b.lastErrors {
			b.same++
		} else {
			b.same = 0
		}
		b.lastSignature, b.lastErrors = o.Signature(), o.Errors()
	}
	switch {
	case b.rounds >= b.delivery.Repository.Rounds:
		return "", false, gaveUp + fmt.Sprintf("after %s: %s\n%s", counted(b.rounds, "round", "rounds"), mark, clipText(output, 1500)), nil
	case b.same >= 1:
		return "", false, fmt.Sprintf("it was stuck at %s\n%s", mark, clipText(output, 1500)), nil
	}
	return feedback, false, "", nil
}
