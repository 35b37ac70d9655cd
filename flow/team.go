package flow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A Member is an agent that others can hand over to.
type Member struct {
	Agent *troupe.Agent
	// Description tells the others what it is good for.
	Description string
}

// A TeamConfig arranges agents that hand control to each other.
type TeamConfig struct {
	Name string
	// Members have different names. The first one begins.
	Members []Member
	// MaxHandoffs is how often control may pass on in one run: 8 times, by default; a
	// negative number is refused. The agent that has it then must answer; a team whose
	// agent goes on trying to hand over ends with the stop "handoffs".
	MaxHandoffs int
	// Edit may change what is handed over.
	Edit Edit
}

// Team is agents that hand control to each other; first begins. It panics where
// [NewTeam] fails.
func Team(name string, first *troupe.Agent, others ...*troupe.Agent) troupe.Step {
	c := TeamConfig{Name: name, Members: []Member{{Agent: first}}}
	for _, other := range others {
		c.Members = append(c.Members, Member{Agent: other})
	}
	return must(NewTeam(c))
}

const defaultHandoffs = 8

// NewTeam returns a step in which the first agent begins. Each agent has a tool for
// handing over to each of the others (transfer_to_NAME). The agent that answers
// instead of handing over gives the team's answer, and has the conversation: the
// user's next message goes to it, and it sees what was said to it before.
func NewTeam(c TeamConfig) (troupe.Step, error) {
	steps := make([]troupe.Step, len(c.Members))
	for i, m := range c.Members {
		if m.Agent == nil {
			return nil, fmt.Errorf("team %s: member %d is nil", c.Name, i+1)
		}
		steps[i] = m.Agent
	}
	if err := check("team", c.Name, steps); err != nil {
		return nil, err
	}
	if err := checkDistinct("team", c.Name, steps); err != nil {
		return nil, err
	}
	if c.MaxHandoffs < 0 {
		return nil, fmt.Errorf("team %s: MaxHandoffs %d is negative", c.Name, c.MaxHandoffs)
	}
	if c.MaxHandoffs == 0 {
		c.MaxHandoffs = defaultHandoffs
	}
	t := &team{TeamConfig: c, free: map[string]*troupe.Agent{}, last: map[string]*troupe.Agent{}}
	t.definition = define("team", c.Name, map[string]any{"max_handoffs": c.MaxHandoffs}, steps...)
	for _, m := range c.Members {
		var tools []troupe.Tool
		for _, other := range c.Members {
			if other.Agent != m.Agent {
				tools = append(tools, transferTo(other))
			}
		}
		free, err := m.Agent.With(tools...)
		if err != nil {
			return nil, fmt.Errorf("team %s: %w", c.Name, err)
		}
		t.free[m.Agent.Name()], t.last[m.Agent.Name()] = free, m.Agent
	}
	return t, nil
}

type team struct {
	TeamConfig
	definition *troupe.Definition
	free       map[string]*troupe.Agent // those that can hand over, by name
	last       map[string]*troupe.Agent // and those that cannot
}

func (t *team) Name() string                   { return t.TeamConfig.Name }
func (t *team) Definition() *troupe.Definition { return t.definition }

func (t *team) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	h, name := in, t.Members[0].Agent.Name()
	if before, ok := run.Before(); ok && t.free[before.Meta.Source] != nil {
		name = before.Meta.Source // who answered last has the conversation
	}
	for handoffs := 0; ; handoffs++ {
		agent := t.free[name]
		if handoffs >= t.MaxHandoffs {
			agent = t.last[name]
		}
		h = run.Given(h)
		out, err := run.Converse(ctx, agent, h)
		if err == nil && handoffs >= t.MaxHandoffs && out.Meta.Stop == "repeated_calls" && slices.ContainsFunc(out.Meta.ToolsUsed, isTransfer) {
			return t.atLimit(out), nil
		}
		if err != nil || out.Meta.Stop != "handed_off" {
			return out, err
		}
		if limit := run.Limit(); limit != "" {
			return cutShort(out, limit), nil
		}
		if h, err = handOver(ctx, run, name, out.Meta.Target, Then(h, out), t.Edit); err != nil {
			return troupe.Handoff{}, err
		}
		name = out.Meta.Target
	}
}

// atLimit is what a team ends with whose last agent was to hand over to nobody, and tried
// to. What stands for an answer that it does not have is in parentheses.
func (t *team) atLimit(out troupe.Handoff) troupe.Handoff {
	if !strings.HasPrefix(out.Summary, "(") || !strings.HasSuffix(out.Summary, ")") {
		return cutShort(out, "handoffs")
	}
	times := fmt.Sprintf("%d times, which is as often as it may be", t.MaxHandoffs)
	if t.MaxHandoffs == 1 {
		times = "once, which is as often as it may be"
	}
	out.Summary = fmt.Sprintf("(The work was handed over %s. %s had to answer then, and wanted to hand it over once more.)", times, out.Meta.Source)
	return cutShort(out, "handoffs")
}

const transfer = "transfer_to_"

func isTransfer(tool string) bool { return strings.HasPrefix(tool, transfer) }

// transferTo is the tool that hands over to a member.
func transferTo(m Member) troupe.Tool {
	name := m.Agent.Name()
	description := fmt.Sprintf("Hands the conversation over to %s, who goes on in your place.", name)
	if m.Description != "" {
		description += " " + m.Description
	}
	return troupe.NewTool(toolName(transfer+name), description, func(_ context.Context, in transferArguments) (string, error) {
		return "", &troupe.Decision{Name: "hand_over", To: name, Text: in.Summary}
	}, troupe.RepeatSafe())
}

// toolName makes a name that models take as a tool's.
func toolName(name string) string {
	tidy := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, name)
	return tidy[:min(len(tidy), 64)]
}

type transferArguments struct {
	Summary string `json:"summary" jsonschema:"what you did and found out, and what is left to do: the other knows only this and the task"`
}
