package approve_test

import (
	"context"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	policy := approve.Policy{
		{Tool: "web_fetch", Where: map[string]string{"url": "https://example.com/*"}, Do: approve.Allow},
		{Tool: "web_*", Do: approve.Ask},
		{Tool: "write_file", Where: map[string]string{"path": "docs/?.md", "n": "3"}, Do: approve.Allow},
		{Tool: "write_file", Do: approve.Deny},
	}
	if err := policy.Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, arguments string
		want            approve.Decision
	}{
		{"web_fetch", `{"url":"https://example.com/a"}`, approve.Allow},
		{"web_fetch", `{"url":"https://example.com/a/b"}`, approve.Ask},
		{"web_fetch", `{"url":"https://example.com.evil.org/"}`, approve.Ask},
		{"web_fetch", `{"uri":"https://example.com/a"}`, approve.Ask},
		{"web_search", `{}`, approve.Ask},
		{"webfetch", `{}`, approve.Allow},
		{"write_file", `{"path":"docs/a.md","n":3}`, approve.Allow},
		{"write_file", `{"path":"docs/ab.md","n":3}`, approve.Deny},
		{"write_file", `{"path":"docs/a.md"}`, approve.Deny},
		{"write_file", `[`, approve.Deny},
		{"read_file", `{}`, approve.Allow},
	} {
		if got := policy.Decide(c.tool, []byte(c.arguments)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.arguments, got, c.want)
		}
	}
}

func TestPatternsTakeNoLongerThanTheyMust(t *testing.T) {
	policy := approve.Policy{{Tool: strings.Repeat("*a", 200), Do: approve.Deny}}
	if policy.Decide(strings.Repeat("a", 20000)+"b", nil) != approve.Allow {
		t.Error("it matches")
	}
}

func TestAPolicyIsChecked(t *testing.T) {
	for _, p := range []approve.Policy{{{Do: approve.Ask}}, {{Tool: "x"}}, {{Tool: "x", Do: "maybe"}}} {
		if p.Check() == nil {
			t.Errorf("%+v is a policy", p)
		}
	}
}

// talk runs an agent whose model calls the tool once, and says what came of it.
func talk(t *testing.T, do approve.Decision, answers ...string) (wrote []string, end *troupe.RunFinished, asked *troupe.InputRequested) {
	t.Helper()
	write := troupe.NewTool("write_file", "Writes.", func(_ context.Context, in struct {
		Path string `json:"path"`
	}) (string, error) {
		wrote = append(wrote, in.Path)
		return "written", nil
	})
	turns := []troupetest.Turn{troupetest.Call("write_file", `{"path":"a.md"}`), troupetest.Say("the end")}
	if do == approve.Ask && len(answers) == 0 {
		turns = turns[:1] // it does not come to its second
	}
	model := troupetest.NewScript(t, turns...)
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: model, Tools: approve.Policy{{Tool: "write_*", Do: do}}.Tools(write)})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	session := ""
	for _, text := range append([]string{"go"}, answers...) {
		for e, err := range engine.Run(t.Context(), agent, troupe.Input{Session: session, Text: text}) {
			if err != nil {
				t.Fatal(err)
			}
			session = e.Session
			switch b := e.Body.(type) {
			case *troupe.InputRequested:
				asked = b
			case *troupe.RunFinished:
				end = b
			}
		}
	}
	return wrote, end, asked
}

func TestACallIsMadeOnlyIfItIsApproved(t *testing.T) {
	if wrote, end, _ := talk(t, approve.Allow); len(wrote) != 1 || end.Stop != "answered" {
		t.Errorf("allowed: wrote %v, %s", wrote, end.Stop)
	}
	if wrote, end, _ := talk(t, approve.Deny); len(wrote) != 0 || end.Stop != "answered" {
		t.Errorf("denied: wrote %v, %s", wrote, end.Stop)
	}
	wrote, end, asked := talk(t, approve.Ask)
	if len(wrote) != 0 || end.Stop != "input_requested" || asked == nil || asked.Tool != "write_file" || string(asked.Arguments) != `{"path":"a.md"}` {
		t.Fatalf("asked: wrote %v, %s, %+v", wrote, end.Stop, asked)
	}
	if end.Output.Summary != "May I call write_file with these arguments? (yes or no)\n\n    path: a.md" {
		t.Errorf("the question is %q", end.Output.Summary)
	}
	if wrote, end, _ := talk(t, approve.Ask, " Yes. "); len(wrote) != 1 || end.Stop != "answered" {
		t.Errorf("approved: wrote %v, %s", wrote, end.Stop)
	}
	if wrote, end, _ := talk(t, approve.Ask, "yes, but somewhere else"); len(wrote) != 0 || end.Stop != "answered" {
		t.Errorf("not approved: wrote %v, %s", wrote, end.Stop)
	}
}
