package server

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// An Agent is how an agent is listed.
type Agent struct {
	Bundle string `json:"bundle"`
	// BundleTitle is what the bundle calls itself.
	BundleTitle string `json:"bundle_title,omitempty"`
	ID          string `json:"id"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Icon        string `json:"icon"`
	Description string `json:"description"`
	// About is a sentence on who it is, by its author, where there is no description.
	About      string `json:"about,omitempty"`
	EntryPoint bool   `json:"entry_point"`
	Format     string `json:"format"`
	Path       string `json:"path"`
	// Broken says why the agent cannot start, empty if it can. It is for developers; Lacks is
	// the name of the file that is missing, where that is why, for everybody.
	Broken string `json:"broken,omitempty"`
	Lacks  string `json:"lacks,omitempty"`
	// Model is the one that answers for it.
	Model string `json:"model,omitempty"`
	// Tools are those that it may use.
	Tools []string `json:"tools,omitempty"`
	// Greets says that its author has it speak first.
	Greets   bool      `json:"greets,omitempty"`
	Commands []Command `json:"commands"`
}

// A Command is something that an agent can be told to do by name.
type Command struct {
	Cmd         string `json:"cmd"`
	Description string `json:"description"`
	Kind        string `json:"kind"`
	Target      string `json:"target"`
	// Label is what people read, Trigger what the agent is sent.
	Label    string   `json:"label,omitempty"`
	Trigger  string   `json:"trigger,omitempty"`
	Synonyms []string `json:"synonyms,omitempty"`
	Group    string   `json:"group,omitempty"`
	// Asks is how often it asks something, 0 where that is not known.
	Asks int `json:"asks,omitempty"`
	// Hidden commands are no tasks: help, exit and the menu itself.
	Hidden bool `json:"hidden,omitempty"`
}

var (
	shortcut    = regexp.MustCompile(`^\[[A-Za-z0-9]{1,4}\]\s*`)
	noTask      = regexp.MustCompile(`(?i)^\*?(help|exit|quit|menu|mh|da|chat|ch|party-mode|pm|yolo)\b`)
	labelLength = 90
)

// completed fills in what an agent's list of commands leaves out.
func completed(a Agent) Agent {
	a.Commands = slices.Clone(listed(a.Commands))
	for i := range a.Commands {
		c := &a.Commands[i]
		if c.Trigger == "" {
			c.Trigger = c.Cmd
			if !strings.HasPrefix(c.Trigger, "*") {
				c.Trigger = "*" + c.Trigger
			}
		}
		if c.Label == "" {
			c.Label = labelOf(c)
		}
		c.Hidden = c.Hidden || noTask.MatchString(c.Cmd)
	}
	return a
}

// labelOf is the author's own text for people, without its shortcut, up to its first
// stop. Where there is none it is the command's name in words.
func labelOf(c *Command) string {
	label := shortcut.ReplaceAllString(strings.TrimSpace(c.Description), "")
	if first, _, ok := strings.Cut(label, ". "); ok && len(label) > labelLength {
		label = first
	}
	if label != "" {
		return strings.TrimSuffix(label, ".")
	}
	words := strings.ReplaceAll(strings.TrimPrefix(c.Cmd, "*"), "-", " ")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// A Flow is how a flow is listed.
type Flow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Tree draws its steps, one on each line.
	Tree string `json:"tree"`
	// Nodes and Edges are the same as a graph.
	Nodes []FlowNode `json:"nodes,omitempty"`
	Edges []FlowEdge `json:"edges,omitempty"`
}

// A FlowNode is an agent in a flow, or a frame around some.
type FlowNode struct {
	ID string `json:"id"`
	// Kind is agent, sequence, parallel, loop, team, group_chat or experts.
	Kind  string `json:"kind"`
	Agent string `json:"agent,omitempty"`
	Title string `json:"title,omitempty"`
	// Step is what the runs of a frame are called. Default: the title.
	Step string `json:"-"`
	// In is the frame that it is in.
	In string `json:"in,omitempty"`
	// MaxRounds is how often a loop goes round at most, where its author has said so.
	MaxRounds int `json:"max_rounds,omitempty"`
}

// A FlowEdge leads from what is done to what is done next.
type FlowEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Back edges lead into another round.
	Back bool `json:"back,omitempty"`
}

func (s *Server) listAgents(*call) ([]Agent, error) {
	list := slices.Clone(listed(s.config.Cast.Agents()))
	for i := range list {
		list[i] = completed(list[i])
	}
	return list, nil
}

func (s *Server) listFlows(*call) ([]Flow, error) { return listed(s.config.Cast.Flows()), nil }

func (s *Server) showFlow(c *call) (Flow, error) { return s.flowNamed(c.r.PathValue("name")) }

func (s *Server) flowNamed(name string) (Flow, error) {
	for _, flow := range s.config.Cast.Flows() {
		if flow.Name == name {
			return flow, nil
		}
	}
	return Flow{}, refuse(http.StatusNotFound, "there is no flow named %.64q", name)
}

// listed is a list that JSON shows as one when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *Server) runFlow(c *call, in message) (started, error) {
	return s.runApart(c, c.r.PathValue("name"), in)
}

// A delivery is a request to the pipeline.
type delivery struct {
	Request string `json:"request"`
	DeliveryOptions
}

// DeliveryOptions say how a request is delivered. What is left out is as configured.
type DeliveryOptions struct {
	// Approve is when a person is asked: auto, plan, diff or manual.
	Approve string `json:"approve,omitempty" jsonschema:"auto, plan, diff or manual"`
	// Budget is the most that it may cost, in US dollars.
	Budget float64 `json:"budget,omitempty"`
	// Project is the directory or repository that is read.
	Project string `json:"project,omitempty"`
	// Agents are who does which phase, by the phase's name.
	Agents map[string]string `json:"agents,omitempty"`
}

func (o *DeliveryOptions) isEmpty() bool {
	return o.Approve == "" && o.Budget == 0 && o.Project == "" && len(o.Agents) == 0
}

func (s *Server) deliver(c *call, in delivery) (started, error) {
	if in.Budget < 0 {
		return started{}, errBudget
	}
	if s.config.Deliveries == nil && in.isEmpty() {
		return s.runApart(c, Pipeline, message{Text: in.Request})
	}
	if s.config.Deliveries == nil {
		return started{}, absent("choice of how to deliver")
	}
	asked, err := s.inputApart(c, message{Text: in.Request})
	if err != nil {
		return started{}, err
	}
	step, input, err := s.config.Deliveries.Start(c.r.Context(), in.Request, in.DeliveryOptions)
	if err != nil {
		return started{}, told(http.StatusUnprocessableEntity, err)
	}
	input.IdempotencyKey = asked.IdempotencyKey
	run, err := s.begin(c, step, input)
	if err != nil {
		return started{}, err
	}
	return run.started, nil
}

// listDeliveries lists the sessions of the pipeline.
func (s *Server) listDeliveries(c *call) ([]sessionView, error) {
	list, err := collect(s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{User: c.user, Agent: Pipeline, Limit: usualSessions}), usualSessions)
	if err != nil {
		return nil, err
	}
	return s.views(c.r.Context(), list)
}

// runApart runs a step in a session of its own.
func (s *Server) runApart(c *call, name string, in message) (started, error) {
	input, err := s.inputApart(c, in)
	if err != nil {
		return started{}, err
	}
	run, err := s.say(c, name, input)
	if err != nil {
		return started{}, err
	}
	return run.started, nil
}

// inputApart makes the input of a run that has a session of its own, which the engine
// finds again by the request's key.
func (s *Server) inputApart(c *call, in message) (troupe.Input, error) {
	key, err := c.key()
	if err != nil {
		return troupe.Input{}, err
	}
	input, err := s.input(in)
	input.IdempotencyKey = key
	return input, err
}
