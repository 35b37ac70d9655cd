package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

// A user talks to all agents of an installation at once: a host lets some speak, they
// hear each other, and the next message goes on from there. Who cannot start stays away.
func TestAPartyIsAGroupChatThatGoesOn(t *testing.T) {
	floor := func(to string) troupetest.Exchange {
		return troupetest.ServeCalls(troupe.ToolCall{ID: to, Name: "give_floor", Arguments: `{"to":"` + to + `"}`})
	}
	model := troupetest.NewServer(t,
		floor("pm"), troupetest.ServeText("I say scope."), floor("dev"), troupetest.ServeText("I say code."), troupetest.ServeText("They differ."),
		floor("dev"), troupetest.ServeText("Still code."), troupetest.ServeText("Agreed."))
	dir := t.TempDir()
	agent := `<agent id="x" name="NAME" title="T"><persona><role>r</role></persona><menu><item cmd="*go" action="go">Go</item></menu></agent>`
	broken := `<agent id="x" name="NAME" title="T"><critical-actions><i>Load COMPLETE file {project-root}/gone.md</i></critical-actions></agent>`
	for name, content := range map[string]string{
		"_bmad/bmm/config.yaml": "user_name: Ada\n", "_bmad/bmm/agents/pm.md": strings.Replace(agent, "NAME", "John", 1),
		"_bmad/bmm/agents/dev.md": strings.Replace(agent, "NAME", "Amy", 1), "_bmad/bmm/agents/sad.md": strings.Replace(broken, "NAME", "Sad", 1),
		"_bmad/bmm/teams/team-small.yaml": "bundle:\n  name: Small\n  description: The two of them\nagents:\n  - pm\n  - dev\n  - ghost\n",
		"troupe.yaml":                     "model: local/m\nproviders: {local: {base_url: \"" + model.URL + "/v1\"}}\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Open(dir, project.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var names []string
	for _, f := range p.Flows() {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"team-small", "party"}) {
		t.Errorf("teams: %q", names)
	}
	engine, err := p.Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	say := func(session, text string) (string, []string) {
		t.Helper()
		step, err := p.StepIn(t.Context(), "party-mode", session)
		if err != nil {
			t.Fatal(err)
		}
		var spoke []string
		for e, err := range engine.Run(t.Context(), step, troupe.Input{Session: session, Text: text}) {
			if err != nil {
				t.Fatal(err)
			}
			session = e.Session
			if end, ok := e.Body.(*troupe.RunFinished); ok && (e.Agent == "pm" || e.Agent == "dev") {
				spoke = append(spoke, e.Agent+": "+end.Output.Summary)
			}
		}
		return session, spoke
	}
	session, spoke := say("", "What matters?")
	if !slices.Equal(spoke, []string{"pm: I say scope.", "dev: I say code."}) {
		t.Errorf("%q spoke", spoke)
	}
	if _, spoke = say(session, "And now?"); !slices.Equal(spoke, []string{"dev: Still code."}) {
		t.Errorf("%q spoke", spoke)
	}
	requests := model.Requests()
	if last := string(requests[len(requests)-2].Body); !strings.Contains(last, "I say scope.") || !strings.Contains(last, "And now?") {
		t.Errorf("what was said before is forgotten: %.2000s", last)
	}
}
