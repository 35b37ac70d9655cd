package troupe

import (
	"context"
	"fmt"
)

// A Member is an agent that others can hand over to.
type Member struct {
	Agent *Agent
	// Description tells the others what it is good for.
	Description string
}

// A TeamConfig arranges agents that hand control to each other.
type TeamConfig struct {
	Name string
	// Members have different names. The first one begins.
	Members []Member
	// Hops is how often control may pass on: 8 times, by default. Whoever has it
	// then has to answer.
	Hops int
	// Edit may change what is handed over.
	Edit Edit
}

// Team is agents that hand control to each other; first begins. It panics where
// [NewTeam] fails.
func Team(name string, first *Agent, others ...*Agent) Step {
	c := TeamConfig{Name: name, Members: []Member{{Agent: first}}}
	for _, other := range others {
		c.Members = append(c.Members, Member{Agent: other})
	}
	return must(NewTeam(c))
}

// defaultHops is how often control passes on in a team that does not say.
const defaultHops = 8

// NewTeam returns a step in which the first agent begins, with a tool for handing
// over to each of the others, which have such tools too. Whoever answers instead of
// handing over gives the team's answer.
func NewTeam(c TeamConfig) (Step, error) {
	steps := make([]Step, len(c.Members))
	for i, m := range c.Members {
		if m.Agent == nil {
			return nil, fmt.Errorf("team %s: member %d is nil", c.Name, i+1)
		}
		steps[i] = m.Agent
	}
	if err := checkFlow("team", c.Name, steps); err != nil {
		return nil, err
	}
	if err := checkDistinct("team", c.Name, steps); err != nil {
		return nil, err
	}
	c.Hops = orElse(c.Hops, defaultHops)
	t := &team{TeamConfig: c, free: map[string]*Agent{}, last: map[string]*Agent{}}
	for _, m := range c.Members {
		var tools []Tool
		for _, other := range c.Members {
			if other.Agent != m.Agent {
				tools = append(tools, transferTo(other))
			}
		}
		free, err := m.Agent.With(tools...)
		if err != nil {
			return nil, fmt.Errorf("team %s: %w", c.Name, err)
		}
		t.free[m.Agent.id], t.last[m.Agent.id] = free, m.Agent
	}
	return t, nil
}

type team struct {
	TeamConfig
	free map[string]*Agent // those that can hand over, by name
	last map[string]*Agent // and those that cannot
}

func (t *team) Name() string { return t.TeamConfig.Name }

func (t *team) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	h, name := in, t.Members[0].Agent.id
	for hop := 0; ; hop++ {
		agent := t.free[name]
		if hop >= t.Hops {
			agent = t.last[name]
		}
		out, err := run.Do(ctx, agent, h)
		if err != nil || out.Meta.Stop != StopHandedOff {
			return out, err
		}
		if h, err = run.handOver(ctx, name, out.Meta.Target, h.then(out), t.Edit); err != nil {
			return Handoff{}, err
		}
		name = out.Meta.Target
	}
}

// transferTo is the tool that hands over to a member.
func transferTo(m Member) Tool {
	description := fmt.Sprintf("Hands the conversation over to %s, who goes on in your place.", m.Agent.id)
	if m.Description != "" {
		description += " " + m.Description
	}
	return NewRunTool(tidyName("transfer_to_"+m.Agent.id), description, func(_ context.Context, _ *Invocation, in transferArguments) (string, error) {
		return "", &turnOver{to: m.Agent.id, text: in.Summary}
	}, RepeatSafe())
}

type transferArguments struct {
	Summary string `json:"summary" jsonschema:"what you did and found out, and what is left to do: the other knows only this and the task"`
}

// A turnOver is the error of a tool that ends its agent's run and passes control,
// and a text, to another. It is no failure.
type turnOver struct{ to, text string }

func (e *turnOver) Error() string { return "control passes to " + e.to }
