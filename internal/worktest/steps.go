package worktest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/pipeline"
)

// Step makes the step of a kind of work.
func (p Place) Step(kind string) (troupe.Step, error) {
	switch kind {
	case Chore:
		return troupe.NewStep(Chore, p.doChore), nil
	case Question:
		return troupe.NewStep(Question, p.askSomebody), nil
	case Delivery:
		return pipeline.New(pipeline.Config{Name: Delivery, Model: rehearsal.New(), Knowledge: p, Repository: &pipeline.Repository{
			Dir: p.repository(), Data: filepath.Join(string(p), "data"), Worktrees: filepath.Join(string(p), "worktrees"), Cache: filepath.Join(string(p), "cache"),
			Unchecked: true, Sandbox: pipeline.Sandbox{Level: "off"}, Version: "test",
		}})
	}
	return nil, fmt.Errorf("no such work: %s", kind)
}

func (p Place) makeEntries(ctx context.Context, run *troupe.Run, branch int) error {
	enter := p.enter()
	for round := range rounds {
		_, err := run.Call(ctx, enter, entry{branch, round})
		// Nobody knows what became of a call that was interrupted: it is not made again.
		if failure, ok := errors.AsType[*troupe.ToolError](err); err != nil && (!ok || failure.Class != "interrupted") {
			return err
		}
	}
	return nil
}

func (p Place) doChore(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
	var all []func(context.Context, *troupe.Run) error
	for branch := range branches {
		all = append(all, func(ctx context.Context, run *troupe.Run) error { return p.makeEntries(ctx, run, branch) })
	}
	return troupe.Handoff{Summary: "done"}, errors.Join(run.All(ctx, branches, all...)...)
}

func (p Place) askSomebody(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
	if err := p.makeEntries(ctx, run, 0); err != nil {
		return troupe.Handoff{}, err
	}
	ask := troupe.NewToolWithCall("ask", "Asks.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		if len(call.Answers) == 0 {
			return "", &troupe.InputNeeded{Question: "Go on?", CallAgain: true}
		}
		return "answered " + call.Answers[0].Text, nil
	}, troupe.RepeatSafe())
	if _, err := run.Call(ctx, ask, struct{}{}); err != nil {
		return troupe.Handoff{}, err
	}
	return troupe.Handoff{Summary: "done"}, p.makeEntries(ctx, run, 1)
}
