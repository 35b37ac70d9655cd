package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindSeesEveryLayout(t *testing.T) {
	c := find(t, project(t), Config{})
	got := map[string]Layout{}
	for _, b := range c.Bundles() {
		got[b.Dir] = b.Layout
	}
	want := map[string]Layout{
		"bmad/custom/bundles/requirements": LayoutBundle,
		"bmad/custom/bundles/helper":       LayoutStandalone,
		"bmad/core":                        LayoutInstalled,
		"bmad/bmm":                         LayoutInstalled,
		"bmad/cis":                         LayoutInstalled,
		"src/bmm":                          LayoutSource,
		".bmad-core":                       LayoutV4,
		"skills/bmad-agent-sage":           LayoutSkill,
	}
	for dir, layout := range want {
		if got[dir] != layout {
			t.Errorf("%s is %q; want %q", dir, got[dir], layout)
		}
	}
	if len(got) != len(want) {
		t.Errorf("found %v", got)
	}

	formats := map[string]Format{}
	definitions, _ := c.Definitions()
	for _, d := range definitions {
		formats[d.ID] = d.Format
	}
	wantFormats := map[string]Format{
		"alex": FormatXML, "casey": FormatXML, "hal": FormatXML, "pm": FormatCompiled, "dev": FormatYAML,
		"qa": FormatV4, "list": FormatV4, "map": FormatV4, "bmad-agent-sage": FormatSkill,
	}
	for id, format := range wantFormats {
		if formats[id] != format {
			t.Errorf("%s is %q; want %q", id, formats[id], format)
		}
	}
	if len(formats) != len(wantFormats) {
		t.Errorf("agents are %v", formats)
	}
}

func TestAManifestDescribesItsAgentsUnread(t *testing.T) {
	c := find(t, project(t), Config{})
	want := Entry{
		ID: "alex", Bundle: "requirements", Name: "Alex", Title: "Requirements Facilitator", Icon: "📝",
		EntryPoint: true, File: "bmad/custom/bundles/requirements/agents/alex.md",
	}
	if got := c.Entries()[slices.IndexFunc(c.Entries(), func(e Entry) bool { return e.ID == "alex" })]; got != want {
		t.Errorf("alex is %+v", got)
	}
	b := bundleIn(t, c, "bmad/custom/bundles/requirements")
	for _, ref := range b.References {
		if _, err := b.Locate(ref); err != nil || ref.Line == 0 {
			t.Errorf("%+v: %v", ref, err)
		}
	}
	if len(b.References) != 4 || b.Version != "1.0.0" || b.Description != "Gathers requirements" {
		t.Errorf("the bundle is %+v", b)
	}
}

func TestABrokenBundleOrAgentLeavesTheOthers(t *testing.T) {
	dir := project(t)
	put(t, dir, "bmad/bmm/agents/empty.md", "# Nothing here\n")
	put(t, dir, "src/bmm/agents/bad.agent.yaml", "agent:\n  metadata: [\n")
	if err := os.Remove(filepath.Join(dir, "bmad/custom/bundles/requirements/agents/casey.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bmad/custom/bundles/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	definitions, found := find(t, dir, Config{}).Definitions()
	if len(definitions) != 8 {
		t.Errorf("%d agents are left", len(definitions))
	}
	for _, want := range []string{
		"bmad/custom/bundles/broken/bundle.yaml:3: error invalid-yaml",
		"bmad/custom/bundles/empty:1: warning missing-manifest",
		"bmad/custom/bundles/requirements/agents/casey.md:1: error unreadable",
		"bmad/bmm/agents/empty.md:1: warning no-agent",
		"src/bmm/agents/bad.agent.yaml:2: error invalid-yaml",
	} {
		if !slices.ContainsFunc(found, func(f Finding) bool {
			at, rest, _ := strings.Cut(want, ": ")
			return strings.HasPrefix(f.Error(), at+": ") && rest == string(f.Severity)+" "+f.Code
		}) {
			t.Errorf("no finding %s", want)
		}
	}
	for _, f := range found {
		if strings.Contains(f.Error(), dir) {
			t.Errorf("a finding shows the host's directory: %v", &f)
		}
		if f.Line == 0 || f.File == "" {
			t.Errorf("a finding without a place: %+v", f)
		}
	}
}

func TestAMissingDirectoryIsAnEmptyCatalog(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "gone")} {
		c := find(t, dir, Config{})
		definitions, found := c.Definitions()
		if len(c.Bundles())+len(c.Entries())+len(definitions)+len(found) > 0 {
			t.Errorf("%s holds %v", dir, c.Entries())
		}
		if _, err := c.Definition("alex"); !errors.Is(err, ErrNoAgent) {
			t.Errorf("alex: %v", err)
		}
	}
}

