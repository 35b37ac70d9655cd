package troupe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
)

// answer makes what the user says the answer to a question of the session's latest
// run, which then goes on. An agent that the user talks to gets answers as it gets
// any message, in a run of their own, unless a call waits for them.
func (x *execution) answer(past *past, question string, said *UserSaid) error {
	asked := past.question(question)
	if asked == nil && question != "" {
		return notAsked(x.feed.session, question)
	}
	answer := answerTo(asked, said)
	if answer == nil {
		return nil
	}
	if err := x.goOver(past); err != nil {
		return err
	}
	x.noteAnswer(answer)
	return nil
}

// noteAnswer has the pass that is about to begin find an answer.
func (x *execution) noteAnswer(answer *Event) {
	addTo(x.run.log, answer)
	x.run.noted = append(x.run.noted, *answer)
}

// notAsked says that a question does not wait for an answer.
func notAsked(session, question string) error {
	return fmt.Errorf("session %s: question %q: %w", session, question, ErrNoQuestion)
}

// answerTo returns what the user says as an answer to a question: nil where there is none, or it
// is a message like any other.
func answerTo(question *Event, said *UserSaid) *Event {
	if question == nil {
		return nil
	}
	answer := *question
	answer.Seq, answer.Time, answer.Body = 0, time.Now().Round(0).UTC(), said
	if at := journal.Path(question.Step); at.IsBranch() {
		said.CallID = question.Body.(*InputRequested).CallID
	} else if question.Parent == "" {
		return nil
	} else {
		answer.Step = string(at.Next())
	}
	return &answer
}

// beginAgain prepares another pass over a session's latest run.
func (e *Engine) beginAgain(ctx context.Context, step Step, id string) (*execution, error) {
	if isNil(step) {
		return nil, errors.New("resume: there is no step to run")
	}
	x, err := e.enlist(ctx, step, id)
	if err != nil {
		return nil, err
	}
	made := false
	defer x.comeToNothingUnless(&made)
	if err := x.recall(ctx); err != nil {
		return nil, err
	}
	x.isReady(&Input{})
	made = true
	return x, nil
}

// recall reads the log of the session's latest run.
func (x *execution) recall(ctx context.Context) error {
	x.session.talks = nil
	past, err := x.session.load(ctx, true)
	if err != nil {
		return err
	}
	return x.resume(past)
}

// resume makes the execution another pass over the log of a run that has not finished.
func (x *execution) resume(past *past) error {
	start := past.start
	switch {
	case start != nil && past.finished && past.waits:
		return fmt.Errorf("session %s: its run waits for an answer, by Engine.Answer or Input.Answer: %w", x.feed.session, ErrNothingToResume)
	case start == nil || past.finished:
		return fmt.Errorf("session %s: %w", x.feed.session, ErrNothingToResume)
	case past.open() && past.deaths() >= maxDeaths:
		return x.giveUp(past)
	case start.Agent != x.step.Name():
		return fmt.Errorf("session %s: its run is of %s, not of %s: %w", x.feed.session, start.Agent, x.step.Name(), ErrChanged)
	}
	began := start.Body.(*RunStarted)
	changed := changedOutput(x.step, began.Output)
	if err := x.goOver(past); err != nil {
		return err
	}
	x.run.noted = append(x.run.noted, x.event(&RunResumed{Trace: x.started.Trace}))
	if changed = orElse(changed, x.changedAgents(began.Definition, x.chain.step.Definition())); changed != "" {
		x.run.noted = append(x.run.noted, x.event(&Warned{Code: "definition_changed", Message: changed}))
	}
	return nil
}

// goOver makes the execution another pass over a log. It fails, before anything is
// done, if what is to be run is arranged in another way than what was begun.
func (x *execution) goOver(past *past) error {
	started := past.start.Body.(*RunStarted)
	if change := x.step.Definition().changeFrom(started.Definition); change != "" {
		return fmt.Errorf("session %s: %s since the run began: %w; put it back to go on, or fork the session from before the run", x.feed.session, change, ErrChanged)
	}
	if err := x.keepOutput(started.Output); err != nil {
		return fmt.Errorf("session %s: %w", x.feed.session, err)
	}
	x.started, x.rules = started, started.Limits.with(x.engine.limits)
	x.budget.before = past.elapsed
	x.passes = past.passes + 1
	x.edits = editsIn(past.events)
	x.session.talks, x.before = past.before, past.outputs
	x.begin(past.start.Run, past.start.Agent)
	x.run.log, x.run.stops = newJournal(past.events), stopsIn(past.events)
	return nil
}

// changedAgents says which agents are told or may use something else than when the
// run began. It goes on with what it began with.
func (x *execution) changedAgents(was, is *Definition) string {
	if was == nil {
		return ""
	}
	var changed []string
	if is.Kind == kindAgent {
		for _, name := range slices.Sorted(maps.Keys(was.Settings)) {
			if was.Settings[name] != is.Settings[name] {
				changed = append(changed, fmt.Sprintf("the %s of agent %s have changed since the run began", name, is.Name))
			}
		}
	}
	for i := range min(len(was.Steps), len(is.Steps)) {
		if more := x.changedAgents(was.Steps[i], is.Steps[i]); more != "" {
			changed = append(changed, more)
		}
	}
	return strings.Join(changed, "; ")
}

// maxDeaths is how many processes may end at the same place of a run, one after the
// other, before it is given up.
const maxDeaths = 5

// giveUp ends a run that takes down every process that goes on with it.
func (x *execution) giveUp(past *past) error {
	err := fmt.Errorf("given up: %d processes in a row ended in the middle of this run, %s; resume it once more if the cause is gone",
		past.deaths(), clip(past.place, 200))
	failed := Event{
		Time: time.Now().Round(0).UTC(), Session: x.feed.session, Run: past.start.Run,
		Step: string(journal.Start), Agent: past.start.Agent, Body: &RunFailed{Error: err.Error(), Task: shorten(past.start.Body.(*RunStarted).Input.Task, 200)},
	}
	x.session.talks = nil
	if err := x.feed.publish([]Event{failed}); err != nil {
		return err
	}
	return &RunError{Agent: past.start.Agent, Run: past.start.Run, Task: failed.Body.(*RunFailed).Task, Err: err}
}
