package project

import (
	"strconv"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// flowGraph is a flow as a graph: agents are its nodes, arrangements the frames around
// them, and edges lead from what is done to what is done next.
func flowGraph(flows map[string]config.Flow, name string) ([]server.FlowNode, []server.FlowEdge) {
	g := graph{flows: flows}
	flow := flows[name]
	g.flow(&flow, "", 0)
	return g.nodes, g.edges
}

// A graph is drawn part by part.
type graph struct {
	flows map[string]config.Flow
	nodes []server.FlowNode
	edges []server.FlowEdge
}

// maxFlowDepth is how deep flows in flows are drawn: configuration allows no circles,
// but for what is drawn that is none of its business.
const maxFlowDepth = 20

// ends are the nodes that a part of a graph begins and ends with.
type ends struct{ first, last []string }

func (g *graph) node(n server.FlowNode) string {
	n.ID = strconv.Itoa(len(g.nodes) + 1)
	g.nodes = append(g.nodes, n)
	return n.ID
}

func (g *graph) agent(name, in string) ends {
	id := g.node(server.FlowNode{Kind: "agent", Agent: name, In: in})
	return ends{[]string{id}, []string{id}}
}

func (g *graph) link(from, to []string, back bool) {
	for _, f := range from {
		for _, t := range to {
			g.edges = append(g.edges, server.FlowEdge{From: f, To: t, Back: back})
		}
	}
}

// part draws an agent, a flow by its name, or a flow that stands there itself.
func (g *graph) part(p config.Part, in string, depth int) ends {
	if p.Flow != nil {
		return g.flow(p.Flow, in, depth+1)
	}
	if flow, ok := g.flows[p.Name]; ok {
		return g.flow(&flow, in, depth+1)
	}
	return g.agent(p.Name, in)
}

// flow draws a flow in a frame.
func (g *graph) flow(f *config.Flow, in string, depth int) ends {
	if depth > maxFlowDepth {
		return ends{}
	}
	switch f.Kind() {
	case "sequence":
		return g.sequence(f.Sequence, in, depth)
	case "parallel":
		return g.together(f.Parallel, g.node(server.FlowNode{Kind: "parallel", Title: f.Name, In: in}), depth)
	case "group_chat":
		frame := g.node(server.FlowNode{Kind: "group_chat", Title: f.Name, In: in})
		all := g.together(f.GroupChat, frame, depth)
		if f.Manager == "" {
			return all
		}
		manager := g.agent(f.Manager, frame)
		g.link(manager.last, all.first, false)
		return ends{manager.first, all.last}
	case "team":
		return g.team(f.Team, g.node(server.FlowNode{Kind: "team", Title: f.Name, In: in}))
	case "loop":
		return g.loop(f, g.node(server.FlowNode{Kind: "loop", Title: f.Name, In: in, MaxRounds: f.MaxRounds}), depth)
	case "agent":
		frame := g.node(server.FlowNode{Kind: "experts", Title: f.Name, In: in})
		lead := g.agent(f.Agent, frame)
		experts := g.together(f.Experts, frame, depth)
		g.link(lead.last, experts.first, false)
		return lead
	}
	return ends{}
}

func (g *graph) sequence(parts []config.Part, in string, depth int) (whole ends) {
	for _, p := range parts {
		next := g.part(p, in, depth)
		if whole.first == nil {
			whole.first = next.first
		}
		g.link(whole.last, next.first, false)
		whole.last = next.last
	}
	return whole
}

func (g *graph) together(parts []config.Part, in string, depth int) (whole ends) {
	for _, p := range parts {
		next := g.part(p, in, depth)
		whole.first = append(whole.first, next.first...)
		whole.last = append(whole.last, next.last...)
	}
	return whole
}

// team draws who may hand over to whom: the first begins, and all may end it.
func (g *graph) team(names []string, frame string) (whole ends) {
	for i, name := range names {
		next := g.agent(name, frame)
		if i == 0 {
			whole.first = next.first
		} else {
			g.link(whole.first, next.first, false)
		}
		whole.last = append(whole.last, next.last...)
	}
	return whole
}

func (g *graph) loop(f *config.Flow, frame string, depth int) ends {
	whole := g.part(*f.Loop, frame, depth)
	if f.Check != "" {
		check := g.agent(f.Check, frame)
		g.link(whole.last, check.first, false)
		whole.last = check.last
	}
	g.link(whole.last, whole.first, true)
	return whole
}
