// Package flows makes steps of the flows that troupe.yaml describes.
package flows

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// A Maker makes the flows of a project.
type Maker struct {
	// File is where the flows are described, for problems.
	File  string
	Flows map[string]config.Flow
	// Agents are the ids of all agents.
	Agents []string
	// Agent makes an agent.
	Agent func(id string) (*troupe.Agent, error)
	// Describe says what an agent is good for. It may say nothing.
	Describe func(id string) string
	// Guard, where set, stands before the tools that experts are.
	Guard func(...troupe.Tool) []troupe.Tool
}

// Step makes the flow of a name. The flows must have been checked.
func (m *Maker) Step(name string) (troupe.Step, error) {
	flow, ok := m.Flows[name]
	if !ok {
		return nil, fmt.Errorf("flow %.64q: there is no such flow", name)
	}
	return m.arrange(name, &flow)
}

// arrange makes a flow that is known by a name.
func (m *Maker) arrange(name string, f *config.Flow) (troupe.Step, error) {
	parts, err := m.parts(name, f)
	if err != nil {
		return nil, err
	}
	switch f.Kind() {
	case "sequence":
		return flow.NewSequence(flow.SequenceConfig{Name: name, Steps: parts, ContinueOnError: f.ContinueOnError})
	case "parallel":
		return flow.NewParallel(flow.ParallelConfig{Name: name, Steps: parts, Quorum: f.Quorum, MaxParallel: f.MaxParallel})
	case "team":
		return m.team(name, f)
	case "group_chat":
		manager, err := m.optional(f.Manager)
		if err != nil {
			return nil, err
		}
		return flow.NewGroupChat(flow.GroupChatConfig{Name: name, Members: parts, Manager: manager, Plan: f.Plan, Turns: f.Turns})
	case "loop":
		return m.loop(name, f, parts[0])
	default:
		return m.coordinator(name, f, parts)
	}
}

// parts makes the steps of a flow that are not bound to be agents.
func (m *Maker) parts(name string, f *config.Flow) ([]troupe.Step, error) {
	var steps []troupe.Step
	for i, part := range members(f) {
		step, err := m.part(InnerName(name, i, part), part)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// members are the parts of a flow that may be agents or flows.
func members(f *config.Flow) []config.Part {
	switch f.Kind() {
	case "sequence":
		return f.Sequence
	case "parallel":
		return f.Parallel
	case "group_chat":
		return f.GroupChat
	case "loop":
		return []config.Part{*f.Loop}
	}
	return f.Experts
}

// InnerName is what a part is known by: a flow within a flow that has no name of its
// own is called after the outer one and its place in it.
func InnerName(outer string, i int, part config.Part) string {
	switch {
	case part.Flow == nil:
		return part.Name
	case part.Flow.Name != "":
		return part.Flow.Name
	}
	return fmt.Sprintf("%s.%d", outer, i+1)
}

func (m *Maker) part(name string, part config.Part) (troupe.Step, error) {
	if part.Flow != nil {
		return m.arrange(name, part.Flow)
	}
	if _, ok := m.Flows[part.Name]; ok {
		return m.Step(part.Name)
	}
	return m.Agent(part.Name)
}

func (m *Maker) optional(agent string) (*troupe.Agent, error) {
	if agent == "" {
		return nil, nil
	}
	return m.Agent(agent)
}

func (m *Maker) team(name string, f *config.Flow) (troupe.Step, error) {
	c := flow.TeamConfig{Name: name, MaxHandoffs: f.MaxHandoffs}
	for _, id := range f.Team {
		agent, err := m.Agent(id)
		if err != nil {
			return nil, err
		}
		c.Members = append(c.Members, flow.Member{Agent: agent, Description: m.Describe(id)})
	}
	return flow.NewTeam(c)
}

func (m *Maker) loop(name string, f *config.Flow, body troupe.Step) (troupe.Step, error) {
	c := flow.LoopConfig{Name: name, Body: body, MaxRounds: f.MaxRounds}
	if f.Check == "" {
		c.Until = func(h troupe.Handoff) (bool, error) { return strings.Contains(h.Summary, f.Until), nil }
		return flow.NewLoop(c)
	}
	check, err := m.Agent(f.Check)
	if err != nil {
		return nil, err
	}
	c.Check = check
	return flow.NewLoop(c)
}

// coordinator is an agent that uses others as tools, under the flow's own name.
func (m *Maker) coordinator(name string, f *config.Flow, experts []troupe.Step) (troupe.Step, error) {
	agent, err := m.Agent(f.Agent)
	if err != nil {
		return nil, err
	}
	var tools []troupe.Tool
	for i, expert := range experts {
		tools = append(tools, troupe.AsTool(expert, m.described(f.Experts[i])))
	}
	if m.Guard != nil {
		tools = m.Guard(tools...)
	}
	if agent, err = agent.With(tools...); err != nil {
		return nil, err
	}
	return flow.NewSequence(flow.SequenceConfig{Name: name, Steps: []troupe.Step{agent}})
}

// described says what a part is good for.
func (m *Maker) described(part config.Part) string {
	if part.Flow != nil {
		return part.Flow.Description
	}
	if flow, ok := m.Flows[part.Name]; ok {
		return flow.Description
	}
	return m.Describe(part.Name)
}
