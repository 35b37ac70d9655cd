package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/workspace"
)

// Knowledge is where plans are kept and looked up. Both kinds of package knowledge
// will do.
type Knowledge interface {
	// Upload keeps a document, and returns when its content was found there. Doing
	// it twice with the same key is the same as doing it once.
	Upload(ctx context.Context, d knowledge.Document) error
	// Query returns the passages nearest to a question, the nearest first.
	Query(ctx context.Context, question string, limit int) ([]knowledge.Passage, error)
}

// A Config says how a delivery works. Output is required, and so is Model, or an
// agent for each phase.
type Config struct {
	// Name is that of the delivery's run: "deliver" by default.
	Name string
	// Phases are those of [Six] by default.
	Phases []Phase
	// Model thinks in the phases that have no agent. Price is what it costs, for limits in
	// money, and Window is how many tokens it can hold; both are unknown by default.
	Model  troupe.Model
	Price  troupe.Price
	Window int
	// Output returns the workspace whose root {output} the session's artifacts are
	// written to. It is called once per tool call; the workspace must stay open until
	// that has returned, and stays the caller's to close.
	Output func(session string) (*workspace.Workspace, error)
	// Project is what discovery may look at, by its root {project-root}. Nil means
	// that no project was granted.
	Project *workspace.Workspace
	// Knowledge keeps what is uploaded. Without one, uploads are on record as failed
	// and can be tried again, and plans are read from the output root.
	Knowledge Knowledge
	// KnowledgeOf, where set, returns what is kept for the user that a run is for, in place
	// of Knowledge: one user's passages are not found for another.
	KnowledgeOf func(user string) Knowledge
	// Approve says when a person is asked: ApproveAuto by default.
	Approve ApproveMode
	// Compensate has files written that an agent claims to have written, or shows as
	// a block with a path, in place of an artifact. By default they are proposals.
	Compensate bool
	// From and To are the first and the last phase to run, by default all are.
	From, To string
	// Guard, where set, stands before every call that the delivery makes, its own writes
	// and uploads too, and before the tools that its agents are given: it returns others in
	// their place, of the same names. Gates ask a person anyway.
	Guard func(...troupe.Tool) []troupe.Tool
	// Repository is what the delivery changes: in a worktree and a branch of its own,
	// checked and reviewed. Where there is none yet, Repository.Create makes one. Only
	// phases that write documents alone can do without. Output may be nil where it is
	// set, for the folder of documents in Repository.Data.
	Repository *Repository
}

// An ApproveMode says when a person is asked whether a delivery goes on.
type ApproveMode string

// The modes. In all of them, a closed gate asks.
const (
	ApproveAuto   ApproveMode = "auto"
	ApprovePlan   ApproveMode = "plan"   // and after planning
	ApproveDiff   ApproveMode = "diff"   // and before the end, with the whole change
	ApproveManual ApproveMode = "manual" // after every phase
)

// A Phase is one stage of a delivery. Its agent only thinks: all that is read and
// written on its behalf is done by the delivery.
type Phase struct {
	// Name is that of the phase's run, and differs from its agent's.
	Name string
	// Agent has no tools. Nil means one that is made of Config.Model.
	Agent *troupe.Agent
	// Contract is what the agent's answer must hold: [ContractOf] the name by default.
	Contract *Contract
	// Title is the role that the prompt gives to the agent, Task what it is to do.
	Title, Task string
	// Path is where the phase's document goes unless the agent says otherwise.
	// YYYY-MM-DD and <feature> in it are filled in.
	Path string

	// free is the agent as it is asked for texts beside the JSON, which a provider that is
	// given a schema would not let through. Nil means that Agent is.
	free *troupe.Agent
}

// maxCalls is how many tools an agent may call before it has to answer. Those that look at
// the repository refuse before that, and say so.
const maxCalls = 48

// The built-in phases that do more than ask their agent once.
const (
	phaseDiscovery      = "discovery"
	phasePlanning       = "planning"
	phaseImplementation = "implementation"
	phaseQA             = "qa"
)

// Six returns the built-in phases in their order, without agents.
func Six() []Phase {
	return []Phase{
		{Name: "requirements", Title: "Product Owner", Path: "specs/user-stories/YYYY-MM-DD-<feature>.md",
			Task: "Turn the request into user stories with acceptance criteria. Say what the scope is and what constrains it. Return the user stories as one markdown artifact."},
		{Name: "architecture", Title: "Architect", Path: "specs/architecture/YYYY-MM-DD-<feature>.md",
			Task: "Design a system that meets the requirements: components, technologies, patterns, and each decision with its rationale. Return the design as one markdown artifact."},
		{Name: phaseDiscovery, Title: "Scout", Path: "specs/discovery/YYYY-MM-DD-<feature>.json",
			Task: "Find what of the existing project matters for the work: relevant files with their relevance and priority, entry points, dependencies. Name only files that are in the file map. Return the report as one JSON artifact."},
		{Name: phasePlanning, Title: "Planner", Path: "specs/plans/YYYY-MM-DD-<feature>.md",
			Task: "Write a plan of small steps. Each step has the heading \"## Step N: title\", counted from 1, and says all that its builder must know, because the builder sees one step at a time. Return the plan as one markdown artifact of type \"gkchatty\"."},
		{Name: phaseImplementation, Title: "Builder",
			Task: stepTask},
		{Name: phaseQA, Title: "QA Reviewer", Path: "specs/qa/YYYY-MM-DD-<feature>.md",
			Task: "Review what there is against the requirements and the design: quality, security, performance. Judge only what you see. Return the report as one markdown artifact."},
	}
}

