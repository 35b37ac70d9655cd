package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Flow is agents arranged in one way: just one of Sequence, Parallel, Team,
// GroupChat, Loop and Agent is set.
type Flow struct {
	Name        string `yaml:"name" doc:"The name of a flow within a flow. Default: made of the outer one's name."`
	Description string `yaml:"description" doc:"What it is good for."`

	Sequence []Part `yaml:"sequence" doc:"One after the other, each with what the one before hands over."`

	ContinueOnError bool `yaml:"continue_on_error" doc:"Has a sequence go on when a part fails. Default: it fails with the part."`

	Parallel    []Part `yaml:"parallel" doc:"At the same time, on the same task."`
	Quorum      int    `yaml:"quorum" doc:"How many successes are enough for a parallel: 1 for the first. Default: all parts are waited for."`
	MaxParallel int    `yaml:"max_parallel" doc:"How many parts run at the same time. Default: all."`

	Team        []string `yaml:"team" doc:"Agents that hand the task to each other. The first begins."`
	MaxHandoffs int      `yaml:"max_handoffs" doc:"How often control may pass on. Default: 8."`

	GroupChat []Part `yaml:"group_chat" doc:"Parts that talk with each other."`
	Manager   string `yaml:"manager" doc:"The agent that says who speaks, and ends the chat. Default: they speak in turn."`
	Plan      bool   `yaml:"plan" doc:"Has the manager keep a ledger of what is known and to be done."`
	Turns     int    `yaml:"turns" doc:"How often the parts speak in all. Default: three times each."`

	Loop      *Part  `yaml:"loop" doc:"Again and again, until its outcome will do."`
	Check     string `yaml:"check" doc:"The agent that says whether a loop's outcome will do."`
	Until     string `yaml:"until" doc:"What an outcome that will do contains."`
	MaxRounds int    `yaml:"max_rounds" doc:"How often a loop goes round at most. Default: 5."`

	Agent   string `yaml:"agent" doc:"The agent that coordinates others."`
	Experts []Part `yaml:"experts" doc:"What the agent can use as tools."`

	node *yaml.Node `yaml:"-"`
}

// NewGroupChat is the flow in which agents talk with each other, as if troupe.yaml had it.
func NewGroupChat(description string, agents ...string) Flow {
	f := Flow{Description: description, node: &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: "group_chat"}, {Kind: yaml.SequenceNode},
	}}}
	for _, id := range agents {
		f.GroupChat = append(f.GroupChat, Part{Name: id})
	}
	return f
}

// Line is where a key of the flow stands, or the flow itself if the key is not there.
func (f *Flow) Line(key string) int {
	if f.node == nil {
		return 0
	}
	return lineOf(f.node, key)
}

// A Part is a step of a flow: the name of an agent or a flow, or a flow itself.
type Part struct {
	Name string
	Flow *Flow
	Line int
}

var partType = reflect.TypeFor[Part]()

func (r *reader) fillPart(n *yaml.Node, v reflect.Value, at place) {
	part := Part{Line: n.Line}
	if n.Kind == yaml.MappingNode {
		part.Flow = &Flow{}
		r.fill(n, reflect.ValueOf(part.Flow).Elem(), at)
	} else {
		r.fill(n, reflect.ValueOf(&part.Name).Elem(), at)
	}
	v.Set(reflect.ValueOf(part))
}

// flowKinds are the keys of which a flow has one, each with those that go with it.
var flowKinds = []struct {
	key  string
	with []string
}{
	{"sequence", []string{"continue_on_error"}},
	{"parallel", []string{"quorum", "max_parallel"}},
	{"team", []string{"max_handoffs"}},
	{"group_chat", []string{"manager", "plan", "turns"}},
	{"loop", []string{"check", "until", "max_rounds"}},
	{"agent", []string{"experts"}},
}

// Kind is the key that says how the flow is arranged.
func (f *Flow) Kind() string {
	for _, k := range flowKinds {
		if f.has(k.key) {
			return k.key
		}
	}
	return ""
}

func (f *Flow) has(key string) bool {
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		if f.node.Content[i].Value == key {
			return true
		}
	}
	return false
}

// Parts are what the flow is made of, in order, managers and checks included.
func (f *Flow) Parts() []Part {
	parts := slices.Concat(f.Sequence, f.Parallel, f.GroupChat)
	if f.Loop != nil {
		parts = append(parts, *f.Loop)
	}
	names := append(slices.Clone(f.Team), f.Agent, f.Manager, f.Check)
	for i, name := range names {
		if name != "" {
			key := "team"
			if i >= len(f.Team) {
				key = []string{"agent", "manager", "check"}[i-len(f.Team)]
			}
			parts = append(parts, Part{Name: name, Line: f.Line(key)})
		}
	}
	return append(parts, f.Experts...)
}

// checkFlow refuses a flow that is arranged in no way or in several, and numbers
// that make no sense.
func (r *reader) checkFlow(f *Flow, at string) {
	var kinds, known []string
	for _, k := range flowKinds {
		known = append(known, k.key)
		if f.has(k.key) {
			kinds = append(kinds, k.key)
		}
	}
	if len(kinds) != 1 {
		r.wrong(f.node.Line, "%s has one of %s%s", at, strings.Join(known, ", "), notSeveral(kinds))
		return
	}
	for _, k := range flowKinds {
		for _, key := range k.with {
			if k.key != kinds[0] && f.has(key) {
				r.wrong(f.Line(key), "%s: %s goes with %s, not with %s", at, key, k.key, kinds[0])
			}
		}
	}
	r.checkNumbers(f, at)
	for _, part := range f.Parts() {
		if part.Flow != nil && part.Flow.node != nil {
			r.checkFlow(part.Flow, at+"."+kinds[0])
		} else if part.Name == "" {
			r.wrong(part.Line, "%s: a part is the name of an agent or a flow, or a flow", at)
		}
	}
}

func notSeveral(kinds []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return fmt.Sprintf(", not %s at once", strings.Join(kinds, " and "))
}

func (r *reader) checkNumbers(f *Flow, at string) {
	for key, n := range map[string]int{"quorum": f.Quorum, "max_parallel": f.MaxParallel, "max_handoffs": f.MaxHandoffs, "turns": f.Turns, "max_rounds": f.MaxRounds} {
		if n < 0 {
			r.wrong(f.Line(key), "%s.%s is not negative", at, key)
		}
	}
	switch {
	case f.Quorum > len(f.Parallel):
		r.wrong(f.Line("quorum"), "%s: a quorum of %d successes is not possible with %d parts", at, f.Quorum, len(f.Parallel))
	case f.Loop != nil && (f.Check == "") == (f.Until == ""):
		r.wrong(f.Line("loop"), "%s: a loop needs either check, an agent, or until, a text", at)
	case f.Plan && f.Manager == "":
		r.wrong(f.Line("plan"), "%s: a plan needs a manager", at)
	}
	for _, list := range []struct {
		key string
		n   int
	}{{"sequence", len(f.Sequence)}, {"parallel", len(f.Parallel)}, {"team", len(f.Team)}, {"group_chat", len(f.GroupChat)}} {
		if f.has(list.key) && list.n == 0 {
			r.wrong(f.Line(list.key), "%s.%s has no parts", at, list.key)
		}
	}
	if f.has("agent") && len(f.Experts) == 0 {
		r.wrong(f.Line("agent"), "%s: an agent on its own is no flow; experts are what it can use as tools", at)
	}
}
