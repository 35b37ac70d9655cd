package flow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A GroupChatConfig arranges steps that talk with each other about a task.
type GroupChatConfig struct {
	Name string
	// Members have different names. What they say is heard by all.
	Members []troupe.Step
	// Manager says who speaks next, and ends the chat by answering. Without one the
	// members speak in turn, and the last word is the answer.
	Manager *troupe.Agent
	// Plan has the manager begin with a ledger of what is known and what is to be
	// done. It keeps the ledger up to date and always sees it.
	Plan bool
	// Turns is how often members speak in all: three times each, by default. A negative
	// number is refused.
	Turns int
}

// GroupChat is steps that talk with each other in turn. It panics where
// [NewGroupChat] fails.
func GroupChat(name string, members ...troupe.Step) troupe.Step {
	return must(NewGroupChat(GroupChatConfig{Name: name, Members: members}))
}

// defaultTurns is how often each member speaks where nobody says.
const defaultTurns = 3

// NewGroupChat returns a step in which the members speak one at a time, each having
// heard what was said before. All that was said is an output, "conversation". Where the last
// word is no answer, as of a model that said nothing, the outcome says so, and why.
func NewGroupChat(c GroupChatConfig) (troupe.Step, error) {
	if err := check("group chat", c.Name, c.Members); err != nil {
		return nil, err
	}
	if err := checkDistinct("group chat", c.Name, c.Members); err != nil {
		return nil, err
	}
	if c.Plan && c.Manager == nil {
		return nil, fmt.Errorf("group chat %s: a plan needs a manager", c.Name)
	}
	if c.Turns < 0 {
		return nil, fmt.Errorf("group chat %s: Turns %d is negative", c.Name, c.Turns)
	}
	if c.Turns == 0 {
		c.Turns = defaultTurns * len(c.Members)
	}
	chat := &groupChat{GroupChatConfig: c}
	steps := slices.Clone(c.Members)
	if c.Manager != nil {
		steps = append(steps, c.Manager)
		leader, err := c.Manager.With(chat.leaderTools()...)
		if err != nil {
			return nil, fmt.Errorf("group chat %s: %w", c.Name, err)
		}
		chat.leader = leader
	}
	chat.definition = define("group chat", c.Name, map[string]any{"turns": c.Turns, "plan": c.Plan}, steps...)
	return chat, nil
}

type groupChat struct {
	GroupChatConfig
	definition *troupe.Definition
	leader     *troupe.Agent // the manager with its tools
}

func (g *groupChat) Definition() *troupe.Definition { return g.definition }

func (g *groupChat) Name() string { return g.GroupChatConfig.Name }

// A remark is what one member said.
type remark struct {
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

func (g *groupChat) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	chat := conversation{task: in.Prompt()}
	limit := ""
	for turn := range g.Turns {
		if limit = run.Limit(); limit != "" && turn > 0 {
			break
		}
		speaker := g.Members[turn%len(g.Members)]
		instruction := ""
		if g.leader != nil {
			out, err := g.lead(ctx, run, &chat)
			if err != nil || out.Meta.Stop != "handed_off" {
				return g.close(in, &chat, out), err
			}
			speaker, instruction = g.member(out.Meta.Target), out.Summary
			if _, err := handOver(ctx, run, g.leader.Name(), speaker.Name(), troupe.Handoff{Task: in.Task, Summary: instruction}, nil); err != nil {
				return troupe.Handoff{}, err
			}
		}
		out, err := run.Do(ctx, speaker, troupe.Handoff{Task: chat.forSpeaker(speaker.Name(), instruction), Custom: in.Custom, Parts: in.Parts})
		if err != nil || out.Meta.Stop == "input_requested" {
			return out, err
		}
		chat.hear(speaker.Name(), out)
	}
	last := chat.said[len(chat.said)-1]
	out := troupe.Handoff{Summary: last.Text, Meta: troupe.HandoffMeta{Source: last.Speaker, Status: chat.last.Status, Stop: chat.last.Stop}}
	if limit == "" && g.Manager != nil {
		limit = run.Limit()
	}
	switch {
	case limit != "":
		out = cutShort(out, limit)
	case g.Manager != nil:
		var err error
		if out, err = run.Do(ctx, g.Manager, troupe.Handoff{Task: chat.forLastWord()}); err != nil {
			return troupe.Handoff{}, err
		}
	}
	return g.close(in, &chat, out), nil
}

