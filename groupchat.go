package troupe

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A GroupChatConfig arranges steps that talk with each other about a task.
type GroupChatConfig struct {
	Name string
	// Members have different names. What they say is heard by all.
	Members []Step
	// Manager says who speaks next, and ends the chat by answering. Without one the
	// members speak in turn, and the last word is the answer.
	Manager *Agent
	// Plan has the manager begin with a ledger of what is known and what is to be
	// done, which it keeps up to date and always sees.
	Plan bool
	// Turns is how often members speak in all: three times each, by default.
	Turns int
}

// GroupChat is steps that talk with each other in turn. It panics where
// [NewGroupChat] fails.
func GroupChat(name string, members ...Step) Step {
	return must(NewGroupChat(GroupChatConfig{Name: name, Members: members}))
}

// defaultRounds is how often each member speaks where nobody says.
const defaultRounds = 3

// NewGroupChat returns a step in which the members speak one at a time, each having
// heard what was said before. All that was said is an output, "conversation".
func NewGroupChat(c GroupChatConfig) (Step, error) {
	if err := checkFlow("group chat", c.Name, c.Members); err != nil {
		return nil, err
	}
	if err := checkDistinct("group chat", c.Name, c.Members); err != nil {
		return nil, err
	}
	if c.Plan && c.Manager == nil {
		return nil, fmt.Errorf("group chat %s: a plan needs a manager", c.Name)
	}
	c.Turns = orElse(c.Turns, defaultRounds*len(c.Members))
	chat := &groupChat{GroupChatConfig: c}
	if c.Manager != nil {
		leader, err := c.Manager.With(chat.leaderTools()...)
		if err != nil {
			return nil, fmt.Errorf("group chat %s: %w", c.Name, err)
		}
		chat.leader = leader
	}
	return chat, nil
}

type groupChat struct {
	GroupChatConfig
	leader *Agent // the manager with its tools
}

func (g *groupChat) Name() string { return g.GroupChatConfig.Name }

// A remark is what one member said.
type remark struct {
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

func (g *groupChat) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	talk := conversation{task: in.Prompt()}
	for turn := range g.Turns {
		speaker := g.Members[turn%len(g.Members)]
		instruction := ""
		if g.leader != nil {
			out, err := g.lead(ctx, run, &talk)
			if err != nil || out.Meta.Stop != StopHandedOff {
				return g.close(in, &talk, out), err
			}
			speaker, instruction = g.member(out.Meta.Target), out.Summary
			if _, err := run.handOver(ctx, g.leader.id, speaker.Name(), Handoff{Task: in.Task, Summary: instruction}, nil); err != nil {
				return Handoff{}, err
			}
		}
		out, err := run.Do(ctx, speaker, Handoff{Task: talk.forSpeaker(speaker.Name(), instruction), Custom: in.Custom})
		if err != nil || out.Meta.Stop == StopInput {
			return out, err
		}
		talk.said = append(talk.said, remark{speaker.Name(), out.Summary})
	}
	last := talk.said[len(talk.said)-1]
	out := Handoff{Summary: last.Text, Meta: HandoffMeta{Source: last.Speaker, Status: StatusSuccess}}
	if g.Manager != nil {
		var err error
		if out, err = run.Do(ctx, g.Manager, Handoff{Task: talk.forLastWord()}); err != nil {
			return Handoff{}, err
		}
	}
	return g.close(in, &talk, out), nil
}

// lead asks the manager who is to speak. Writing to the ledger is not an answer to
// that, so it is asked again, a few times.
func (g *groupChat) lead(ctx context.Context, run *Run, talk *conversation) (Handoff, error) {
	for range maxLedgers {
		out, err := run.Do(ctx, g.leader, Handoff{Task: g.forManager(talk)})
		if err != nil || out.Meta.Target != ledgerTarget {
			return out, err
		}
		talk.ledger = out.Summary
	}
	return Handoff{}, fmt.Errorf("group chat %s: %s wrote %d ledgers in a row and let nobody speak", g.Name(), g.leader.id, maxLedgers)
}

// maxLedgers is how many times in a row a manager may write its ledger.
const maxLedgers = 3

// close makes the outcome of the chat. A question stays as it is.
func (g *groupChat) close(in Handoff, talk *conversation, out Handoff) Handoff {
	if out.Meta.Stop == StopInput {
		return out
	}
	out.Task, out.Custom = in.Task, in.Custom
	out.Outputs = map[string]any{"conversation": talk.said}
	if talk.ledger != "" {
		out.Outputs["ledger"] = talk.ledger
	}
	return out
}

func (g *groupChat) member(name string) Step {
	return g.Members[slices.IndexFunc(g.Members, func(s Step) bool { return s.Name() == name })]
}

// ledgerTarget stands for the ledger where a member's name would stand.
const ledgerTarget = "(ledger)"

// leaderTools are what a manager leads with.
func (g *groupChat) leaderTools() []Tool {
	tools := []Tool{NewTool("give_floor", "Lets one participant speak next.", func(_ context.Context, in floorArguments) (string, error) {
		if !slices.ContainsFunc(g.Members, func(s Step) bool { return s.Name() == in.To }) {
			return "", fmt.Errorf("there is no participant %.64q; there are: %s", in.To, strings.Join(g.names(), ", "))
		}
		return "", &turnOver{to: in.To, text: in.Instruction}
	}, RepeatSafe())}
	if g.Plan {
		tools = append(tools, NewTool("write_ledger", "Replaces the ledger.", func(_ context.Context, in ledgerArguments) (string, error) {
			return "", &turnOver{to: ledgerTarget, text: in.Ledger}
		}, RepeatSafe()))
	}
	return tools
}

type floorArguments struct {
	To          string `json:"to" jsonschema:"the name of the participant"`
	Instruction string `json:"instruction,omitempty" jsonschema:"what the participant should speak to"`
}

type ledgerArguments struct {
	Ledger string `json:"ledger" jsonschema:"what is known, what has yet to be found out, and the plan with what is done and what is left"`
}

func (g *groupChat) names() []string {
	var names []string
	for _, m := range g.Members {
		names = append(names, m.Name())
	}
	return names
}

// forManager asks who is to speak next.
func (g *groupChat) forManager(talk *conversation) string {
	order := "Say who speaks next by calling give_floor. When the task is done, answer it instead: that ends the conversation."
	switch {
	case g.Plan && talk.ledger == "":
		order = "Begin by writing the ledger with write_ledger. " + order
	case g.Plan:
		order = "The ledger:\n" + talk.ledger + "\n\nBring it up to date with write_ledger where it no longer holds. " + order
	}
	return fmt.Sprintf("You lead a conversation between %s.\n\n%s\n\n%s", strings.Join(g.names(), ", "), talk, order)
}

// A conversation is what a group chat has come to.
type conversation struct {
	task   string
	said   []remark
	ledger string
}

// String shows the task and all that was said about it.
func (c *conversation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The task:\n%s\n\n", c.task)
	if len(c.said) == 0 {
		b.WriteString("Nobody has spoken yet.")
		return b.String()
	}
	b.WriteString("The conversation so far:\n")
	for _, r := range c.said {
		fmt.Fprintf(&b, "\n[%s]\n%s\n", r.Speaker, r.Text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *conversation) forSpeaker(name, instruction string) string {
	text := fmt.Sprintf("%s\n\nYou are %s, and it is your turn to speak.", c, name)
	if instruction != "" {
		text += " " + instruction
	}
	return text
}

func (c *conversation) forLastWord() string {
	return c.String() + "\n\nThe conversation is over. Answer the task with what came of it."
}
