package pipeline

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/checks"
)

// mostShown is how much of a change of dependencies is shown; what is more is counted.
const mostShown = 1 << 20

// dependencyQuestion asks whether the setup may run again. It shows the whole change:
// whoever agrees has seen what is fetched.
func (b *builder) dependencyQuestion(change *dependencyChange) string {
	scripts := "no install scripts are run where the tool can be told so"
	if b.delivery.Repository.SetupScripts {
		scripts = "install scripts are run (pipeline.setup_scripts)"
	}
	diff, left := forGit.ReplaceAllString(change.Diff, ""), ""
	if more := len(diff) - mostShown; more > 0 {
		diff, left = clipText(diff, mostShown), fmt.Sprintf("%d more bytes are not shown: read the files before you agree.\n\n", more)
	}
	return fmt.Sprintf("%s changes what the project depends on: %s.\n\n%s\n\n%sThe setup (%s) has the network. It would run again on the base's files and these alone; %s.\n"+
		"Answer \"go on\" to run it again, \"no\" to go on with what is installed, \"stop\", or say what should be different.",
		stepName(b.step.ID, b.step.Title), strings.Join(change.Paths, ", "), fenced("diff", diff), left, strings.Join(b.delivery.Repository.Setup, "; "), scripts)
}

// settleDependencies has the setup run again where the change wants other dependencies and
// that is allowed. Feedback is what the agent is told, where the round ends with that.
func (b *builder) settleDependencies(ctx context.Context) (feedback string, why *setback, err error) {
	r := b.delivery.Repository
	if len(r.Setup) == 0 {
		return "", nil, nil
	}
	change, err := call[dependencyChange](ctx, b.run, b.delivery.tools.dependencies, b.now)
	if err != nil || len(change.Paths) == 0 || r.SetupAgain == SetupNever || change.Setup != "" && change.Setup == b.now.Declined {
		return "", nil, err
	}
	if r.SetupAgain == SetupAsk {
		verdict, err := call[gateResult](ctx, b.run, b.delivery.gate, gateRequest{Phase: "step " + b.step.ID, Title: b.step.Title, Kind: gateDependencies, Ready: true, Rounds: maxRounds, Question: b.dependencyQuestion(&change)})
		if err != nil {
			return "", nil, err
		}
		switch verdict.Decision {
		case decisionStop:
			return "", &setback{agent: stoppedByPerson, person: stoppedByPerson, cause: causeStopped, final: true}, nil
		case decisionWithout:
			b.now.Declined = change.Setup
			return "", nil, nil
		case decisionAgain:
			return b.failedSetup("A person has seen what you want the project to depend on, and says: "+verdict.Guidance, &checks.Outcome{Name: "dependencies", Excerpt: verdict.Guidance})
		}
	}
	return b.setUpAgain(ctx)
}

func (b *builder) setUpAgain(ctx context.Context) (feedback string, why *setback, err error) {
	for {
		done, err := call[setupAgainResult](ctx, b.run, b.delivery.tools.setupAgain, setupRequest{state: b.now, Command: strings.Join(b.delivery.Repository.Setup, "; "), At: b.run.Now()})
		if err != nil {
			return "", nil, err
		}
		b.now = done.state
		if err := b.noteByHand(ctx); err != nil {
			return "", nil, err
		}
		if done.OK {
			if len(done.Locks) > 0 {
				err = b.warn(ctx, "lock_written", "brought up to date by the setup, as part of the change: "+strings.Join(done.Locks, ", "))
			}
			return "", nil, err
		}
		if done.Cause != checks.CauseEnvironment {
			return b.failedSetup("Your change was applied, and what it wants the project to depend on could not be set up.\n\n"+done.Feedback(func(string) string { return "" }), &done.Outcome)
		}
		verdict, err := call[gateResult](ctx, b.run, b.delivery.gate, gateRequest{Phase: "step " + b.step.ID, Title: b.step.Title, Kind: gateEnvironment, Question: cannotRun(&done.Outcome, "with the dependencies of "+stepName(b.step.ID, b.step.Title))})
		if err != nil {
			return "", nil, err
		}
		if verdict.Decision != decisionGoOn {
			why = byBoth(causeEnvironment, "the setup could not run: "+done.Remedy)
			why.final = true
			return "", why, nil
		}
	}
}

// failedSetup ends a round before its checks.
func (b *builder) failedSetup(feedback string, o *checks.Outcome) (string, *setback, error) {
	b.last, b.lastFeedback = o, feedback
	feedback, _, why, err := b.failed(feedback, checkFailed(o))
	return feedback, why, err
}

// notInstalled tells a builder why a dependency is not there.
func (b *builder) notInstalled(o *checks.Outcome) string {
	if o.Cause != checks.CauseEnvironment || !strings.Contains(o.Remedy, notHere) {
		return ""
	}
	why := "no command fetches dependencies here (pipeline.setup)"
	if len(b.delivery.Repository.Setup) > 0 {
		why = "the setup was not run again for it"
	}
	return "\nA dependency is not installed, and " + why + ". Do without it.\n"
}

// setupNote says that checks ran with other dependencies than the change wants.
func (c *course) setupNote(ctx context.Context) (string, error) {
	if len(c.verified) == 0 || c.now.Head == c.site.Base {
		return "", nil
	}
	change, err := call[dependencyChange](ctx, c.run, c.tools.dependencies, c.now)
	if err != nil {
		return "", err
	}
	why := "a person did not want it"
	switch {
	case len(change.Programs) > 0:
		change.Paths, why = change.Programs, "that is a program of its own, and none that an agent wrote is run with the network"
	case len(c.Repository.Setup) == 0:
		// The tool chain of Go compares what it finds with the sums on file.
		change.Paths = slices.DeleteFunc(change.Paths, func(name string) bool { return strings.HasPrefix(path.Base(name), "go.") })
		why = "no command is set that fetches dependencies"
	case c.Repository.SetupAgain == SetupNever:
		why = "it is set to be run once only"
	}
	if len(change.Paths) == 0 {
		return "", nil
	}
	return fmt.Sprintf("the setup was not run again although %s changed, because %s: the checks ran with the dependencies that were there before", strings.Join(change.Paths, ", "), why), nil
}
