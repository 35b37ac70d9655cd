package project_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

// ruled is a project in which a person is asked about what the rules say, with agents
// that come to their calls in every way there is.
func ruled(url, rules string) string {
	return withServer(url) + `
  lead: {agent: poet, experts: [clerk, both]}
  nested: {sequence: [{loop: clerk, until: DONE, max_rounds: 1}]}
  crew: {team: [clerk, poet]}
  forum: {group_chat: [clerk, poet], turns: 2}
  side: {parallel: [clerk, poet]}
approve: ` + rules + "\n"
}

func TestRulesApplyHoweverACallComesAbout(t *testing.T) {
	calculate := troupetest.ServeCalls(troupe.ToolCall{ID: "1", Name: "calculator", Arguments: `{"expression":"1+1"}`})
	consult := troupetest.ServeCalls(troupe.ToolCall{ID: "0", Name: "clerk", Arguments: `{"task":"Add 1 and 1."}`})
	for _, c := range []struct {
		flow, rules string
		plan        []troupetest.Exchange
		asks        string
	}{
		{"clerk", "[{tool: calculator, do: ask}]", []troupetest.Exchange{calculate}, "May I call calculator"},
		{"both", "[{tool: calculator, do: ask}]", []troupetest.Exchange{calculate}, "May I call calculator"},
		{"nested", "[{tool: calculator, do: ask}]", []troupetest.Exchange{calculate}, "May I call calculator"},
		{"crew", "[{tool: calculator, do: ask}]", []troupetest.Exchange{calculate}, "May I call calculator"},
		{"forum", "[{tool: calculator, do: ask}]", []troupetest.Exchange{calculate}, "May I call calculator"},
		{"lead", "[{tool: calculator, do: ask}]", []troupetest.Exchange{consult, calculate}, "May I call calculator"},
		{"lead", "[{tool: clerk, do: ask}]", []troupetest.Exchange{consult}, "May I call clerk with these arguments? (yes or no)\n\n    task: Add 1 and 1."},
	} {
		model := troupetest.NewServer(t, c.plan...)
		p := open(t, write(t, ruled(model.URL, c.rules)), project.Options{})
		step, err := p.Step(t.Context(), c.flow)
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), step, troupe.Input{Text: "1 and 1?"}))
		if err != nil || outcome.Stop != "input_requested" || !strings.HasPrefix(outcome.Text, c.asks) {
			t.Errorf("%s with %s: %s %q, %v", c.flow, c.rules, outcome.Stop, outcome.Text, err)
		}
		asked := 0
		for e, err := range engine(t, p).Events(t.Context(), outcome.Session, 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := e.Body.(type) {
			case *troupe.InputRequested:
				asked++
			case *troupe.ToolReturned:
				t.Errorf("%s: %s was carried out", c.flow, b.Tool)
			}
		}
		if asked == 0 {
			t.Errorf("%s: nobody was asked", c.flow)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An approved call that was cut short is not asked about again, and one that nobody has
// approved is not carried out by resuming the run.
func TestResumingARunDoesNotGetPastARule(t *testing.T) {
	model := troupetest.NewServer(t, troupetest.ServeCalls(troupe.ToolCall{ID: "1", Name: "calculator", Arguments: `{"expression":"1+1"}`}))
	dir := write(t, ruled(model.URL, "[{tool: calculator, do: ask}]"))
	p := open(t, dir, project.Options{})
	outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), agent(t, p, "clerk"), troupe.Input{Text: "1 and 1?"}))
	if err != nil || outcome.Stop != "input_requested" {
		t.Fatal(outcome.Stop, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = open(t, dir, project.Options{})
	again, err := troupe.Collect(engine(t, p).Resume(t.Context(), agent(t, p, "clerk"), outcome.Session))
	if err == nil && again.Stop != "input_requested" {
		t.Errorf("the run went on: %s %q", again.Stop, again.Text)
	}
	for e, err := range engine(t, p).Events(t.Context(), outcome.Session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*troupe.ToolReturned); ok {
			t.Errorf("%s was carried out", b.Tool)
		}
	}
}
