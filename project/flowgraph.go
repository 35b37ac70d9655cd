package project

import (
	"strconv"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/flows"
	"github.com/troupe-dev/troupe/server"
)

// flowGraph is a flow as a graph: agents are its nodes, arrangements the frames around
// them, and edges lead from what is done to what is done next.
func flowGraph(all map[string]config.Flow, name string) ([]server.FlowNode, []server.FlowEdge) {
	g := graph{flows: all}
	flow := all[name]
	g.flow(&flow, server.FlowNode{Title: flow.Name, Step: name}, 0)
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

// A frame is around parts of a graph: its node, which the outermost may lack, and what its runs are
// called.
type frame struct{ id, step string }

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

// part draws what is at a place in a frame: an agent, a flow by its name, or a flow that stands
// there itself.
func (g *graph) part(p config.Part, at int, in frame, depth int) ends {
	step := flows.InnerName(in.step, at, p)
	if p.Flow != nil {
		return g.flow(p.Flow, server.FlowNode{Title: p.Flow.Name, Step: step, In: in.id}, depth+1)
	}
	if flow, ok := g.flows[p.Name]; ok {
		return g.flow(&flow, server.FlowNode{Title: p.Name, Step: step, In: in.id}, depth+1)
	}
	return g.agent(p.Name, in.id)
}

// flow draws a flow, which has a frame around it unless it is the outermost and a sequence.
func (g *graph) flow(f *config.Flow, around server.FlowNode, depth int) ends {
	if depth > maxFlowDepth {
		return ends{}
	}
	around.Kind = f.Kind()
	switch around.Kind {
	case "":
		return ends{}
	case "agent":
		around.Kind = "experts"
	case "loop":
		around.MaxRounds = f.MaxRounds
	}
	in := frame{step: around.Step}
	if around.Kind != "sequence" || depth > 0 {
		in.id = g.node(around)
	}
	return g.within(f, in, depth)
}

// within draws the parts of a flow in its frame.
func (g *graph) within(f *config.Flow, in frame, depth int) ends {
	switch f.Kind() {
	case "sequence":
		return g.sequence(f.Sequence, in, depth)
	case "parallel":
		return g.together(f.Parallel, in, depth)
	case "group_chat":
		all := g.together(f.GroupChat, in, depth)
		if f.Manager == "" {
			return all
		}
		manager := g.agent(f.Manager, in.id)
		g.link(manager.last, all.first, false)
		return ends{manager.first, all.last}
	case "team":
		return g.team(f.Team, in.id)
	case "loop":
		return g.loop(f, in, depth)
	}
	lead := g.agent(f.Agent, in.id)
	experts := g.together(f.Experts, in, depth)
	g.link(lead.last, experts.first, false)
	return lead
}

func (g *graph) sequence(parts []config.Part, in frame, depth int) (whole ends) {
	for i, p := range parts {
		next := g.part(p, i, in, depth)
		if whole.first == nil {
			whole.first = next.first
		}
		g.link(whole.last, next.first, false)
		whole.last = next.last
	}
	return whole
}

func (g *graph) together(parts []config.Part, in frame, depth int) (whole ends) {
	for i, p := range parts {
		next := g.part(p, i, in, depth)
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

func (g *graph) loop(f *config.Flow, in frame, depth int) ends {
	whole := g.part(*f.Loop, 0, in, depth)
	if f.Check != "" {
		check := g.agent(f.Check, in.id)
		g.link(whole.last, check.first, false)
		whole.last = check.last
	}
	g.link(whole.last, whole.first, true)
	return whole
}
