package flows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/flows"
	"github.com/troupe-dev/troupe/troupetest"
)

var agents = []string{"ann", "bob", "cid", "dora"}

func maker(t *testing.T, yaml string, script map[string][]troupetest.Turn) *flows.Maker {
	t.Helper()
	c, err := config.Parse("troupe.yaml", []byte(yaml), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return &flows.Maker{
		File: "troupe.yaml", Flows: c.Flows, Agents: agents,
		Describe: func(id string) string { return "Is " + id + "." },
		Agent: func(id string) (*troupe.Agent, error) {
			return troupe.NewAgent(troupe.AgentConfig{ID: id, Model: troupetest.NewScript(t, script[id]...)})
		},
	}
}

const every = `
flows:
  article:
    description: Writes.
    sequence:
      - ann
      - {parallel: [bob, cid], quorum: 1, max_parallel: 1}
      - name: polish
        loop: dora
        until: done
        max_rounds: 2
  reviews: {parallel: [ann, bob], quorum: 2}
  desk: {team: [ann, bob], max_handoffs: 3}
  panel: {group_chat: [bob, cid], manager: ann, plan: true, turns: 4}
  lead: {agent: ann, experts: [bob, reviews, {name: duo, sequence: [cid, dora], continue_on_error: true}]}
  checked: {loop: article, check: cid}
`

func TestEveryFlowIsMadeAndDrawn(t *testing.T) {
	m := maker(t, every, nil)
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	for name := range m.Flows {
		step, err := m.Step(name)
		if err != nil || step.Name() != name {
			t.Errorf("%s: %v, %v", name, step, err)
		}
	}
	want := `checked (loop)
├─ article (sequence)
│  ├─ ann  m
│  ├─ article.2 (parallel, until one has succeeded, 1 at a time)
│  │  ├─ bob  m
│  │  └─ cid  m
│  └─ polish (loop, until the answer has "done", at most 2 rounds)
│     └─ dora  m
└─ check: cid  m
`
	if got := m.Plan("checked", func(string) string { return "m" }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = `lead (an agent with experts)
├─ ann
├─ as a tool: bob
├─ as a tool: reviews (parallel, until 2 have succeeded)
│  ├─ ann
│  └─ bob
└─ as a tool: duo (sequence, goes on when a part fails)
   ├─ cid
   └─ dora
`
	if got := m.Plan("lead", func(string) string { return "" }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAFlowRunsAsItIsDescribed(t *testing.T) {
	m := maker(t, every, map[string][]troupetest.Turn{
		"ann": {troupetest.Say("facts")}, "bob": {troupetest.Say("draft")}, "dora": {troupetest.Say("not yet"), troupetest.Say("done")},
	})
	step, err := m.Step("article")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(t.Context(), step, troupe.Input{Text: "write"}))
	if err != nil || outcome.Text != "done" {
		t.Errorf("%+v, %v", outcome, err)
	}
	var done []string
	for name := range outcome.Handoff.Outputs {
		done = append(done, name)
	}
	if slices.Sort(done); fmt.Sprint(done) != "[ann bob]" {
		t.Errorf("the earlier answers are %v", outcome.Handoff.Outputs)
	}
}

func TestWhatOnlyTheAgentsTell(t *testing.T) {
	for yaml, want := range map[string]string{
		"flows:\n  f:\n    sequence:\n    - ann\n    - bop\n":                             `5: flows.f: there is no agent or flow "bop"; did you mean bob?`,
		"flows:\n  ann: {sequence: [bob]}\n":                                              "2: flows.ann: there is an agent of that name",
		"flows:\n  f: {team: [ann, g]}\n  g: {sequence: [bob]}\n":                         "2: flows.f.team: g is a flow; only an agent will do here",
		"flows:\n  f: {group_chat: [ann], manager: eve}\n":                                `2: flows.f.manager: there is no agent "eve"`,
		"flows:\n  f: {parallel: [ann, ann]}\n":                                           "2: flows.f: ann is there twice",
		"flows:\n  f: {sequence: [g]}\n  g: {parallel: [ann, h]}\n  h: {sequence: [f]}\n": "4: flows.f runs inside itself: f → g → h → f",
		"flows:\n  f: {sequence: [f]}\n":                                                  "2: flows.f runs inside itself: f → f",
	} {
		err := maker(t, yaml, nil).Check()
		if err == nil || !strings.Contains(err.Error(), "troupe.yaml:"+want) {
			t.Errorf("%s\ngot  %v\nwant %s", yaml, err, want)
		}
	}
}
