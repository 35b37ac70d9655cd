package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// maxRounds is how often a phase is run again with guidance.
const maxRounds = 3

// delivery takes a request through the phases. Its effects are nested runs and tool
// calls, all on record: a delivery that was killed goes on where it was, and an
// artifact that was on its way is processed again with the same key.
type delivery struct {
	Config
	write, upload, gather, plan, gate, knowledge troupe.Tool
	// tools are those that work on the repository, where there is one.
	tools siteTools
}

func (d *delivery) Name() string { return d.Config.Name }

// Definition lists the phases in order.
func (d *delivery) Definition() *troupe.Definition {
	definition := &troupe.Definition{Kind: "delivery", Name: d.Config.Name}
	for _, phase := range d.Config.Phases {
		definition.Steps = append(definition.Steps, &troupe.Definition{Kind: "phase", Name: phase.Name})
	}
	return definition
}

// Do runs the phases. Custom["phases"], where it is set, are results of phases that
// were run before, as [Results] returns them, for a delivery that begins later.
func (d *delivery) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (out troupe.Handoff, err error) {
	defer passQuestion(&out, &err)
	if d.Repository != nil {
		return d.deliver(ctx, run, in)
	}
	var before []Result
	if err := redecode(in.Custom["phases"], &before); err != nil {
		return troupe.Handoff{}, fmt.Errorf("earlier phases: %w", err)
	}
	var done []Result
	for i := range d.Phases {
		next := ""
		if i+1 < len(d.Phases) {
			next = d.Phases[i+1].Name
		}
		result, decision, err := d.passPhase(ctx, run, in, i, append(before[:len(before):len(before)], done...), next, nil)
		if err != nil {
			return troupe.Handoff{}, err
		}
		if done = append(done, result); decision == decisionStop && result.Status == "failed" {
			return troupe.Handoff{}, fmt.Errorf("phase %s failed: %s", result.Phase, strings.Join(result.Errors, "; "))
		} else if decision == decisionStop {
			return d.outcome(in, done, "stopped by a person after "+lowerTitle(result.Phase)+"; what was written until then is kept"), nil
		}
	}
	return d.outcome(in, done, ""), nil
}

// passPhase runs a phase until its gate lets the delivery pass, or stops it. What a
// person says at the gate is guidance for the phase, which is run once more. Where that
// comes to no plan, they may keep the one that is there: of the phase's run before, which
// is then the result, or plan, which is then left as it is.
func (d *delivery) passPhase(ctx context.Context, run *troupe.Run, in troupe.Handoff, i int, earlier []Result, next string, plan *Plan) (result Result, decision string, err error) {
	step := &phaseStep{d, &d.Phases[i]}
	for i := range earlier {
		earlier[i].Artifacts = withoutDiffs(earlier[i].Artifacts)
	}
	h := troupe.Handoff{Task: in.Task, Outputs: map[string]any{"phases": earlier}, Custom: in.Custom}
	if d.Repository == nil {
		h.Custom = nil
	}
	var before *Result // the latest of these runs that came to something
	kept := plan.size()
	for round := 0; ; round++ {
		out, err := runBelow(ctx, run, step, h)
		if err != nil {
			return result, "", err
		}
		result = Result{}
		if err := redecode(out.Outputs["result"], &result); err != nil {
			return result, "", fmt.Errorf("phase %s: result: %w", step.Name(), err)
		}
		isAsked := d.Approve == ApproveManual && !(step.Name() == phasePlanning && d.Repository != nil && next != "") // the plan is asked about as such
		request := gateRequest{Next: next, Lacking: d.lacking(&result, in.Custom["extras"]), Rounds: maxRounds - round}
		isAsked = isAsked || plan != nil && request.Lacking != ""
		if !isAsked && (result.opens() || next == "" && result.Status != "failed") {
			return result, decisionGoOn, nil
		}
		if request.Lacking != "" {
			request.Kept = kept
		} else if plan == nil {
			was := result
			before, kept = &was, was.planned()
		}
		verdict, err := d.askAtGate(ctx, run, &result, request)
		if err == nil && verdict.Decision == decisionKeep && before != nil {
			result = *before
		}
		if err != nil || verdict.Decision != decisionAgain {
			return result, verdict.Decision, err
		}
		h.Custom = maps.Clone(h.Custom)
		if h.Custom == nil {
			h.Custom = map[string]any{}
		}
		h.Custom["guidance"] = verdict.Guidance
	}
}

