package server

import (
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

// A place is what a run plays in a flow: the node, and which time it does so in its frame.
type place struct {
	node  string
	round int
}

// places are those of a session's runs in a flow.
type places struct {
	nodes  []FlowNode // of the flow as it was then
	placed int        // how many of the runs are
	of     map[string]place
	times  map[turn]int
}

// A turn is that of an agent in a frame which a run plays.
type turn struct{ frame, agent string }

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
		p = &places{nodes: flow.Nodes, of: map[string]place{}, times: map[turn]int{}}
		known.places = p
	}
	for ; p.placed < len(known.played.runs); p.placed++ {
		p.put(known.played.runs[p.placed], &known.played)
	}
	return p
}

// put places a run. An agent that is in a frame more than once plays its nodes one after the
// other, and then again, which is another round.
func (p *places) put(run nested, all *played) {
	in, around := p.frameOf(run, all)
	nodes := p.playedBy(run.agent, func(n *FlowNode) bool { return n.In == in })
	if len(nodes) == 0 || p.isHidden(run.agent) {
		nodes, around = p.playedBy(run.agent, func(*FlowNode) bool { return true }), all.root(run)
	}
	if len(nodes) == 0 {
		return
	}
	its := turn{around, run.agent}
	n := p.times[its]
	p.times[its]++
	p.of[run.id] = place{nodes[n%len(nodes)], n/len(nodes) + 1}
}

// frameOf is the innermost frame that a run is in, and the run that plays it.
func (p *places) frameOf(run nested, all *played) (frame, around string) {
	for around = run.parent; ; around = run.parent {
		run = all.run(around)
		isOutermost := run.id == ""
		if isOutermost {
			run.agent = all.name
		}
		for i := range p.nodes {
			if n := &p.nodes[i]; n.Kind != "agent" && (n.Title == run.agent || isOutermost && n.Title == "" && n.In == "" && i == 0) {
				return n.ID, around
			}
		}
		if isOutermost {
			return "", around
		}
	}
}

// isHidden says that an agent plays in a frame which has no name: its runs cannot be told from others.
func (p *places) isHidden(agent string) bool {
	for _, n := range p.nodes {
		at := slices.IndexFunc(p.nodes, func(frame FlowNode) bool { return frame.ID == n.In })
		if n.Kind == "agent" && n.Agent == agent && at > 0 && p.nodes[at].Title == "" {
			return true
		}
	}
	return false
}

// playedBy are the nodes of an agent that are fit.
func (p *places) playedBy(agent string, isFit func(*FlowNode) bool) (ids []string) {
	for i := range p.nodes {
		if n := &p.nodes[i]; n.Kind == "agent" && n.Agent == agent && isFit(n) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

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
