package bundle

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/troupetest"
)

// columns are the generations as the page calls them.
var columns = []struct{ generation, title string }{
	{"v4", "4.x"}, {"alpha", "6 alpha"}, {"compiled", "6.0 to 6.2.0"}, {"manifest", "6.2.1 to 6.3"}, {"toml", "6.4 and later"},
	{"web-v4", "4.x web bundle"}, {"web-alpha", "6 alpha web bundle"}, {"coach", "6.8 web bundle"},
}

// isWeb says whether a generation is one file or folder that is the whole world: it has
// neither a configuration nor anything laid over it.
func isWeb(generation string) bool {
	return strings.HasPrefix(generation, "web-") || generation == "coach"
}

// A feature is something that is tried on the tree of each generation. What a generation
// does not have is "–".
type feature struct {
	title string
	try   func(t *testing.T, dir, generation string, c *Catalog, d *Definition) string
}

const (
	works  = "yes"
	hasNot = "–"
)

func yes(ok bool) string {
	if ok {
		return works
	}
	return "**no**"
}

var features = []feature{
	{"agents are found, with name, title and icon", func(_ *testing.T, _, _ string, _ *Catalog, d *Definition) string {
		return yes(d.Name != "" && d.Title == "Product Manager" && d.Icon != "")
	}},
	{"an agent starts, by its id, its short id and its persona's name", func(_ *testing.T, _, _ string, c *Catalog, d *Definition) string {
		_, started := c.Prompt(d.ID)
		_, short := c.Definition("pm")
		_, named := c.Definition(d.Name)
		return yes(started == nil && short == nil && named == nil)
	}},
	{"commands by number, code, name and words", func(_ *testing.T, _, generation string, _ *Catalog, d *Definition) string {
		if generation == "coach" {
			return hasNot
		}
		for i := range d.Commands {
			c := &d.Commands[i]
			for _, typed := range []string{itoa(i + 1), c.Code, c.Cmd, strings.TrimPrefix(c.Cmd, "*")} {
				if m := d.Match(typed); typed != "" && (len(m) != 1 || m[0].Command != c) {
					return yes(false)
				}
			}
		}
		return yes(len(d.Match("prd")) > 0)
	}},
	{"*exit and its synonyms", func(_ *testing.T, _, _ string, _ *Catalog, d *Definition) string {
		return yes(d.IsExit("*exit") && d.IsExit("exit") && !d.IsExit("create a prd"))
	}},
	{"the author's activation opens the conversation", func(t *testing.T, _, _ string, c *Catalog, d *Definition) string {
		text, ok := d.Opening()
		s := play(t, c, d.ID, Options{}, troupetest.Say("Hello.").Expect(troupetest.LastUser(OpeningMark)))
		s.say(text)
		return yes(ok)
	}},
	{"configuration is known without being loaded", func(_ *testing.T, _, generation string, _ *Catalog, d *Definition) string {
		if isWeb(generation) {
			return hasNot
		}
		settings, _ := d.bundle.Settings()
		want := "Ada"
		if generation == "v4" {
			want = "docs/prd.md"
		}
		for _, s := range settings {
			if s.Value == want && s.File != "" {
				return works
			}
		}
		return yes(false)
	}},
	{"overrides of team and user", func(t *testing.T, dir, generation string, _ *Catalog, d *Definition) string {
		switch generation {
		case "v4":
			return yes(strings.Contains(strings.Join(d.Rules, ""), "Answer in rhymes"))
		case "alpha":
			return yes(d.Name == "Petra" && len(d.Overrides) == 1)
		case "compiled":
			put(t, dir, "_bmad/_config/agents/bmm-pm.customize.yaml", "agent:\n  metadata:\n    name: Petra\nmemories: [Likes tea]\n")
			d := define(t, find(t, dir, Config{}), "pm")
			return yes(d.Name == "Petra" && len(d.Memories) == 2)
		case "manifest", "web-v4", "web-alpha", "coach":
			return hasNot
		}
		return yes(d.Icon == "🛠️" && len(d.Persona.Principles) == 2 && len(d.Overrides) == 1)
	}},
	{"a workflow, a task or a skill is loaded with its variables filled in", func(t *testing.T, _, generation string, c *Catalog, d *Definition) string {
		call := loadCall(d)
		if generation == "coach" { // its protocol is one of its files
			call = troupetest.Call("read_file", `{"file_path":"SKILL.md"}`)
		}
		s := play(t, c, d.ID, Options{}, call, troupetest.Say("Done."))
		return yes(object(t, s.say("go")[0])["success"] == true)
	}},
	{"step files and files beside them, by the names that stand there", func(t *testing.T, _, generation string, c *Catalog, d *Definition) string {
		names := map[string][]string{
			"compiled": {"./steps/step-01-init.md", "{nextStepFile}", "../templates/prd.md"}, "manifest": {"./workflow.md"}, "toml": {"references/guide.md"},
		}[generation]
		if names == nil {
			return hasNot
		}
		turns := []troupetest.Turn{loadCall(d)}
		for _, name := range names {
			turns = append(turns, troupetest.Call("read_file", `{"file_path":"`+name+`"}`))
		}
		s := play(t, c, d.ID, Options{}, append(turns, troupetest.Say("Done."))...)
		for _, r := range s.say("go") {
			if object(t, r)["success"] != true {
				return yes(false)
			}
		}
		return works
	}},
	{"documents are read by the names they were written by, in other sessions", func(t *testing.T, dir, generation string, c *Catalog, d *Definition) string {
		name := "{planning_artifacts}/prd.md"
		switch generation {
		case "v4", "web-v4", "web-alpha", "coach":
			name = "docs/prd.md"
		case "alpha":
			name = "{output_folder}/prd.md"
		}
		s := play(t, c, d.ID, Options{}, troupetest.Call("save_output", `{"file_path":"`+name+`","content":"PRD"}`), troupetest.Say("Saved."))
		s.say("write")
		other := play(t, find(t, dir, Config{}), d.ID, Options{}, troupetest.Call("read_file", `{"file_path":"`+name+`"}`), troupetest.Say("Read."))
		return yes(object(t, other.say("read")[0])["content"] == "PRD")
	}},
	{"teams, or the roster of party mode", func(_ *testing.T, _, generation string, c *Catalog, d *Definition) string {
		if generation == "manifest" || generation == "alpha" || isWeb(generation) {
			return hasNot
		}
		teams := c.Teams()
		return yes(len(teams) == 1 && len(teams[0].Agents) == 1 && teams[0].Agents[0] == d.ID)
	}},
}

