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
// onwards, and back into another round. Frames have the names of their runs.
func TestAFlowIsAGraph(t *testing.T) {
	model := troupetest.NewServer(t)
	p := open(t, write(t, withServer(model.URL)+`
  polished: {sequence: [clerk, {parallel: [poet, clerk], name: drafts}, {loop: poet, check: clerk, max_rounds: 3}]}
  crew: {team: [clerk, poet]}
  forum: {group_chat: [clerk], manager: poet}
  mixed: {parallel: [{name: left, sequence: [clerk, poet]}, {sequence: [clerk, duet]}]}
  duet: {sequence: [poet, poet]}
`), project.Options{})
	want := map[string]string{
		"polished": "1 clerk, 2 parallel drafts, 3 poet in 2, 4 clerk in 2, 5 loop as polished.3 of 3 rounds, 6 poet in 5, 7 clerk in 5; 1-3, 1-4, 3-6, 4-6, 6-7, 7-6 back",
		"crew":     "1 team as crew, 2 clerk in 1, 3 poet in 1; 2-3",
		"forum":    "1 group_chat as forum, 2 clerk in 1, 3 poet in 1; 3-2",
		"mixed":    "1 parallel as mixed, 2 sequence left in 1, 3 clerk in 2, 4 poet in 2, 5 sequence as mixed.2 in 1, 6 clerk in 5, 7 sequence duet in 5, 8 poet in 7, 9 poet in 7; 3-4, 6-8, 8-9",
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
			if n.Step != n.Title {
				words = append(words, "as", n.Step)
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