func TestManifestsAreChecked(t *testing.T) {
	for manifest, want := range map[string]string{
		"name: x\nversion: 1.0.0\nagents: [{id: a, file: a.md, entry_point: true}]":                                                       "lacks type",
		"type: heap\nname: x\nversion: 1.0.0":                                                                                             "neither bundle nor standalone",
		"type: bundle\nname: Big Name\nversion: 1.0.0\nagents: [{id: a, file: a.md, entry_point: true}]":                                  "not kebab-case",
		"type: bundle\nname: x\nversion: 1.0.0":                                                                                           "names its agents",
		"type: standalone\nname: x\nversion: 1.0.0":                                                                                       "names its agent",
		"type: bundle\nname: x\nversion: 1.0.0\nagents: [{id: a, file: a.md}]":                                                            "no agent is an entry_point",
		"type: bundle\nname: x\nversion: 1.0.0\nagents: [{file: a.md}]":                                                                   "an id and a file",
		"type: bundle\nname: x\nversion: 1.0.0\nagents: [{id: a, file: a.md, entry_point: true}, {id: a, file: b.md, entry_point: true}]": "there twice",
	} {
		dir := t.TempDir()
		put(t, dir, "bmad/custom/bundles/x/bundle.yaml", manifest)
		_, found := find(t, dir, Config{}).Definitions()
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == CodeManifest && strings.Contains(f.Message, want) }) {
			t.Errorf("%s\nfound %v", manifest, found)
		}
	}
}

func TestAManifestCannotNameAFileOutsideItsBundle(t *testing.T) {
	for _, file := range []string{"../../../../secret.md", "/etc/passwd", "{project-root}/secret.md", "link.md"} {
		c, b := alone(t, map[string]string{
			"bundle.yaml": "type: standalone\nname: one\nversion: 1.0.0\nagent: {id: one, file: '" + file + "'}\n",
		})
		put(t, c.project, "secret.md", `<agent id="x" name="Secret"/>`)
		if err := os.Symlink("../../../../secret.md", filepath.Join(b.host, "link.md")); err != nil {
			t.Fatal(err)
		}
		if d, err := c.Definition("one"); err == nil {
			t.Errorf("%s defines %s", file, d.Name)
		} else if strings.Contains(err.Error(), c.project) {
			t.Errorf("the error shows the host's directory: %v", err)
		}
	}
}

func TestTheSameIDInTwoBundlesNeedsTheBundle(t *testing.T) {
	dir := project(t)
	put(t, dir, "bmad/cis/agents/pm.md", `<agent id="pm" name="Other"/>`)
	c := find(t, dir, Config{})
	if _, err := c.Definition("pm"); !errors.Is(err, ErrNoAgent) || !strings.Contains(err.Error(), "bmm/pm, cis/pm") {
		t.Errorf("pm: %v", err)
	}
	for id, name := range map[string]string{"bmm/pm": "John", "cis/pm": "Other", "alex": "Alex", "requirements/alex": "Alex"} {
		if d := define(t, c, id); d.Name != name {
			t.Errorf("%s is %s", id, d.Name)
		}
	}
}

