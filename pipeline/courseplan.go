package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
)

// settlePlan makes the plan of what planning came to, and asks about it.
func (c *course) settlePlan(ctx context.Context) error {
	plan, err := call[Plan](ctx, c.run, c.tools.readPlan, struct{}{})
	if err != nil {
		return err
	}
	isNew := slices.ContainsFunc(c.done, func(r Result) bool { return r.Phase == phasePlanning })
	if len(plan.Steps) == 0 || isNew {
		if plan, err = c.makePlan(ctx); err != nil || c.stopped != "" {
			return err
		}
	}
	if c.Approve != ApprovePlan && c.Approve != ApproveManual || c.extras.Continue && !isNew {
		return nil
	}
	return c.passPlan(ctx, plan)
}

// makePlan writes the plan of what planning came to.
func (c *course) makePlan(ctx context.Context) (Plan, error) {
	made, err := c.planFromPhases(ctx)
	if err != nil {
		c.stopped = err.Error()
		return Plan{}, nil
	}
	in := planUpdate{Plan: made}
	if d := planDocument(c.results()); d != nil {
		in.Document = &savedDoc{d.Path, d.SHA256}
	}
	return call[Plan](ctx, c.run, c.tools.writePlan, in)
}

// planFromPhases makes a plan of planning's answer, or of a document that was given.
func (c *course) planFromPhases(ctx context.Context) (*Plan, error) {
	var text string
	var outputs json.RawMessage
	if r := c.result(phasePlanning); r != nil {
		outputs = r.Outputs
		docs, err := c.documents(ctx, c.run, []Result{*r})
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			text += d.Content + "\n"
		}
	}
	plan, err := planOf(outputs, text)
	for _, d := range c.extras.Given {
		if err == nil {
			break
		}
		plan, err = planOf(nil, d.Content)
	}
	if err != nil {
		return nil, fmt.Errorf("there is no plan to carry out: %w", err)
	}
	return plan, nil
}

// documents reads the documents of phases as they are on file.
func (d *delivery) documents(ctx context.Context, run *troupe.Run, results []Result) ([]document, error) {
	var in documentsRequest
	for _, r := range results {
		for _, a := range r.Artifacts {
			if a.SHA256 != "" {
				in.Documents = append(in.Documents, document{Phase: r.Phase, Path: a.Path})
			}
		}
	}
	if in.Documents == nil {
		return nil, nil
	}
	out, err := call[documentsResult](ctx, run, d.tools.documents, in)
	return out.Documents, err
}

func (c *course) keepDocuments(ctx context.Context) error {
	if c.Repository.Documents != "branch" {
		return nil
	}
	var paths []string
	for _, r := range c.results() { // those of a run before this one may not be committed yet
		if r.Phase == phaseImplementation || r.Phase == phaseQA {
			continue
		}
		for _, a := range r.Artifacts {
			paths = append(paths, a.Path)
		}
	}
	if paths == nil {
		return nil
	}
	in := keepDocsRequest{state: c.now, At: c.run.Now(), Feature: c.at.feature, Paths: paths}
	r, err := call[keepDocsResult](ctx, c.run, c.tools.keepDocs, in)
	if err == nil && r.Outdated != nil {
		if _, err := c.amendPlan(ctx, c.run, c.results(), r.Outdated); err != nil {
			return err
		}
		in.AsTheyAre = true
		r, err = call[keepDocsResult](ctx, c.run, c.tools.keepDocs, in)
	}
	if err == nil {
		c.now = r.state
	}
	return err
}
