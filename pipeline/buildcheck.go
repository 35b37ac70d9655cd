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
func (b *builder) checkAll(ctx context.Context, notes string) (feedback string, done bool, why *setback, err error) {
	if feedback, why, err := b.settleDependencies(ctx); err != nil || feedback != "" || why != nil {
		return feedback, false, why, err
	}
	if len(b.delivery.Repository.Format) > 0 {
		formatted, err := call[state](ctx, b.run, b.delivery.tools.format, formatRequest{state: b.now, Since: b.start.Tree, At: b.run.Now()})
		if err != nil {
			reason, err := isToolFailure(err)
			if err != nil {
				return "", false, nil, err
			}
			return b.failed("The formatter failed, so that nothing was checked:\n"+reason, formatterFailed(reason))
		}
		b.now = formatted
	}
	change, err := call[diffResult](ctx, b.run, b.delivery.tools.stat, diffRequest{From: b.start.Tree, To: b.now.Tree})
	if err != nil {
		return "", false, nil, err
	}
	if err := b.delivery.findChecks(ctx, b.run, &b.site, b.now); err != nil {
		return "", false, nil, err
	}
	var changed []string
	for _, f := range change.Files {
		if changed = append(changed, f.Path); f.From != "" {
			changed = append(changed, f.From)
		}
	}
	var spent time.Duration
	b.passed = nil
	for _, check := range b.checksToRun(changed) {
		r, stopped, err := b.runCheck(ctx, check, spent)
		if err != nil || stopped != nil {
			return "", false, stopped, err
		}
		spent += r.Took
		if problem := verdictOn(r.Outcome, before(b.baseline, check.Name)); problem != nil {
			if r.OK { // then nothing else tells why the round counts as failed
				if err := b.warn(ctx, "tests_missing", problem.person); err != nil {
					return "", false, nil, err
				}
			}
			b.last = &r.Outcome
			b.lastFeedback = notes + problem.agent + "\n" + b.notInstalled(&r.Outcome) + "\n" + r.Feedback
			return b.failed(b.lastFeedback, checkFailed(&r.Outcome))
		}
		b.passed = append(b.passed, r.Outcome)
	}
	return "", true, nil, nil
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
func (b *builder) runCheck(ctx context.Context, check checks.Check, spent time.Duration) (r checkResult, stopped *setback, err error) {
	for {
		r, err = call[checkResult](ctx, b.run, b.delivery.tools.check, checkRequest{state: b.now, Check: check.Name, At: b.run.Now(), Spent: spent, Retry: retriesInStep, Before: slimBefore(b.baseline, check.Name), Label: fmt.Sprintf("step %s round %d", b.step.ID, b.rounds+1)})
		if err != nil {
			return r, nil, err
		}
		b.now = r.state
		if err := b.noteByHand(ctx); err != nil {
			return r, nil, err
		}
		if len(r.Flaky) > 0 {
			if err := b.warn(ctx, codeFlaky, flakyNote(&r.Outcome)); err != nil {
				return r, nil, err
			}
		}
		if r.Cause != checks.CauseEnvironment || b.isOurs(&r.Outcome) {
			return r, nil, nil
		}
		verdict, err := call[gateResult](ctx, b.run, b.delivery.gate, gateRequest{Phase: "step " + b.step.ID, Title: b.step.Title, Kind: gateEnvironment, Question: cannotRun(&r.Outcome, fmt.Sprintf("in round %d of %s", b.rounds+1, stepName(b.step.ID, b.step.Title)))})
		if err != nil {
			return r, nil, err
		}
		if verdict.Decision != decisionGoOn {
			stopped = byBoth(causeEnvironment, "the check "+check.Name+" could not run: "+r.Remedy)
			stopped.final = true
			return r, stopped, nil
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

// verdictOn says what is wrong with an outcome, nil where nothing is: what failed before
// may fail now, and no test may be lost.
func verdictOn(o checks.Outcome, was *checks.Outcome) *setback {
	if !o.OK {
		if was == nil || was.OK && len(was.Flaky) == 0 {
			return &setback{agent: "Your change was applied, and a check fails.", person: "a check fails"}
		}
		if fresh := checks.Newly(o, *was); len(fresh) > 0 {
			list := strings.Join(fresh, ", ")
			return &setback{agent: "Your change was applied, and what passed before fails now: " + list + ".", person: "what passed before fails now: " + list}
		}
	}
	if was != nil && o.Tests >= 0 && o.Tests < was.Tests {
		return &setback{
			agent:  fmt.Sprintf("Only %d tests ran in %q, and %d did before: tests may not be removed or skipped. Bring them back.", o.Tests, o.Name, was.Tests),
			person: fmt.Sprintf("only %d tests ran in %q, and %d did before: tests may not be removed or skipped", o.Tests, o.Name, was.Tests),
		}
	}
	return nil
}

// A failure is what a round failed at: as models and as people are told. Outcome is nil where it
// was no check.
type failure struct {
	mark, person, output string
	outcome              *checks.Outcome
}

func checkFailed(o *checks.Outcome) failure { return failure{o.Mark(), o.ForPeople(), o.Excerpt, o} }

func formatterFailed(output string) failure {
	return failure{"the formatter failed", "the formatter", output, nil}
}

// failed counts a round that failed, and says what the agent is told.
func (b *builder) failed(feedback string, f failure) (string, bool, *setback, error) {
	b.rounds++
	if o := f.outcome; o != nil {
		if b.lastSignature == o.Signature() && o.Errors() >= b.lastErrors {
			b.same++
		} else {
			b.same = 0
		}
		b.lastSignature, b.lastErrors = o.Signature(), o.Errors()
	}
	output := clipText(f.output, 1500)
	switch {
	case b.rounds >= b.delivery.Repository.Rounds:
		rounds := counted(b.rounds, "round", "rounds")
		return "", false, &setback{agent: fmt.Sprintf("after %s: %s\n%s", rounds, f.mark, output), person: fmt.Sprintf("%s still failed after %s", f.person, rounds), detail: output, cause: causeChecks, final: true}, nil
	case b.same >= 1:
		return "", false, &setback{agent: fmt.Sprintf("it was stuck at %s\n%s", f.mark, output), person: "the builder did not get past " + f.person, detail: output, cause: causeChecks}, nil
	}
	return feedback, false, nil, nil
}
