package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

// A flow is drawn as a graph: frames around agents, in their author's order, with edges
// onwards, and back into another round.
func TestAFlowIsAGraph(t *testing.T) {
	model := troupetest.NewServer(t)
	p := open(t, write(t, withServer(model.URL)+`
  polished: {sequence: [clerk, {parallel: [poet, clerk], name: drafts}, {loop: poet, check: clerk, max_rounds: 3}]}
  crew: {team: [clerk, poet]}
  forum: {group_chat: [clerk], manager: poet}
`), project.Options{})
	want := map[string]string{
		"polished": "1 clerk, 2 parallel drafts, 3 poet in 2, 4 clerk in 2, 5 loop of 3 rounds, 6 poet in 5, 7 clerk in 5; 1-3, 1-4, 3-6, 4-6, 6-7, 7-6 back",
		"crew":     "1 team, 2 clerk in 1, 3 poet in 1; 2-3",
		"forum":    "1 group_chat, 2 clerk in 1, 3 poet in 1; 3-2",
	}
	for _, f := range p.Flows() {
		if want[f.Name] == "" {
			continue
		}
		var nodes, edges []string
		for _, n := range f.Nodes {
			words := []string{n.ID, n.Kind}
			if n.Kind == "agent" {
				words[1] = n.Agent
			}
			if n.Title != "" {
				words = append(words, n.Title)
			}
			if n.In != "" {
				words = append(words, "in", n.In)
			}
			if n.MaxRounds > 0 {
				words = append(words, fmt.Sprintf("of %d rounds", n.MaxRounds))
			}
			nodes = append(nodes, strings.Join(words, " "))
		}
		for _, e := range f.Edges {
			edges = append(edges, e.From+"-"+e.To+map[bool]string{true: " back"}[e.Back])
		}
		slices.Sort(edges)
		if got := strings.Join(nodes, ", ") + "; " + strings.Join(edges, ", "); got != want[f.Name] {
			t.Errorf("%s:\n%s\nwant\n%s", f.Name, got, want[f.Name])
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}