// lead asks the manager who is to speak. Writing to the ledger is not an answer to
// that, so it is asked again, a few times.
func (g *groupChat) lead(ctx context.Context, run *troupe.Run, chat *conversation) (troupe.Handoff, error) {
	for range maxLedgers {
		out, err := run.Do(ctx, g.leader, troupe.Handoff{Task: g.forManager(chat)})
		if err != nil || out.Meta.Decision == nil || out.Meta.Decision.Name != decisionLedger {
			return out, err
		}
		chat.ledger = out.Summary
	}
	return troupe.Handoff{}, fmt.Errorf("group chat %s: %s wrote %d ledgers in a row and let nobody speak", g.Name(), g.leader.Name(), maxLedgers)
}

// maxLedgers is how many times in a row a manager may write its ledger.
const maxLedgers = 3

// close makes the outcome of the chat: it is partial where members spoke and none of them had
// an answer, whatever the manager makes of that. A question stays as it is.
func (g *groupChat) close(in troupe.Handoff, chat *conversation, out troupe.Handoff) troupe.Handoff {
	if out.Meta.Stop == "input_requested" {
		return out
	}
	if len(chat.said) > 0 && !chat.isHeard && out.Meta.Status == "success" {
		out.Meta.Status = "partial"
	}
	out.Task, out.Custom = in.Task, in.Custom
	out.Outputs = map[string]any{"conversation": chat.said}
	if chat.ledger != "" {
		out.Outputs["ledger"] = chat.ledger
	}
	return out
}

func (g *groupChat) member(name string) troupe.Step {
	return g.Members[slices.IndexFunc(g.Members, func(s troupe.Step) bool { return s.Name() == name })]
}

const decisionLedger = "write_ledger"

// leaderTools are what a manager leads with.
func (g *groupChat) leaderTools() []troupe.Tool {
	tools := []troupe.Tool{troupe.NewTool("give_floor", "Lets one participant speak next.", func(_ context.Context, in floorArguments) (string, error) {
		if !slices.ContainsFunc(g.Members, func(s troupe.Step) bool { return s.Name() == in.To }) {
			return "", fmt.Errorf("there is no participant %.64q; there are: %s", in.To, strings.Join(g.names(), ", "))
		}
		return "", &troupe.Decision{Name: "give_floor", To: in.To, Text: in.Instruction}
	}, troupe.RepeatSafe())}
	if g.Plan {
		tools = append(tools, troupe.NewTool("write_ledger", "Replaces the ledger.", func(_ context.Context, in ledgerArguments) (string, error) {
			return "", &troupe.Decision{Name: decisionLedger, Text: in.Ledger}
		}, troupe.RepeatSafe()))
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
func (g *groupChat) forManager(chat *conversation) string {
	order := "Say who speaks next by calling give_floor. When the task is done, answer it instead: that ends the conversation."
	switch {
	case g.Plan && chat.ledger == "":
		order = "Begin by writing the ledger with write_ledger. " + order
	case g.Plan:
		order = "The ledger:\n" + chat.ledger + "\n\nBring it up to date with write_ledger where it no longer holds. " + order
	}
	return fmt.Sprintf("You lead a conversation between %s.\n\n%s\n\n%s", strings.Join(g.names(), ", "), chat, order)
}

// A conversation is what a group chat has come to.
type conversation struct {
	task   string
	said   []remark
	ledger string
	// last is how the latest to speak came to an end, isHeard whether anybody had an answer.
	last    troupe.HandoffMeta
	isHeard bool
}

// hear takes in what a member said, or that it had nothing to say.
func (c *conversation) hear(speaker string, out troupe.Handoff) {
	c.said = append(c.said, remark{speaker, out.Summary})
	c.last = out.Meta
	c.isHeard = c.isHeard || out.Meta.Status == "success"
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
