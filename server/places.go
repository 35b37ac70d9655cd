package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/troupe-dev/troupe"
)

// A nested run is one that another run of the session has begun.
type nested struct{ id, parent, agent string }

// played is who plays in a session: the agent or flow that is talked to, and the nested runs.
type played struct {
	name  string
	runs  []nested
	index map[string]int // of the runs, by their ids
}

// note takes the beginning of a run into account.
func (p *played) note(e *troupe.Event) {
	if e.Parent == "" {
		p.name = e.Agent
		return
	}
	if p.index == nil {
		p.index = map[string]int{}
	}
	p.index[e.Run] = len(p.runs)
	p.runs = append(p.runs, nested{e.Run, e.Parent, e.Agent})
}

// run is a nested run, whose id is "" where there is none.
func (p *played) run(id string) nested {
	if at, ok := p.index[id]; ok {
		return p.runs[at]
	}
	return nested{}
}

// root is the run of a caller that a run is in.
func (p *played) root(run nested) string {
	for p.run(run.parent).id != "" {
		run = p.run(run.parent)
	}
	return run.parent
}

// A place is what a run plays in a flow: the node, and in which round of the loop that it is in, 0
// where it is in none.
type place struct {
	node  string
	round int
}

// places are those of a session's runs in a flow.
type places struct {
	nodes  []FlowNode // of the flow as it was then
	placed int        // how many of the runs are
	of     map[string]place
	frames map[string]framePlay // that runs play
	times  map[turn]int
}

// A framePlay is a frame of a flow, and which playing of it: what is in it is counted for each anew.
// In a loop those are rounds; any other frame is in one round of the loop around it.
type framePlay struct {
	node, playing string
	round         int
	isLoop        bool
}

// A turn is that of an agent, or of a frame, in a frame around it.
type turn struct{ playing, name string }

// placesOf returns the places of a session's runs in its flow, nil where it is none. The summary
// is locked.
func (s *Server) placesOf(known *summary) *places {
	if len(known.played.runs) == 0 {
		return nil
	}
	flow, err := s.flowNamed(known.played.name)
	if err != nil || len(flow.Nodes) == 0 {
		return nil
	}
	p := known.places
	if p == nil || !slices.Equal(p.nodes, flow.Nodes) {
		p = &places{nodes: flow.Nodes, of: map[string]place{}, frames: map[string]framePlay{}, times: map[turn]int{}}
		known.places = p
	}
	for ; p.placed < len(known.played.runs); p.placed++ {
		p.put(known.played.runs[p.placed], &known.played)
	}
	return p
}

// put places a run. What is in a frame more than once plays its nodes one after the other, and then
// again, which in a loop is another round.
func (p *places) put(run nested, all *played) {
	around := p.frameOf(run, all)
	nodes := p.named(run.agent, func(n *FlowNode) bool { return n.In == around.node })
	isLost := len(nodes) == 0 || p.isHidden(run.agent)
	if isLost {
		around = framePlay{playing: all.root(run)}
		nodes = p.named(run.agent, func(*FlowNode) bool { return true })
	}
	if len(nodes) == 0 {
		return
	}
	its := turn{around.playing, run.agent}
	n := p.times[its]
	p.times[its]++
	at, round := nodes[n%len(nodes)], around.round
	if around.isLoop || isLost && p.isInLoop(at) {
		round = n/len(nodes) + 1
	}
	switch at.Kind {
	case "agent":
		p.of[run.id] = place{at.ID, round}
	case "sequence":
		// It is played once in each round of what it is in, and those are counted there.
		p.frames[run.id] = framePlay{at.ID, around.playing + " " + at.ID, round, around.isLoop}
	default:
		p.frames[run.id] = framePlay{at.ID, run.id, round, at.Kind == "loop"}
	}
}

// frameOf is the innermost frame that a run is in. The run of a caller plays the outermost.
func (p *places) frameOf(run nested, all *played) framePlay {
	for run.parent != "" {
		if around, ok := p.frames[run.parent]; ok {
			return around
		}
		around := all.run(run.parent)
		if around.id == "" {
			return p.outermost(run.parent)
		}
		run = around
	}
	return framePlay{}
}

// outermost is the playing of the whole flow by a caller's run, whose frame need not be drawn.
func (p *places) outermost(run string) framePlay {
	first := &p.nodes[0]
	if first.Kind == "agent" || slices.ContainsFunc(p.nodes[1:], func(n FlowNode) bool { return n.In == "" }) {
		return framePlay{playing: run}
	}
	return framePlay{node: first.ID, playing: run, isLoop: first.Kind == "loop"}
}

// isInLoop says that a node is in a loop, or in a frame that is.
func (p *places) isInLoop(n *FlowNode) bool {
	for range p.nodes { // a cast may say of frames that they are in each other
		at := slices.IndexFunc(p.nodes, func(frame FlowNode) bool { return frame.ID == n.In })
		if at < 0 {
			return false
		}
		if n = &p.nodes[at]; n.Kind == "loop" {
			return true
		}
	}
	return false
}

// isHidden says that an agent plays in a frame which has no name: its runs cannot be told from others.
func (p *places) isHidden(agent string) bool {
	for _, n := range p.nodes {
		at := slices.IndexFunc(p.nodes, func(frame FlowNode) bool { return frame.ID == n.In })
		if n.Kind == "agent" && n.Agent == agent && at > 0 && p.nodes[at].step() == "" {
			return true
		}
	}
	return false
}

// named are the nodes of runs that have a name, where they are fit.
func (p *places) named(name string, isFit func(*FlowNode) bool) (nodes []*FlowNode) {
	for i := range p.nodes {
		if n := &p.nodes[i]; n.step() == name && isFit(n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// step is the name of the runs of a node.
func (n *FlowNode) step() string { return cmp.Or(n.Agent, n.Step, n.Title) }

// nodeOf is the node of a flow at which something is asked: that of the run, or of the one
// around it. The summary is locked.
func (s *Server) nodeOf(known *summary, run string) string {
	p := s.placesOf(known)
	if p == nil {
		return ""
	}
	for ; run != ""; run = known.played.run(run).parent {
		if at, ok := p.of[run]; ok {
			return at.node
		}
	}
	return ""
}

// begunAt is what a run that an event tells the beginning of plays in a flow. It is the zero place
// for others.
func (s *Server) begunAt(e *troupe.Event) (place, error) {
	if _, begins := e.Body.(*troupe.RunStarted); !begins || e.Parent == "" {
		return place{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), shelfTime)
	defer cancel()
	known, err := s.summaryOf(ctx, &troupe.SessionInfo{ID: e.Session, Events: e.Seq})
	if err != nil {
		return place{}, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if p := s.placesOf(known); p != nil {
		return p.of[e.Run], nil
	}
	return place{}, nil
}