// lacking says why nothing can come after a result, whatever a person says: a plan without
// steps, where there is none in a document that was given.
func (d *delivery) lacking(r *Result, given any) string {
	var more extras
	isPlan := r.Phase == phasePlanning && slices.ContainsFunc(d.Phases, func(p Phase) bool { return p.Name == phaseImplementation })
	if !isPlan || redecode(given, &more) != nil || len(more.Given) > 0 || slices.ContainsFunc(r.Artifacts, func(a Saved) bool { return a.Steps > 0 }) {
		return ""
	}
	if _, err := planOf(r.Outputs, ""); err != nil {
		return "there is no plan to carry out"
	}
	return ""
}

// planned is how many steps the plan has that planning came to, 0 where that is none.
func (r *Result) planned() int {
	if r.Phase != phasePlanning {
		return 0
	}
	if plan, err := planOf(r.Outputs, ""); err == nil {
		return plan.size()
	}
	most := 0
	for _, a := range r.Artifacts {
		most = max(most, a.Steps)
	}
	return most
}

// askAtGate has the gate ask a person about what a phase came to.
func (d *delivery) askAtGate(ctx context.Context, run *troupe.Run, r *Result, g gateRequest) (verdict gateResult, err error) {
	g.Phase, g.Status, g.Ready, g.Errors, g.Artifacts, g.Said = r.Phase, string(r.Status), r.NextPhase.Ready, r.Errors, r.Artifacts, r.said()
	g.Warnings, g.Subject = toldOf(r.Warnings), r.subject()
	g.Blockers, g.Requirements = texts(r.NextPhase.Blockers), texts(r.NextPhase.Requirements)
	answer, err := run.Call(ctx, d.gate, g)
	if err != nil {
		return verdict, err
	}
	if err := json.Unmarshal([]byte(answer.Content), &verdict); err != nil {
		return verdict, fmt.Errorf("gate after %s: %w", r.Phase, err)
	}
	return verdict, nil
}

func texts(items []Item) []string {
	var list []string
	for _, item := range items {
		list = append(list, item.String())
	}
	return list
}

func withoutDiffs(artifacts []Saved) []Saved {
	var list []Saved
	for _, a := range artifacts {
		a.Diff = ""
		list = append(list, a)
	}
	return list
}

// outcome is what the delivery hands back: success only if every phase was one, and
// the last one left nothing that blocks what comes next.
func (d *delivery) outcome(in troupe.Handoff, done []Result, stopped string) troupe.Handoff {
	status := "success"
	var lines []string
	for i, r := range done {
		if r.Status != "success" || i == len(done)-1 && len(r.NextPhase.Blockers) > 0 {
			status = "partial"
		}
		line := fmt.Sprintf("%s: %s", r.Phase, r.Status)
		if n := len(r.Artifacts); n > 0 {
			line += ", " + counted(n, "artifact", "artifacts")
		}
		if n := len(r.Proposals); n > 0 {
			line += ", " + counted(n, "proposal", "proposals")
		}
		lines = append(lines, line)
	}
	if stopped != "" {
		status = "partial"
		lines = append(lines, stopped)
	}
	return troupe.Handoff{
		Task: in.Task, Summary: strings.Join(lines, "\n"), Custom: in.Custom,
		Outputs: map[string]any{"phases": done},
		Meta:    troupe.HandoffMeta{Status: status},
	}
}
