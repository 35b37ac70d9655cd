package troupe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// An Agent is a model with instructions and the tools it may use. It does not
// change after NewAgent and may serve many runs at once.
type Agent struct {
	agentParts
	once sync.Once
	made *preparation
}

// agentParts are what an agent is made of.
type agentParts struct {
	id      string
	model   Model
	params  *Params
	price   Price
	window  int
	limits  *Limits
	output  *boundOutput
	system  string
	context func(context.Context, *Run) ([]ContextLoaded, error)
	tools   []Tool // granted first, then those it knows of and may not use
	grants  int
	room    [4]Tool // for the tools: most agents have few
}

// A preparation is what an agent's every run begins with, made when first needed.
type preparation struct {
	tools      *ToolSet
	system     *Message // nil where there is nothing to say
	sha        string
	definition *Definition
}

// An AgentConfig says what an agent is. ID and Model are required.
type AgentConfig struct {
	// ID names the agent in events and to other agents.
	ID string
	// Instructions are the system prompt.
	Instructions string
	// Context, where set, says what the model is told before the user first speaks, in
	// place of Instructions: the system prompt, then whatever else it must know. It is
	// called in the first run of a session (in every nested run), and what it returns
	// is recorded: a session that goes on later means what it meant. If it fails the
	// run fails, before any model is asked.
	Context func(context.Context, *Run) ([]ContextLoaded, error)
	Model   Model
	// Params are sent to the model where set.
	Params Params
	// Tools are those the agent knows of. It may use them all, or only those that
	// Allow names where Allow is not nil; the model never hears of the others.
	Tools []Tool
	Allow []string
	// Output binds every final answer: see [OutputOf] and [Ask]. By default any text
	// is an answer.
	Output *Output
	// Limits bound each run of the agent with all that is nested in it, beside those
	// of the whole run. Its time ends the agent alone.
	Limits Limits
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
	if c.Context != nil && c.Instructions != "" {
		return nil, fmt.Errorf("agent %s: it has both Instructions and Context; Context returns the system prompt", c.ID)
	}
	if c.Window < 0 {
		return nil, fmt.Errorf("agent %s: Window %d is negative", c.ID, c.Window)
	}
	if err := c.Price.check(); err != nil {
		return nil, fmt.Errorf("agent %s: %w", c.ID, err)
	}
	if c.Params.MaxTokens != nil && *c.Params.MaxTokens < 1 {
		return nil, fmt.Errorf("agent %s: MaxTokens %d leaves no room for an answer", c.ID, *c.Params.MaxTokens)
	}
	if math.IsNaN(c.Limits.Cost) {
		return nil, fmt.Errorf("agent %s: its limit on cost is not a number", c.ID)
	}
	if c.Limits.Cost > 0 && !c.Price.Known() {
		return nil, fmt.Errorf("agent %s: it has a limit on cost, and the price of its model is not known; set Price", c.ID)
	}
	a := &Agent{agentParts: agentParts{id: c.ID, model: c.Model, price: c.Price, window: c.Window, system: c.Instructions, context: c.Context}}
	if !c.Params.isZero() {
		params := c.Params
		a.params = &params
	}
	if c.Limits != (Limits{}) {
		limits := c.Limits
		a.limits = &limits
	}
	if err := a.grant(c.Tools, c.Allow); err != nil {
		return nil, fmt.Errorf("agent %s: %w", c.ID, err)
	}
	if c.Output != nil {
		if err := a.bind(c.Output); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// bind has every final answer fit an output.
func (a *Agent) bind(output *Output) error {
	bound, err := output.bind()
	if err != nil {
		return fmt.Errorf("agent %s: %w", a.id, err)
	}
	params := Params{}
	if a.params != nil {
		params = *a.params
	}
	params.Schema, params.SchemaName = bound.schema, bound.Name
	a.output, a.params = bound, &params
	return nil
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

// like returns an agent of the same parts that can still be changed.
func (a *Agent) like() *Agent { return &Agent{agentParts: a.agentParts} }

// With returns an agent that is like this one and has further tools, which it may
// use whatever else it may.
func (a *Agent) With(tools ...Tool) (*Agent, error) {
	more := a.like()
	if err := more.grant(slices.Concat(a.tools[:a.grants], tools), nil); err != nil {
		return nil, fmt.Errorf("agent %s: %w", a.id, err)
	}
	more.tools = append(more.tools, a.tools[a.grants:]...)
	return more, nil
}

// WithoutTools returns an agent that is like this one and has no tools: it only
// thinks.
func (a *Agent) WithoutTools() *Agent {
	bare := a.like()
	bare.tools, bare.grants = nil, 0
	return bare
}

// WithOutput returns an agent that is like this one and whose every final answer
// fits the output.
func (a *Agent) WithOutput(output *Output) (*Agent, error) {
	bound := a.like()
	return bound, bound.bind(output)
}

// WithModel returns an agent that is like this one and asks another model, whose
// price and window are those given.
func (a *Agent) WithModel(model Model, price Price, window int) *Agent {
	other := a.like()
	other.model, other.price, other.window = model, price, window
	return other
}

// Name returns the agent's ID.
func (a *Agent) Name() string { return a.id }

// Definition says what the agent is told, may use and returns. Its model is no part
// of it: a run may go on with another.
func (a *Agent) Definition() *Definition { return a.prepared().definition }

func (a *Agent) prepared() *preparation {
	a.once.Do(func() {
		// NewAgent has checked every tool: the set cannot fail.
		tools, _ := NewToolSet(a.tools[:a.grants:a.grants]...)
		p := &preparation{tools: tools, definition: &Definition{Kind: kindAgent, Name: a.id}}
		text := a.system
		if a.output != nil && a.context == nil {
			text = strings.TrimPrefix(text+"\n\n"+a.output.prompt(), "\n\n")
		}
		if text != "" {
			sum := sha256.Sum256([]byte(text))
			p.system, p.sha = &Message{Role: RoleSystem, Text: text, Pinned: true}, hex.EncodeToString(sum[:])
		}
		if p.sha != "" || tools.Len() > 0 {
			p.definition.Settings = map[string]string{}
			if p.sha != "" {
				p.definition.Settings["instructions"] = p.sha[:16]
			}
			if tools.Len() > 0 {
				p.definition.Settings["tools"] = tools.names
			}
		}
		a.made = p
	})
	return a.made
}

// toolSet is what the agent's model may call.
func (a *Agent) toolSet() *ToolSet { return a.prepared().tools }

// onlyReads reports whether a call of a tool changes nothing: one of a tool that is
// not there does not.
func (a *Agent) onlyReads(name string) bool {
	set := a.toolSet()
	i := set.index(name)
	return i < 0 || set.specs[i].ReadOnly
}

// repeats reports whether a tool may be called again for the same.
func (a *Agent) repeats(name string) bool {
	set := a.toolSet()
	i := set.index(name)
	return i >= 0 && set.specs[i].RepeatSafe
}

// withholds reports whether the agent knows a tool that it may not use.
func (a *Agent) withholds(name string) bool {
	return slices.ContainsFunc(a.tools[a.grants:], func(t Tool) bool { return t.Spec().Name == name })
}

// AsTool makes a step, most often an agent, a tool that other agents can call. The
// step runs nested in the caller's run and shares its budget: at a limit it is not begun,
// and of the time for a last answer it leaves half to its caller. Its depth and its
// chain of callers are checked before any model is asked. Calling it again after
// an interruption is safe, because it resumes from its own log. Calls of agents all
// of whose tools only read run at the same time, others one after the other.
func AsTool(step Step, description string, options ...ToolOption) Tool {
	if isNil(step) {
		panic("troupe.AsTool: the step is nil: was the error of what makes it looked at?")
	}
	options = append([]ToolOption{Timeout(-1), RepeatSafe(), func(s *ToolSpec) {
		s.Output = nil
		if agent, ok := step.(*Agent); ok {
			s.ReadOnly = !slices.ContainsFunc(agent.toolSet().specs, func(s ToolSpec) bool { return !s.ReadOnly })
		}
	}}, options...)
	return NewToolWithCall(tidyName(step.Name()), description, func(ctx context.Context, call *Invocation, in agentTask) (string, error) {
		if stop := call.Run.Limit(); stop != "" {
			return "", &ToolError{Class: classUnauthorized, Message: "not carried out: " + limitText(stop, call.Run.budget)}
		}
		defer call.Run.leaveTime(ctx)()
		out, err := call.Run.Do(ctx, step, Handoff{Task: in.Task})
		if err == nil && out.Meta.Stop == stopInput {
			// The question goes to the user, and the answer to the one who asked.
			return "", &InputNeeded{Question: out.Summary, CallAgain: true}
		}
		return out.Summary, err
	}, options...)
}

type agentTask struct {
	Task string `json:"task" jsonschema:"what to do, with everything needed to do it: nothing else of this conversation is passed on"`
}
