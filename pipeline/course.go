package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/git"
)

// A course is one delivery into a repository, from the worktree to the report. What
// agents say on the way are claims; what the tools measured are facts, and only facts
// make it succeed.
type course struct {
	*delivery
	run  *troupe.Run
	in   troupe.Handoff
	at   place
	site prepared
	now  state
	// earlier are phases that were run before this run, done those of this one.
	earlier, done []Result
	// thought is how many phases were run, or passed over, so far.
	thought  int
	baseline []checks.Outcome
	verified []checks.Outcome
	review   *review
	stopped  string
	// extras is what a caller gives along: see Custom in [Config.Repository].
	extras extras
}

// extras are what a delivery into a repository is given with its request, in Custom.
type extras struct {
	// Continue goes on with the session's delivery, which came to its end.
	Continue bool `json:"continue,omitempty"`
	// Guidance is what a person said about how to go on.
	Guidance string `json:"guidance,omitempty"`
	// Given are documents that the phases get besides those of earlier phases.
	Given []document `json:"given,omitempty"`
	// Of is a delivery whose documents and plan are taken over.
	Of string `json:"of,omitempty"`
}

// call has a tool of the delivery called, and decodes what it says.
func call[Out any](ctx context.Context, run *troupe.Run, tool troupe.Tool, in any) (out Out, err error) {
	result, err := run.Call(ctx, tool, in)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(result.Content), &out); err != nil {
		return out, fmt.Errorf("%s: %w", tool.Spec().Name, err)
	}
	return out, nil
}

// deliver is the course of a delivery.
func (d *delivery) deliver(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	c := &course{delivery: d, run: run, in: in, at: placeOf(run.Now(), in.Task)}
	if err := redecode(in.Custom["phases"], &c.earlier); err != nil {
		return troupe.Handoff{}, fmt.Errorf("earlier phases: %w", err)
	}
	if err := redecode(in.Custom["extras"], &c.extras); err != nil {
		return troupe.Handoff{}, fmt.Errorf("extras: %w", err)
	}
	for _, act := range []func(context.Context) error{c.prepare, c.setup, c.thinkAndMeasure, c.think, c.build} {
		if err := act(ctx); err != nil {
			return troupe.Handoff{}, err
		}
		if c.stopped != "" {
			break
		}
	}
	return c.report(ctx)
}

func (c *course) prepare(ctx context.Context) (err error) {
	c.site, err = call[prepared](ctx, c.run, c.tools.prepare, prepareRequest{
		Request: c.in.Task, Feature: c.at.feature, At: c.run.Now(), Continue: c.extras.Continue, Of: c.extras.Of,
	})
	if err != nil {
		return err
	}
	c.now = c.site.state
	if c.site.Sandbox == "none" && len(c.site.Checks) > 0 {
		return c.askOrStop(ctx, fmt.Sprintf("The checks (%s) run code that a model has just written, and they cannot be kept apart here: %s.\n"+
			"Set pipeline.sandbox to off to run them as they are, or give it a command, such as a container engine's. Then answer \"go on\", or \"stop\".",
			checks.Describe(c.site.Checks), c.site.Why))
	}
	return nil
}

// askOrStop asks a person, who may say go on.
func (c *course) askOrStop(ctx context.Context, question string) error {
	verdict, err := call[gateResult](ctx, c.run, c.gate, gateRequest{Phase: "delivery", Kind: gateEnvironment, Question: question})
	if err == nil && verdict.Decision != decisionGoOn {
		c.stopped = stoppedByPerson
	}
	return err
}

// stoppedByPerson is why a delivery ends that somebody has ended.
const stoppedByPerson = "stopped by a person"

func (c *course) setup(ctx context.Context) error {
	for _, command := range c.Repository.Setup {
		if c.extras.Continue {
			return nil
		}
		outcome, err := call[checks.Outcome](ctx, c.run, c.tools.setup, setupRequest{state: c.now, Command: command, At: c.run.Now()})
		if err != nil {
			return err
		}
		if !outcome.OK {
			return fmt.Errorf("setup %q failed with exit code %d: %s", command, outcome.Exit, clipText(outcome.Excerpt+outcome.Remedy, 1000))
		}
	}
	return nil
}

