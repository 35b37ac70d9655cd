package acp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/project"
)

// A plan is what is to be done and how far it has come: the agents of a flow, or the
// steps of the workflow that an agent has begun.
type plan struct {
	entries []acp.PlanEntry
	agents  []string // of a flow, one for each entry
	steps   []int    // the numbers of a workflow's steps, one for each entry
}

func newPlan(p *project.Project, name string) *plan {
	found := &plan{}
	for _, f := range p.Flows() {
		if f.Name != name {
			continue
		}
		for _, node := range f.Nodes {
			if node.Kind == "agent" {
				found.agents = append(found.agents, node.Agent)
				found.entries = append(found.entries, entry(node.Agent))
			}
		}
	}
	return found
}

func entry(content string) acp.PlanEntry {
	return acp.PlanEntry{Content: content, Priority: acp.PlanEntryPriorityMedium, Status: acp.PlanEntryStatusPending}
}

// note takes an event into account, and reports whether the plan has changed.
func (p *plan) note(e *troupe.Event) bool {
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if e.Parent == "" && len(p.agents) > 0 {
			return true // the plan of a flow is known from the start
		}
		return p.mark(e.Agent, acp.PlanEntryStatusPending, acp.PlanEntryStatusInProgress)
	case *troupe.RunFinished:
		return e.Parent != "" && p.mark(e.Agent, acp.PlanEntryStatusInProgress, acp.PlanEntryStatusCompleted)
	case *troupe.ToolReturned:
		return b.Tool == "execute_workflow" && b.Class == "" && p.begin(b.Content)
	case *troupe.ModelReplied:
		return b.Message != nil && e.Parent == "" && p.reach(b.Message.Text)
	}
	return false
}

// mark changes the first entry of an agent that stands so.
func (p *plan) mark(agent string, from, to acp.PlanEntryStatus) bool {
	for i := range p.agents {
		if p.agents[i] == agent && p.entries[i].Status == from {
			p.entries[i].Status = to
			return true
		}
	}
	return false
}

// begin makes a plan of the steps of a workflow.
func (p *plan) begin(result string) bool {
	var workflow struct{ Instructions string }
	if len(p.agents) > 0 || json.Unmarshal([]byte(result), &workflow) != nil {
		return false
	}
	p.entries, p.steps = nil, nil
	for _, step := range stepsOf(workflow.Instructions) {
		p.entries = append(p.entries, entry(step.goal))
		p.steps = append(p.steps, step.number)
	}
	if len(p.entries) == 0 {
		return false
	}
	p.entries[0].Status = acp.PlanEntryStatusInProgress
	return true
}

// A step of a workflow's instructions.
type step struct {
	number int
	goal   string
}

// stepsOf finds the steps that instructions have, by their numbers and goals.
func stepsOf(instructions string) (found []step) {
	document, err := markup.Parse([]byte(instructions), markup.Options{Known: markup.IsInstructionTag})
	if err != nil {
		return nil
	}
	for _, tag := range document.Root.Named("step") {
		n, _ := tag.Attr("n")
		goal, _ := tag.Attr("goal")
		number, err := strconv.Atoi(n)
		if goal = strings.TrimSpace(goal); err == nil && goal != "" && !slices.ContainsFunc(found, func(s step) bool { return s.number == number }) {
			found = append(found, step{number, goal})
		}
	}
	return found
}

// announced is how agents say which step they are at.
var announced = regexp.MustCompile(`(?i)\bstep\s+(\d{1,3})\b`)

// reach marks the steps before the last one that an answer announces as done. What an
// agent does not announce stays as it is.
func (p *plan) reach(text string) bool {
	said := announced.FindAllStringSubmatch(text, -1)
	if len(said) == 0 || len(p.steps) == 0 {
		return false
	}
	number, _ := strconv.Atoi(said[len(said)-1][1])
	at := slices.Index(p.steps, number)
	if at < 0 {
		return false
	}
	before := slices.Clone(p.entries)
	for i := range p.entries {
		switch {
		case i < at:
			p.entries[i].Status = acp.PlanEntryStatusCompleted
		case i == at:
			p.entries[i].Status = acp.PlanEntryStatusInProgress
		default:
			p.entries[i].Status = acp.PlanEntryStatusPending
		}
	}
	return !slices.EqualFunc(before, p.entries, func(a, b acp.PlanEntry) bool { return a.Status == b.Status })
}
