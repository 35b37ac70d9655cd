package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// expected is what an independent reading of a tree says that a loader finds in it.
type expected struct {
	Tree      string
	Counts    struct{ Agents, Commands int }
	Agents    []expectedAgent
	NotAgents []string `json:"not_agents"`
	Bundles   []struct {
		Slug    string
		Persona struct{ Name, Title string }
	}
	Teams []struct {
		File, Name string
		Agents     []string
		Missing    []string `json:"missing_agents"`
	}
}

type expectedAgent struct {
	File, ID, Name, Title, Icon string
	Commands                    int `json:"menu_commands"`
	Menu                        []struct {
		Cmd, Code, Skill string
		Multi            string
		Handlers         []struct{ Match string }
		Targets          []struct {
			Handler, Value string
			Exists         bool
		}
	}
}

func expectations(t *testing.T) []expected {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "bmad"), "*.expected.json"))
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	var list []expected
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want expected
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(file, err)
		}
		list = append(list, want)
	}
	return list
}

// What was found in published trees by hand and by other programs is found here.
func TestPublishedTreesHoldWhatIsExpected(t *testing.T) {
	for _, want := range expectations(t) {
		t.Run(want.Tree, func(t *testing.T) { checkExpected(t, want) })
	}
}

func checkExpected(t *testing.T, want expected) {
	c := find(t, corpus.Path(t, "bmad/"+want.Tree), Config{})
	definitions, found := c.Definitions()
	for _, f := range found {
		if f.Severity == Error {
			t.Errorf("%s: %v", f.Code, &f)
		}
	}
	byID := map[string]*Definition{}
	for _, d := range definitions {
		byID[d.Plain()] = d
		if slices.Contains(want.NotAgents, d.File) {
			t.Errorf("%s is no agent", d.File)
		}
	}
	for _, coach := range want.Bundles {
		if d := byID[coach.Slug]; coach.Slug != "" && (d == nil || d.Name != coach.Persona.Name || d.Title == "") {
			t.Errorf("coach %s: %+v", coach.Slug, d)
		}
		if coach.Slug != "" {
			want.Counts.Agents++
		}
	}
	if len(definitions) != want.Counts.Agents {
		t.Errorf("%d agents; want %d: %v", len(definitions), want.Counts.Agents, sortedKeys(byID))
	}
	checkTeams(t, c, want)
	for _, agent := range want.Agents {
		id := strings.TrimSuffix(filepath.Base(agent.ID), ".md")
		d := byID[id]
		if d == nil {
			t.Errorf("no agent %s", id)
			continue
		}
		file, _, _ := strings.Cut(agent.File, "#")
		if d.File != file || d.Name != agent.Name || d.Title != agent.Title || agent.Icon != "" && d.Icon != agent.Icon {
			t.Errorf("%s is %+v; want %+v", id, d.Entry, agent.File)
		}
		if len(d.Commands) != agent.Commands {
			t.Errorf("%s has %d commands; want %d", id, len(d.Commands), agent.Commands)
		}
		checkMenu(t, d, agent)
		if d.bundle.virtual != nil {
			checkBundled(t, d)
		}
		if _, err := c.Prompt(d.ID); err != nil {
			t.Errorf("%s does not start: %v", d.ID, err)
		}
		if err := c.startsAs(d.Name); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

// checkTeams wants every team, with its members and those that are missing.
func checkTeams(t *testing.T, c *Catalog, want expected) {
	t.Helper()
	byFile := map[string]Team{}
	for _, team := range c.Teams() {
		byFile[team.File] = team
	}
	for _, team := range want.Teams {
		got, ok := byFile[team.File]
		if !ok || got.Name != team.Name || !slices.Equal(got.Missing, team.Missing) && len(got.Missing)+len(team.Missing) > 0 {
			t.Errorf("%s: %+v; want %+v", team.File, got, team)
		}
		for _, member := range team.Agents {
			if member != "*" && !slices.Contains(got.Agents, member) && !slices.Contains(got.Missing, member) {
				t.Errorf("%s lacks %s", team.File, member)
			}
		}
	}
}

// checkBundled wants the workflows of a web bundle to load from inside it.
func checkBundled(t *testing.T, d *Definition) {
	t.Helper()
	for _, c := range d.Commands {
		if c.Target == "todo" || !c.IsWorkflow() {
			continue
		}
		if w, err := d.bundle.Workflow(c.Target); err != nil || w.Instructions == "" {
			t.Errorf("%s: %s: %v", d.File, c.Cmd, err)
		}
	}
}

// startsAs says whether an agent can be found by its persona's name.
func (c *Catalog) startsAs(name string) error {
	_, err := c.Definition(name)
	return err
}

// checkMenu wants each item of a menu to be chosen by its number, its code and its
// name, and to lead where it says.
func checkMenu(t *testing.T, d *Definition, agent expectedAgent) {
	t.Helper()
	next := 0
	check := func(written string) *Command {
		if next >= len(d.Commands) {
			return nil
		}
		c := &d.Commands[next]
		next++
		if m := d.Match(itoa(next)); len(m) != 1 || m[0].Command != c {
			t.Errorf("%s: %d is not %s", d.ID, next, c.Cmd)
		}
		if m := d.Match(c.Code); c.Code != "" && (len(m) != 1 || !m[0].Exact) {
			t.Errorf("%s: code %s matches %d commands", d.ID, c.Code, len(m))
		}
		if m := d.Match(c.Cmd); len(m) == 0 || !m[0].Exact {
			t.Errorf("%s: %s is not found", d.ID, c.Cmd)
		}
		if !strings.Contains(strings.ToLower(written), strings.ToLower(strings.TrimPrefix(c.Cmd, "*"))) {
			t.Errorf("%s: %s is not in %q", d.ID, c.Cmd, written)
		}
		return c
	}
	for _, item := range agent.Menu {
		for _, h := range item.Handlers {
			if h.Match != "" {
				check(h.Match)
			}
		}
		if item.Multi != "" || len(item.Handlers) > 0 {
			continue
		}
		c := check(item.Cmd + item.Code)
		if c == nil {
			continue
		}
		if item.Skill != "" && (c.Kind != KindSkill || c.Target != item.Skill || d.bundle.SkillPath(c.Target) == "") {
			t.Errorf("%s: %s leads to %s %s; want %s", d.ID, c.Cmd, c.Kind, c.Target, item.Skill)
		}
		for _, target := range item.Targets {
			if target.Handler == "exec" && strings.HasPrefix(target.Value, "skill:") && c.Target != strings.TrimPrefix(target.Value, "skill:") {
				t.Errorf("%s: %s leads to %s", d.ID, c.Cmd, c.Target)
			}
			if !isPath(target.Value) || target.Handler != "exec" && target.Handler != "workflow" && target.Handler != "run-workflow" {
				continue
			}
			_, err := d.bundle.Locate(Reference{Path: target.Value, File: d.File})
			if (err == nil) != target.Exists {
				t.Errorf("%s: %s: %s: %v; want it to exist: %v", d.ID, c.Cmd, target.Value, err, target.Exists)
			}
		}
	}
}