// loadCall asks for what the first command with a file behind it names.
func loadCall(d *Definition) troupetest.Turn {
	for i := range d.Commands {
		switch c := &d.Commands[i]; {
		case c.IsWorkflow():
			return troupetest.Call("execute_workflow", `{"workflow_path":"`+c.Target+`"}`)
		case c.Kind == KindExec:
			return troupetest.Call("read_file", `{"file_path":"`+c.Target+`"}`)
		}
	}
	return troupetest.Say("There is nothing to load.")
}

// The table of docs/bundles.md is what comes of trying each feature on each generation.
func TestTheTableOfGenerations(t *testing.T) {
	var b strings.Builder
	b.WriteString("| |")
	for _, column := range columns {
		b.WriteString(" " + column.title + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(columns)) + "\n")
	for _, f := range features {
		b.WriteString("| " + f.title + " |")
		for _, column := range columns {
			t.Run(fmt.Sprintf("%s/%s", f.title, column.title), func(t *testing.T) {
				dir := unpackTree(t, column.generation)
				c := find(t, dir, Config{})
				result := f.try(t, dir, column.generation, c, define(t, c, "pm"))
				if result != works && result != hasNot {
					t.Error("it does not work")
				}
				b.WriteString(" " + result + " |")
			})
		}
		b.WriteString("\n")
	}
	const page, begin, end = "../docs/bundles.md", "<!-- generations: made by bundle/feature_test.go -->\n", "<!-- end of generations -->"
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(src), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("the page has no place for the table")
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != b.String() {
		t.Errorf("the page has another table; run the test with -update:\n%s", b.String())
	}
}