// New returns the step that takes a request through the phases.
func New(c Config) (troupe.Step, error) {
	d, err := newDelivery(c)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return d, nil
}

func newDelivery(c Config) (*delivery, error) {
	c.Name = cmp.Or(c.Name, "deliver")
	c.Approve = cmp.Or(c.Approve, ApproveAuto)
	shop, err := newWorkshop(&c)
	if err != nil {
		return nil, err
	}
	if c.Output == nil {
		return nil, errors.New("it needs an Output")
	}
	if modes := []ApproveMode{ApproveAuto, ApprovePlan, ApproveDiff, ApproveManual}; !slices.Contains(modes, c.Approve) {
		return nil, fmt.Errorf("approve %q is none of %q", c.Approve, modes)
	}
	if c.Phases == nil {
		c.Phases = Six()
	}
	names := []string{c.Name}
	phases := slices.Clone(c.Phases)
	for i := range phases {
		if err := phases[i].complete(&c); err != nil {
			return nil, err
		}
		if slices.Contains(names, phases[i].Name) {
			return nil, fmt.Errorf("phase %s: the name is taken", phases[i].Name)
		}
		names = append(names, phases[i].Name)
	}
	for _, p := range phases {
		if slices.Contains(names, p.Agent.Name()) {
			return nil, fmt.Errorf("phase %s: its agent has the name %s, which is that of a phase or of the delivery", p.Name, p.Agent.Name())
		}
	}
	first, last, err := span(phases, c.From, c.To)
	if err != nil {
		return nil, err
	}
	c.Phases = phases[first : last+1]
	if c.Repository == nil && slices.ContainsFunc(c.Phases, func(p Phase) bool { return p.Name == phaseImplementation }) {
		return nil, errors.New("phase implementation: it needs a Repository to build in; with Create a new one is made")
	}
	d := &delivery{
		Config: c, write: writeTool(c.Output), upload: uploadTool(c.Output, c.knowledgeFor),
		gather: gatherTool(c.Project), plan: planTool(c.knowledgeFor, c.Output), gate: gateTool(), knowledge: knowledgeTool(c.knowledgeFor),
	}
	if shop != nil {
		d.tools = shop.tools()
		if err := shop.equip(d.Phases, c.Guard); err != nil {
			return nil, err
		}
	}
	d.guardCalls()
	return d, nil
}

// guardCalls has the guard stand before all tools but the gate.
func (d *delivery) guardCalls() {
	if d.Guard == nil {
		return
	}
	t := &d.tools
	for _, tool := range []*troupe.Tool{
		&d.write, &d.upload, &d.gather, &d.plan, &d.knowledge,
		&t.prepare, &t.setup, &t.check, &t.apply, &t.format, &t.commit, &t.reset, &t.look, &t.diff, &t.stat, &t.try,
		&t.readPlan, &t.writePlan, &t.documents, &t.keepDocs, &t.publish, &t.adopt, &t.findChecks, &t.dependencies, &t.setupAgain,
	} {
		if *tool != nil {
			*tool = d.Guard(*tool)[0]
		}
	}
}

// knowledgeFor returns what is kept for a user, nil where that is nothing.
func (c *Config) knowledgeFor(user string) Knowledge {
	if c.KnowledgeOf != nil {
		return c.KnowledgeOf(user)
	}
	return c.Knowledge
}

// complete fills in what a phase leaves to its defaults.
func (p *Phase) complete(c *Config) error {
	if p.Name == "" {
		return errors.New("a phase has no name")
	}
	if p.Contract == nil {
		contract, ok := ContractOf(p.Name)
		if !ok {
			return fmt.Errorf("phase %s: it is not built in and needs a Contract", p.Name)
		}
		p.Contract = contract
	}
	p.Title = cmp.Or(p.Title, p.Name)
	if p.Agent != nil {
		return nil
	}
	if c.Model == nil {
		return fmt.Errorf("phase %s: it needs an Agent, or the delivery a Model", p.Name)
	}
	config := troupe.AgentConfig{
		ID: slugOf(p.Title + " agent"), Model: c.Model, Price: c.Price, Window: c.Window, Limits: troupe.Limits{ToolCalls: maxCalls},
		Instructions: fmt.Sprintf("You are the %s of a delivery pipeline. You think, and answer with JSON; files are written and read for you.", p.Title),
	}
	var err error
	if p.Name == phaseImplementation {
		if p.free, err = troupe.NewAgent(config); err != nil {
			return err
		}
	}
	// Providers that can bind an answer to a schema are asked to.
	config.Params = troupe.Params{Schema: p.Contract.Schema(), SchemaName: slugOf(p.Name)}
	p.Agent, err = troupe.NewAgent(config)
	return err
}

func namesOf(phases []Phase) string {
	var names []string
	for _, p := range phases {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// span returns the first and the last phase that from and to name.
func span(phases []Phase, from, to string) (first, last int, err error) {
	find := func(name string, otherwise int) int {
		if name == "" {
			return otherwise
		}
		return slices.IndexFunc(phases, func(p Phase) bool { return p.Name == name })
	}
	first, last = find(from, 0), find(to, len(phases)-1)
	switch {
	case len(phases) == 0:
		err = errors.New("it has no phases")
	case first < 0:
		err = fmt.Errorf("there is no phase %.40q to begin with; there are %s", from, namesOf(phases))
	case last < 0:
		err = fmt.Errorf("there is no phase %.40q to end with; there are %s", to, namesOf(phases))
	case last < first:
		err = fmt.Errorf("phase %s comes before phase %s", to, from)
	}
	return first, last, err
}
