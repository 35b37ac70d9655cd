package server

import (
	"context"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Every run of a flow has the node that it plays, however often its agent is in the flow, and in
// which round of a loop it does so: another message is none.
func TestARunHasItsPlaceInTheFlow(t *testing.T) {
	article := []FlowNode{
		{ID: "1", Kind: "agent", Agent: "desk"},
		{ID: "2", Kind: "parallel", Title: "drafts"}, {ID: "3", Kind: "agent", Agent: "writer", In: "2"}, {ID: "4", Kind: "agent", Agent: "writer", In: "2"},
		{ID: "5", Kind: "loop", Title: "polish"}, {ID: "6", Kind: "agent", Agent: "writer", In: "5"}, {ID: "7", Kind: "agent", Agent: "editor", In: "5"},
	}
	pair := []FlowNode{{ID: "1", Kind: "parallel"}, {ID: "2", Kind: "agent", Agent: "writer", In: "1"}, {ID: "3", Kind: "agent", Agent: "writer", In: "1"}, {ID: "4", Kind: "loop", Title: "polish", In: "1"}, {ID: "5", Kind: "agent", Agent: "writer", In: "4"}}
	mixed := []FlowNode{
		{ID: "1", Kind: "parallel", Step: "mixed"},
		{ID: "2", Kind: "sequence", Title: "left", In: "1"}, {ID: "3", Kind: "agent", Agent: "asker", In: "2"}, {ID: "4", Kind: "agent", Agent: "writer", In: "2"},
		{ID: "5", Kind: "sequence", Title: "right", In: "1"}, {ID: "6", Kind: "agent", Agent: "asker", In: "5"}, {ID: "7", Kind: "agent", Agent: "editor", In: "5"},
		{ID: "8", Kind: "sequence", Step: "mixed.3", In: "1"}, {ID: "9", Kind: "agent", Agent: "asker", In: "8"},
	}
	for _, c := range []struct {
		name  string
		nodes []FlowNode
		runs  []nested // "root" and "again" are those of callers
		want  map[string]place
	}{
		{"article", article, []nested{
			{"a", "root", "desk"}, {"b", "root", "drafts"}, {"c", "b", "writer"}, {"d", "b", "writer"},
			{"e", "root", "polish"}, {"f", "e", "writer"}, {"g", "e", "editor"}, {"h", "e", "writer"}, {"i", "e", "editor"},
			{"j", "again", "desk"}, {"k", "again", "somebody"},
		}, map[string]place{"a": {"1", 0}, "c": {"3", 0}, "d": {"4", 0}, "f": {"6", 1}, "g": {"7", 1}, "h": {"6", 2}, "i": {"7", 2}, "j": {"1", 0}}},
		{"pair", pair, []nested{{"a", "root", "writer"}, {"b", "root", "polish"}, {"c", "b", "inner"}, {"d", "c", "writer"}, {"e", "root", "writer"}},
			map[string]place{"a": {"2", 0}, "d": {"5", 1}, "e": {"3", 0}}},
		{"odd", []FlowNode{{ID: "1", Kind: "agent", Agent: "clerk"}, {ID: "2", Kind: "loop"}, {ID: "3", Kind: "agent", Agent: "clerk", In: "2"}}, []nested{{"a", "root", "clerk"}, {"b", "root", "loop"}, {"c", "b", "clerk"}, {"d", "again", "clerk"}},
			map[string]place{"a": {"1", 0}, "c": {"3", 1}, "d": {"1", 0}}},
		{"polish", []FlowNode{{ID: "1", Kind: "loop", Title: "polish"}, {ID: "2", Kind: "agent", Agent: "writer", In: "1"}}, []nested{{"a", "root", "writer"}, {"b", "root", "writer"}},
			map[string]place{"a": {"2", 1}, "b": {"2", 2}}},
		// Branches begin with the same agent, and the second is faster.
		{"mixed", mixed, []nested{
			{"right", "root", "right"}, {"left", "root", "left"}, {"a", "right", "asker"}, {"b", "left", "asker"}, {"c", "right", "editor"},
			{"unnamed", "root", "mixed.3"}, {"d", "unnamed", "asker"}, {"e", "left", "writer"},
			{"other", "again", "left"}, {"f", "other", "asker"},
		}, map[string]place{"a": {"6", 0}, "b": {"3", 0}, "c": {"7", 0}, "d": {"9", 0}, "e": {"4", 0}, "f": {"3", 0}}},
		// A sequence is played again in each round of its loop.
		{"rounds", []FlowNode{{ID: "1", Kind: "loop", Step: "rounds"}, {ID: "2", Kind: "sequence", Step: "rounds.1", In: "1"}, {ID: "3", Kind: "agent", Agent: "writer", In: "2"}, {ID: "4", Kind: "agent", Agent: "writer", In: "2"}},
			[]nested{{"first", "root", "rounds.1"}, {"a", "first", "writer"}, {"b", "first", "writer"}, {"second", "root", "rounds.1"}, {"c", "second", "writer"}, {"d", "second", "writer"}},
			map[string]place{"a": {"3", 1}, "b": {"4", 1}, "c": {"3", 2}, "d": {"4", 2}}},
		{"drafts", []FlowNode{{ID: "1", Kind: "loop", Step: "drafts"}, {ID: "2", Kind: "parallel", Title: "both", In: "1"}, {ID: "3", Kind: "sequence", Title: "one", In: "2"}, {ID: "4", Kind: "agent", Agent: "writer", In: "3"}, {ID: "5", Kind: "agent", Agent: "poet", In: "2"}},
			[]nested{{"b1", "root", "both"}, {"o1", "b1", "one"}, {"a", "o1", "writer"}, {"b", "b1", "poet"}, {"b2", "root", "both"}, {"c", "b2", "poet"}, {"o2", "b2", "one"}, {"d", "o2", "writer"}},
			map[string]place{"a": {"4", 1}, "b": {"5", 1}, "c": {"5", 2}, "d": {"4", 2}}},
		// The same flow twice, at the same time.
		{"twice", []FlowNode{
			{ID: "1", Kind: "parallel", Step: "twice"},
			{ID: "2", Kind: "sequence", Title: "pair", In: "1"}, {ID: "3", Kind: "agent", Agent: "writer", In: "2"}, {ID: "4", Kind: "agent", Agent: "editor", In: "2"},
			{ID: "5", Kind: "sequence", Title: "pair", In: "1"}, {ID: "6", Kind: "agent", Agent: "writer", In: "5"}, {ID: "7", Kind: "agent", Agent: "editor", In: "5"},
		}, []nested{{"p", "root", "pair"}, {"q", "root", "pair"}, {"a", "q", "writer"}, {"b", "q", "editor"}, {"c", "p", "writer"}, {"d", "p", "editor"}},
			map[string]place{"a": {"6", 0}, "b": {"7", 0}, "c": {"3", 0}, "d": {"4", 0}}},
	} {
		known := &summary{}
		known.note(&troupe.Event{Run: "root", Agent: c.name, Body: &troupe.RunStarted{}})
		for _, run := range c.runs {
			known.note(&troupe.Event{Run: run.id, Parent: run.parent, Agent: run.agent, Body: &troupe.RunStarted{}})
		}
		s := &Server{config: Config{Cast: drawn{c.name, c.nodes}}}
		p := s.placesOf(known)
		for _, run := range c.runs {
			if p.of[run.id] != c.want[run.id] {
				t.Errorf("%s: run %s of %s is at %+v, want %+v", c.name, run.id, run.agent, p.of[run.id], c.want[run.id])
			}
		}
		if last := c.runs[len(c.runs)-1]; s.nodeOf(known, last.id) != c.want[last.id].node {
			t.Errorf("%s: what %s asks is asked at %q", c.name, last.id, s.nodeOf(known, last.id))
		}
		if s.config.Cast = (drawn{"other", c.nodes}); s.placesOf(known) != nil {
			t.Errorf("%s: what is no flow has places", c.name)
		}
	}
}

// drawn is a cast of one flow.
type drawn struct {
	name  string
	nodes []FlowNode
}

func (d drawn) Agents() []Agent { return nil }

func (d drawn) Flows() []Flow { return []Flow{{Name: d.name, Nodes: d.nodes}} }

func (d drawn) Step(context.Context, string) (troupe.Step, error) { return nil, ErrUnknown }