func TestConfiguredBundlesAreFoundAnywhere(t *testing.T) {
	elsewhere := t.TempDir()
	put(t, elsewhere, "packs/extra/bundle.yaml", "type: standalone\nname: extra\nversion: 1.0.0\nagent: {id: extra, file: agent.md}\n")
	put(t, elsewhere, "packs/extra/agent.md", `<agent id="extra" name="Extra"><critical-actions><i>Load {core-root}/tasks/workflow.md</i></critical-actions></agent>`)
	dir := project(t)
	put(t, dir, "more/near/bundle.yaml", "type: standalone\nname: near\nversion: 1.0.0\nagent: {id: near, file: agent.md}\n")
	put(t, dir, "more/near/agent.md", `<agent id="near" name="Near"/>`)
	c := find(t, dir, Config{Bundles: []string{"more/*", filepath.Join(elsewhere, "packs", "*"), "nothing/*"}})
	for _, id := range []string{"extra", "near"} {
		if _, err := c.Prompt(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if file := define(t, c, "near").File; file != "more/near/agent.md" {
		t.Errorf("near is in %s", file)
	}
	if file := define(t, c, "extra").File; filepath.IsAbs(file) || !strings.HasSuffix(file, "packs/extra/agent.md") {
		t.Errorf("extra is in %s", file)
	}
}

func TestABundleDirectoryIsAProjectOfItsOwn(t *testing.T) {
	dir := project(t)
	for sub, id := range map[string]string{
		"bmad/custom/bundles/requirements": "alex", "bmad/bmm": "pm", "skills/bmad-agent-sage": "bmad-agent-sage",
	} {
		c := find(t, filepath.Join(dir, filepath.FromSlash(sub)), Config{})
		if d, err := c.Definition(id); err != nil || d.Parent().Dir != "." {
			t.Errorf("%s: %v", sub, err)
		}
	}
}

func TestCoreIsWhereTheOperatorSaysItIs(t *testing.T) {
	for _, absolute := range []bool{false, true} {
		c, b := alone(t, map[string]string{
			"agent.md": `<agent id="one" name="One"><critical-actions><i>Load {core-root}/tasks/x.md</i></critical-actions></agent>`,
		})
		put(t, c.project, "engine/tasks/x.md", "X")
		if _, err := c.Prompt("one"); err == nil {
			t.Error("there is a core that nobody named")
		}
		core := "engine"
		if absolute {
			core = filepath.Join(c.project, core)
		}
		parts, err := find(t, c.project, Config{Core: core}).Prompt("one")
		if err != nil || !strings.HasSuffix(parts[len(parts)-1].Text, "Loaded file: {core-root}/tasks/x.md\n\nX") {
			t.Errorf("%s: %v", b.Name, err)
		}
	}
}

func TestABrokenSkillIsAFinding(t *testing.T) {
	for custom, want := range map[string]string{
		"[agent]\nname = \n":            "skills/s/customize.toml:2: invalid-toml",
		"[agent]\nprinciples = \"x\"\n": "skills/s/customize.toml:1: agent-schema",
	} {
		dir := t.TempDir()
		put(t, dir, "skills/s/SKILL.md", "---\nname: s\n---\n")
		put(t, dir, "skills/s/customize.toml", custom)
		definitions, found := find(t, dir, Config{}).Definitions()
		if len(definitions) != 1 || len(found) != 1 || !strings.HasPrefix(want, found[0].File+":"+itoa(found[0].Line)+": "+found[0].Code) {
			t.Errorf("%q: %v", custom, found)
		}
	}
}

func TestWhatAnAgentLacksIsAFinding(t *testing.T) {
	dir := project(t)
	put(t, dir, "bmad/bmm/agents/a.md", "<agent id=\"a\">\n<cmds>\n<c exec=\"x.md\">X</c>\n</cmds>\n<memories><memory>M</memory></memories></agent>")
	put(t, dir, "src/bmm/agents/b.agent.yaml", "agent:\n  metadata: {id: b}\n  memories: [N]\n  menu:\n    - description: X\n")
	put(t, dir, "src/bmm/agents/c.agent.yaml", "agents:\n  - c\n")
	c := find(t, dir, Config{})
	for id, lines := range map[string][]int{"a": {1, 3}, "b": {2, 5}} {
		d := define(t, c, id)
		var got []int
		for _, f := range d.Findings {
			if f.Code == CodeIncomplete {
				got = append(got, f.Line)
			}
		}
		if !slices.Equal(got, lines) || d.Name != id || len(d.Memories) != 1 {
			t.Errorf("%s: %v", id, d.Findings)
		}
	}
	if _, err := c.Definition("c"); err == nil || asFinding(err, "").Code != CodeNoAgent {
		t.Errorf("c: %v", err)
	}
}

// A directory among the bundles that has no manifest is a bundle if it has an agent, and
// nobody is told otherwise.
func TestABundleNeedsNoManifest(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "bmad/custom/bundles/office/agents/fern.md", "<agent id=\"fern\" name=\"Fern\" title=\"Clerk\"><persona><role>Clerk</role></persona></agent>\n")
	put(t, dir, "bmad/custom/bundles/empty/notes.txt", "Nothing.\n")
	definitions, found := find(t, dir, Config{}).Definitions()
	if len(definitions) != 1 || definitions[0].ID != "fern" {
		t.Errorf("the agents are %v", definitions)
	}
	var without []string
	for _, f := range found {
		if f.Code == CodeNoManifest {
			without = append(without, f.File)
		}
	}
	if !slices.Equal(without, []string{"bmad/custom/bundles/empty"}) {
		t.Errorf("without a manifest: %v", without)
	}
}
