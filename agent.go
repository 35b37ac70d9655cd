package troupe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// An Agent is a model with instructions and the tools it may use. It does not
// change after NewAgent and may serve many runs at once.
type Agent struct {
	id     string
	model  Model
	params *Params
	price  Price
	window int
	tools  []Tool // granted first, then those it knows of and may not use
	grants int

	room [4]Tool // for the tools: most agents have few

	system string
	load   func(context.Context, *Run) ([]ContextLoaded, error)
	once   sync.Once
	brief  *briefing
}

// A briefing is what an agent's every run begins with, made when first needed.
type briefing struct {
	kit    *ToolSet
	system *Message
	sha    string
}

// An AgentConfig says what an agent is. ID and Model are required.
type AgentConfig struct {
	// ID names the agent in events and to other agents.
	ID string
	// Instructions are the system prompt.
	Instructions string
	// Brief, where set, says what the model is told before the user first speaks,
	// in place of Instructions: the system prompt, then whatever else it must know.
	// It is called in the first run of a session (in every nested run), and what it
	// returns is recorded: a session that goes on later means what it meant. If it
	// fails the run fails, before any model is asked.
	Brief func(context.Context, *Run) ([]ContextLoaded, error)
	Model Model
	// Params are sent to the model where set.
	Params Params
	// Tools are those the agent knows of. It may use them all, or only those that
	// Allow names where Allow is not nil; the model never hears of the others.
	Tools []Tool
	Allow []string
	// Price is what the model costs, for budgets in money. Unknown by default.
	Price Price
	// Window is how many tokens the model can hold. At 90 % of it older turns are
	// summed up. 0 means unknown: nothing is ever summed up.
	Window int
}

// NewAgent checks the configuration and makes an agent of it.
func NewAgent(c AgentConfig) (*Agent, error) {
	if c.ID == "" {
		return nil, errors.New("agent: it needs an ID")
	}
	if c.Model == nil {
		return nil, fmt.Errorf("agent %s: it needs a Model", c.ID)
	}
	if c.Brief != nil && c.Instructions != "" {
		return nil, fmt.Errorf("agent %s: it has both Instructions and Brief; Brief returns the system prompt", c.ID)
	}
	if c.Window < 0 {
		return nil, fmt.Errorf("agent %s: Window %d is negative", c.ID, c.Window)
	}
	a := &Agent{id: c.ID, model: c.Model, price: c.Price, window: c.Window, system: c.Instructions, load: c.Brief}
	if !c.Params.isZero() {
		params := c.Params
		a.params = &params
	}
	if err := a.grant(c.Tools, c.Allow); err != nil {
		return nil, fmt.Errorf("agent %s: %w", c.ID, err)
	}
	return a, nil
}

func (p *Params) isZero() bool {
	return p.Temperature == nil && p.TopP == nil && p.MaxTokens == nil && p.Seed == nil &&
		p.Stop == nil && p.Effort == "" && p.Schema == nil && p.Extra == nil
}

// grant puts the tools that allow names first, all of them where it is nil.
func (a *Agent) grant(tools []Tool, allow []string) error {
	a.tools = a.room[:0]
	var withheld []Tool
	for i, tool := range tools {
		if tool == nil {
			return fmt.Errorf("tool %d is nil", i)
		}
		spec, err := checkedSpec(tool)
		if err != nil {
			return err
		}
		for _, other := range tools[:i] {
			if other.Spec().Name == spec.Name {
				return fmt.Errorf("tool %s is there twice", spec.Name)
			}
		}
		if allow == nil || slices.Contains(allow, spec.Name) {
			a.tools = append(a.tools, tool)
		} else {
			withheld = append(withheld, tool)
		}
	}
	a.grants = len(a.tools)
	for _, name := range allow {
		if !slices.ContainsFunc(a.tools, func(t Tool) bool { return t.Spec().Name == name }) {
			return fmt.Errorf("it is allowed the tool %s, which is not among its tools", name)
		}
	}
	a.tools = append(a.tools, withheld...)
	return nil
}

// With returns an agent that is like this one and has further tools, which it may
// use whatever else it may.
func (a *Agent) With(tools ...Tool) (*Agent, error) {
	more := &Agent{id: a.id, model: a.model, params: a.params, price: a.price, window: a.window, system: a.system, load: a.load}
	if err := more.grant(slices.Concat(a.tools[:a.grants], tools), nil); err != nil {
		return nil, fmt.Errorf("agent %s: %w", a.id, err)
	}
	more.tools = append(more.tools, a.tools[a.grants:]...)
	return more, nil
}

// Bare returns an agent that is like this one and has no tools: it only thinks.
func (a *Agent) Bare() *Agent {
	return &Agent{id: a.id, model: a.model, params: a.params, price: a.price, window: a.window, system: a.system, load: a.load}
}

// Name returns the agent's ID.
func (a *Agent) Name() string { return a.id }

func (a *Agent) briefed() *briefing {
	a.once.Do(func() {
		// NewAgent has checked every tool: the set cannot fail.
		kit, _ := NewToolSet(a.tools[:a.grants:a.grants]...)
		sum := sha256.Sum256([]byte(a.system))
		a.brief = &briefing{
			kit:    kit,
			system: &Message{Role: RoleSystem, Text: a.system, Pinned: true},
			sha:    hex.EncodeToString(sum[:]),
		}
	})
	return a.brief
}

// kit is what the agent's model may call.
func (a *Agent) kit() *ToolSet { return a.briefed().kit }

// withholds reports whether the agent knows a tool that it may not use.
func (a *Agent) withholds(name string) bool {
	return slices.ContainsFunc(a.tools[a.grants:], func(t Tool) bool { return t.Spec().Name == name })
}