func (c *course) has(phase string) bool {
	return slices.ContainsFunc(c.Phases, func(p Phase) bool { return p.Name == phase })
}

// isReviewed says whether changes are reviewed at all.
func (c *course) isReviewed() bool { return c.has(phaseQA) && c.Repository.QARounds > 0 }

// think runs the phases up to the implementation.
func (c *course) think(ctx context.Context) error { return c.thinkUntil(ctx, phaseImplementation) }

// thinkUntil runs the phases that are left before one.
func (c *course) thinkUntil(ctx context.Context, end string) error {
	for ; c.thought < len(c.Phases); c.thought++ {
		i, p := c.thought, &c.Phases[c.thought]
		if p.Name == end || p.Name == phaseImplementation || p.Name == phaseQA && c.has(phaseImplementation) {
			return nil
		}
		if c.extras.Continue && slices.ContainsFunc(c.earlier, func(r Result) bool { return r.Phase == p.Name && r.Status != "failed" }) && p.Name != c.From {
			continue
		}
		next := ""
		if i+1 < len(c.Phases) {
			next = c.Phases[i+1].Name
		}
		result, decision, err := c.passPhase(ctx, c.run, c.handed(), i, c.results(), next, nil)
		if err != nil {
			return err
		}
		c.done = append(c.done, result)
		if decision == decisionStop {
			c.stopped = "stopped by a person after " + lowerTitle(result.Phase)
			if result.Status == "failed" {
				c.stopped = fmt.Sprintf("%s failed: %s", lowerTitle(result.Phase), strings.Join(result.Errors, "; "))
			}
			return nil
		}
		if p.Name == phaseDiscovery {
			if err := c.considerChecks(ctx, &result); err != nil {
				return err
			}
		}
	}
	return nil
}

// handed is what the phases get: the request, and where the delivery works.
func (c *course) handed() troupe.Handoff {
	h := c.in
	h.Custom = map[string]any{"site": c.site, "now": c.now, "extras": c.extras}
	return h
}

// results are those of all phases, the latest of each.
func (c *course) results() []Result {
	var list []Result
	for _, r := range slices.Concat(c.earlier, c.done) {
		list = slices.DeleteFunc(list, func(old Result) bool { return old.Phase == r.Phase })
		list = append(list, r)
	}
	return list
}

// result returns what a phase came to, nil if it was not run.
func (c *course) result(phase string) *Result {
	for _, r := range slices.Backward(c.results()) {
		if r.Phase == phase {
			return &r
		}
	}
	return nil
}

// build carries out the plan, verifies what is committed and has it reviewed, until
// nothing is left to put right.
func (c *course) build(ctx context.Context) error {
	if !c.has(phaseImplementation) {
		return nil
	}
	if err := c.settlePlan(ctx); err != nil || c.stopped != "" {
		return err
	}
	if err := c.planWish(ctx); err != nil {
		return err
	}
	if err := c.keepDocuments(ctx); err != nil {
		return err
	}
	if err := c.implement(ctx); err != nil || c.stopped != "" {
		return err
	}
	if c.isReviewed() {
		if err := c.reviewed(ctx); err != nil {
			return err
		}
	}
	if c.stopped == "" && (c.Approve == ApproveDiff || c.Approve == ApproveManual) {
		return c.passDiff(ctx)
	}
	return nil
}

// phase runs one phase without a gate.
func (c *course) phase(ctx context.Context, name string, more map[string]any) (Result, error) {
	i := slices.IndexFunc(c.Phases, func(p Phase) bool { return p.Name == name })
	h := c.handed()
	for key, value := range more {
		h.Custom[key] = value
	}
	h.Outputs = map[string]any{"phases": c.results()}
	out, err := runBelow(ctx, c.run, &phaseStep{c.delivery, &c.Phases[i]}, h)
	var r Result
	if err == nil {
		err = redecode(out.Outputs["result"], &r)
	}
	if err != nil {
		return r, err
	}
	c.done = append(c.done, r)
	if r.Site != nil {
		c.now = *r.Site
	}
	return r, nil
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func statLine(files []git.Stat) string {
	added, removed := 0, 0
	for _, f := range files {
		added, removed = added+f.Added, removed+f.Removed
	}
	return fmt.Sprintf("%s +%d −%d", counted(len(files), "file", "files"), added, removed)
}
