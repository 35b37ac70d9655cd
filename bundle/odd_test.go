package bundle

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe"
)

// obliging is a model that answers anything with one word.
type obliging struct{}

func (obliging) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		_ = yield(troupe.Chunk{Text: "Hello."}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: "stop"}}, nil)
	}
}

// The trees of testdata/odd are written after what people keep in their repositories.
// Each agent is listed, has all its commands, and starts. A tree's comment has a line for
// each: id | name | commands.
func TestOddTreesAreListedAndStart(t *testing.T) {
	trees, err := filepath.Glob("testdata/odd/*.txtar")
	if err != nil || len(trees) == 0 {
		t.Fatal("no trees", err)
	}
	for _, tree := range trees {
		t.Run(strings.TrimSuffix(filepath.Base(tree), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(tree)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range archive.Files {
				put(t, dir, f.Name, string(f.Data))
			}
			checkOddTree(t, dir, strings.Split(strings.TrimSpace(string(archive.Comment)), "\n"))
		})
	}
}

func checkOddTree(t *testing.T, dir string, want []string) {
	c := find(t, dir, Config{})
	engine, err := troupe.New(troupe.Config{Store: troupe.NewMemoryStore()})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var got []string
	for _, listed := range c.List(nil) {
		if listed.Broken != nil {
			t.Errorf("%s is broken: %v", listed.ID, listed.Broken)
			continue
		}
		line := listed.ID + " | " + listed.Name + " |"
		for _, command := range listed.Definition.Commands {
			line += " " + command.Cmd
		}
		got = append(got, line)
		agent, err := c.Agent(listed.ID, Options{Model: obliging{}, Outputs: filepath.Join(dir, "data", "agent-outputs")})
		if err != nil {
			t.Errorf("%s: %v", listed.ID, err)
			continue
		}
		text, ok := listed.Definition.Opening()
		if !ok {
			text = "hello"
		}
		for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: text}) {
			if err != nil {
				t.Errorf("%s does not start: %v", listed.ID, err)
			}
			_ = e
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed are\n%s\nwant\n%s\nfindings: %v", strings.Join(got, "\n"), strings.Join(want, "\n"), c.Findings())
	}
}

// A project inside another is found whole from above, with its own configuration, whatever
// editors have of it; beside a project it is left to itself.
func TestAProjectInsideAnotherIsWhole(t *testing.T) {
	inside := map[string]string{
		".bmad-core/core-config.yaml":        "prd:\n  prdFile: docs/prd.md\n",
		".bmad-core/tasks/do.md":             "# Do\n",
		".bmad-core/agents/pm.md":            "# pm\n\n```yaml\nagent:\n  name: John\n  id: pm\n  title: T\npersona:\n  role: R\ncommands:\n  - help: Help\n  - do: use task do.md\n```\n",
		".bmad-pack/config.yaml":             "name: pack\n",
		".bmad-pack/agents/pm.md":            "# pm\n\n```yaml\nagent:\n  name: Jane\n  id: pm\n  title: T\npersona:\n  role: R\ncommands:\n  - help: Help\n```\n",
		".claude/commands/BMad/agents/pm.md": "# /pm\n\n```yaml\nagent:\n  name: John\n  id: pm\n  title: T\npersona:\n  role: R\ncommands:\n  - help: Help\n```\n",
	}
	dir := t.TempDir()
	for name, content := range inside {
		put(t, dir, "apps/web/"+name, content)
	}
	var got []string
	for _, e := range find(t, dir, Config{}).Entries() {
		got = append(got, e.ID+" "+e.File)
	}
	want := []string{"bmad-core/pm apps/web/.bmad-core/agents/pm.md", "bmad-pack/pm apps/web/.bmad-pack/agents/pm.md"}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("from above: %q; want %q", got, want)
	}
	put(t, dir, "_bmad/core/config.yaml", "user_name: Ada\n")
	put(t, dir, "_bmad/core/agents/h.md", strings.ReplaceAll(xmlAgent, "NAME", "Hedy"))
	if all := find(t, dir, Config{}).Entries(); len(all) != 1 || all[0].ID != "h" {
		t.Errorf("beside a project: %v", all)
	}
}

// What an author wrote beside the agent's definition reaches the model: handlers in the
// place of prompts, a list of colleagues, text below the block.
func TestWhatStandsBesideTheDefinitionIsInThePrompt(t *testing.T) {
	for tree, want := range map[string]map[string][]string{
		"handlers-as-prompts":    {"concierge": {"LIRE la requête", `name="Amelia"`, "Toujours reformuler.", "Zoé"}},
		"squads":                 {"guardiao": {"报告发现时", "每个代码路径都必须经过测试", "{root}/tasks/qa-gate.md"}},
		"newer-yaml-in-markdown": {"evaluator": {"You judge agents by what they do.", "a box that is shown", "assess"}, "qa": {"Check all references"}},
	} {
		archive, err := txtar.ParseFile("testdata/odd/" + tree + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, f := range archive.Files {
			put(t, dir, f.Name, string(f.Data))
		}
		c := find(t, dir, Config{})
		for id, parts := range want {
			all, err := c.Prompt(id)
			if err != nil {
				t.Fatal(err)
			}
			prompt := ""
			for _, part := range all {
				prompt += part.Text + "\n"
			}
			for _, part := range parts {
				if !strings.Contains(prompt, part) {
					t.Errorf("the prompt of %s lacks %q:\n%s", id, part, prompt)
				}
			}
		}
	}
}

// A command that loads one of the agent's own files leads there.
func TestACommandOfATableLeadsToItsFile(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/odd/skills-of-the-builder.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		put(t, dir, f.Name, string(f.Data))
	}
	c := define(t, find(t, dir, Config{}), "bmad-agent-tessa").Commands[0]
	if c.Kind != KindExec || c.Target != "{skill-root}/references/explore.md" {
		t.Errorf("%s is %s %s", c.Cmd, c.Kind, c.Target)
	}
}
