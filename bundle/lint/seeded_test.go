package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// A defect is put into a healthy tree: old becomes changed in a file, or the file is
// removed, and lint must say so where it is.
type defect struct {
	kind, tree, file string
	old, changed     string
	// at is where it is to be found, if that is not where the text was changed: a file, or
	// a file and a text in it.
	at [2]string
}

const (
	step1 = "_bmad/bmm/workflows/create-prd/steps/step-01-init.md"
	flow  = "bmad/bmm/workflows/prd/workflow.yaml"
	told  = "bmad/bmm/workflows/prd/instructions.md"
	alpha = "bmad/bmm/agents/pm.md"
	pm6   = "_bmad/bmm/agents/pm.md"
	pm4   = ".bmad-core/agents/pm.md"
	own   = "src/modules/own/agents/own.agent.yaml"
)

var defects = []defect{
	{"a block that is no YAML", "v4", pm4, "  role: Product strategist", "  role: [Product strategist", [2]string{pm4}},
	{"a dependency that is missing", "v4", pm4, "    - create-doc.md", "    - create-dok.md", [2]string{}},
	{"two commands of one name", "v4", pm4, "  - exit: Exit (confirm)", "  - exit: Exit (confirm)\n  - create-prd: run task other", [2]string{pm4, "run task other"}},
	{"no *help", "v4", pm4, "  - help: Show numbered list of the following commands to allow selection\n", "", [2]string{pm4}},
	{"no *exit", "v4", pm4, "  - exit: Exit (confirm)\n", "", [2]string{pm4}},
	{"a config that is no YAML", "v4", ".bmad-core/core-config.yaml", "devStoryLocation: docs/stories", "devStoryLocation: [docs", [2]string{".bmad-core/core-config.yaml"}},
	{"a template that is no YAML", "v4", ".bmad-core/templates/prd-tmpl.yaml", "  id: prd-template", "  id: [prd", [2]string{".bmad-core/templates/prd-tmpl.yaml"}},
	{"a team with a stranger", "v4", ".bmad-core/agent-teams/team-one.yaml", "  - '*'", "  - '*'\n  - nobody", [2]string{".bmad-core/agent-teams/team-one.yaml", "nobody"}},
	{"an agent without a persona", "v4", pm4, "  role: Product strategist\n  style: Analytical\n  identity: Writes documents\n", "", [2]string{pm4}},

	{"a workflow that is missing", "alpha", alpha, "workflows/prd/workflow.yaml", "workflows/prod/workflow.yaml", [2]string{}},
	{"a critical file that is missing", "alpha", alpha, "Load into memory {project-root}/bmad/bmm/config.yaml", "Load into memory {project-root}/bmad/bmm/konfig.yaml", [2]string{}},
	{"a variable that nothing sets", "alpha", alpha, "the user's name is {user_name}", "the user's name is {username}", [2]string{}},
	{"a command without a trigger", "alpha", alpha, `<c cmd="*exit">`, `<c>`, [2]string{}},
	{"a target that is to be written", "alpha", alpha, "{project-root}/bmad/bmm/workflows/prd/workflow.yaml", "todo", [2]string{}},
	{"a prompt that is missing", "alpha", alpha, `run-workflow="{project-root}/bmad/bmm/workflows/prd/workflow.yaml"`, `action="#nothing"`, [2]string{}},
	{"an unclosed tag", "alpha", alpha, "<role>Product strategist</role>", "<role>Product strategist", [2]string{}},
	{"a config source that is missing", "alpha", flow, "config_source: \"{project-root}/bmad/bmm/config.yaml\"", "config_source: \"{project-root}/bmad/bmm/konfig.yaml\"", [2]string{}},
	{"instructions that are missing", "alpha", flow, "{installed_path}/instructions.md", "{installed_path}/instruction.md", [2]string{}},
	{"a template that is missing", "alpha", flow, "{installed_path}/template.md", "{installed_path}/templates.md", [2]string{}},
	{"a checklist that is missing", "alpha", flow, "category: \"\"", "validation: \"{installed_path}/checklist.md\"", [2]string{}},
	{"a variable of a workflow that nothing sets", "alpha", flow, "{output_folder}/prd.md", "{outputs}/prd.md", [2]string{}},
	{"variables in a circle", "alpha", flow, "category: \"\"", "one: \"{two}\"\ntwo: \"{one}\"", [2]string{}},
	{"a key that is there twice", "alpha", flow, "category: \"\"", "name: again", [2]string{}},
	{"an alias", "alpha", flow, "category: \"\"", "category: &x 1", [2]string{}},
	{"a workflow that is no YAML", "alpha", flow, "description: Writes a PRD", "description: [Writes", [2]string{flow}},
	{"a directory that it is not in", "alpha", flow, "installed_path: \"{project-root}/bmad/bmm/workflows/prd\"", "installed_path: \"{project-root}/bmad/bmm/workflows/plan\"", [2]string{}},
	{"a goto to nowhere", "alpha", told, "</step>", "<goto step=\"9\"/></step>", [2]string{}},
	{"a goto to an anchor that is not there", "alpha", told, "</step>", "<goto anchor=\"top\"/></step>", [2]string{}},
	{"a step that is there twice", "alpha", told, "</step>", "</step>\n<step n=\"1\" goal=\"Again\"></step>", [2]string{told, "Again"}},
	{"a mistyped tag", "alpha", told, "<ask>What is it about, {{category}}?</ask>", "<aks>What is it about?</aks>", [2]string{}},
	{"an invoked workflow that is missing", "alpha", told, "</step>", "<invoke-workflow path=\"{project-root}/bmad/bmm/workflows/gone/workflow.yaml\"/></step>", [2]string{}},
	{"an invoked task that is missing", "alpha", told, "</step>", "<invoke-task>Validate with {project-root}/bmad/core/tasks/gone.md</invoke-task></step>", [2]string{}},
	{"a workflow that calls itself", "alpha", told, "</step>", "<invoke-workflow path=\"{project-root}/bmad/bmm/workflows/prd/workflow.yaml\"/></step>", [2]string{told}},
	{"a module's config that is no YAML", "alpha", "bmad/bmm/config.yaml", "project_name: Lantern", "project_name: [Lantern", [2]string{"bmad/bmm/config.yaml"}},
	{"a core without a key", "alpha", "bmad/core/config.yaml", "user_name: Ada\n", "", [2]string{"bmad/core/config.yaml"}},

	{"an exec that is missing", "compiled", pm6, `exec="{project-root}/_bmad/bmm/workflows/create-prd/workflow.md">[CP]`, `exec="{project-root}/_bmad/bmm/workflows/create-prod/workflow.md">[CP]`, [2]string{}},
	{"a skill that is not installed", "compiled", pm6, "skill:bmad-party-mode", "skill:bmad-parties", [2]string{}},
	{"a first step that is missing", "compiled", "_bmad/bmm/workflows/create-prd/workflow.md", "./steps/step-01-init.md", "./steps/step-01-start.md", [2]string{}},
	{"a next step that is missing", "compiled", step1, "nextStepFile: ./step-02-goal.md", "nextStepFile: ./step-02-goals.md", [2]string{}},
	{"a step's template that is missing", "compiled", step1, "templateFile: ../templates/prd.md", "templateFile: ../templates/prod.md", [2]string{}},
	{"front matter that is no YAML", "compiled", step1, "name: step-01-init", "name: [step", [2]string{step1}},
	{"a step that leads to itself", "compiled", step1, "nextStepFile: ./step-02-goal.md", "nextStepFile: ./step-01-init.md", [2]string{step1}},
	{"an override that is no YAML", "compiled", "_bmad/_config/agents/bmm-pm.customize.yaml", "memories: []", "memories: [", [2]string{"_bmad/_config/agents/bmm-pm.customize.yaml"}},
	{"a manifest with a dead path", "compiled", "_bmad/_config/agent-manifest.csv", "_bmad/bmm/agents/pm.md", "_bmad/bmm/agents/gone.md", [2]string{}},
	{"a team of strangers", "compiled", "_bmad/bmm/teams/team-one.yaml", "  - pm", "  - nobody", [2]string{}},
	{"a config of the module that is missing", "compiled", pm6, "_bmad/bmm/config.yaml NOW", "_bmad/bmm/konfig.yaml NOW", [2]string{pm6}},

	{"a skill's manifest that is no YAML", "manifest", ".claude/skills/bmad-agent-pm/bmad-skill-manifest.yaml", `icon: "📋"`, `icon: "📋`, [2]string{".claude/skills/bmad-agent-pm/bmad-skill-manifest.yaml"}},
	{"a capability whose skill is missing", "manifest", ".claude/skills/bmad-agent-pm/SKILL.md", "| bmad-create-prd |", "| bmad-make-prd |", [2]string{}},
	{"a capability whose prompt is missing", "manifest", ".claude/skills/bmad-agent-pm/SKILL.md", "prompt: write-document.md", "prompt: write-documents.md", [2]string{}},
	{"a skill without a name", "manifest", ".claude/skills/bmad-create-prd/SKILL.md", "name: bmad-create-prd\n", "", [2]string{".claude/skills/bmad-create-prd/SKILL.md"}},
	{"a skill without a description", "manifest", ".claude/skills/bmad-create-prd/SKILL.md", "description: Create a PRD. Use when asked for.\n", "", [2]string{".claude/skills/bmad-create-prd/SKILL.md"}},
	{"a skill of another name than its folder", "manifest", ".claude/skills/bmad-create-prd/SKILL.md", "name: bmad-create-prd", "name: bmad-create-prod", [2]string{}},
	{"a skill's file that is missing", "manifest", ".claude/skills/bmad-create-prd/SKILL.md", "./workflow.md", "./workflows.md", [2]string{}},

	{"a customization that is no TOML", "toml", ".agents/skills/bmad-agent-pm/customize.toml", `icon = "📋"`, `icon = 📋`, [2]string{}},
	{"an override that is no TOML", "toml", "_bmad/custom/bmad-agent-pm.toml", `icon = "🛠️"`, `icon = 🛠️`, [2]string{}},
	{"an item without its code", "toml", "_bmad/custom/bmad-agent-pm.toml", `code = "SP"`, `code = ""`, [2]string{"_bmad/custom/bmad-agent-pm.toml"}},
	{"an override of nobody", "toml", "_bmad/custom/bmad-agent-nobody.toml", "", "[agent]\nicon = 'x'\n", [2]string{"_bmad/custom/bmad-agent-nobody.toml"}},
	{"a central config that is no TOML", "toml", "_bmad/config.toml", `project_name = "Lantern"`, `project_name = Lantern`, [2]string{}},
	{"a menu's skill that is missing", "toml", ".agents/skills/bmad-agent-pm/customize.toml", "code = \"PRD\"\ndescription = \"Create a PRD\"\nskill = \"bmad-prd\"", "code = \"PX\"\ndescription = \"Create\"\nskill = \"bmad-prod\"", [2]string{".agents/skills/bmad-agent-pm/customize.toml"}},
	{"a key that the schema does not know", "source", own, "    icon: X", "    icon: X\n    colour: red", [2]string{own, "colour: red"}},
	{"an agent without an icon", "source", own, "    icon: X\n", "", [2]string{own, "metadata:"}},
	{"a trigger that the schema refuses", "source", own, "trigger: CP or fuzzy match on create-prd", "trigger: CP or fuzzy match on Create PRD", [2]string{}},
	{"a description without its code", "source", own, `description: "[CP] Create"`, `description: Create`, [2]string{own, "trigger: CP"}},
	{"an item without a target", "source", own, "      action: help them\n", "", [2]string{own, "trigger: help-me"}},
	{"a flag that is none", "source", own, "hasSidecar: false", "hasSidecar: maybe", [2]string{}},
	{"a reference of a skill that is missing", "toml", ".agents/skills/bmad-prd/SKILL.md", "references/guide.md", "references/guides.md", [2]string{}},
}

// What is put wrong on purpose is found, where it is.
func TestSeededDefectsAreFoundWhereTheyAre(t *testing.T) {
	missed := 0
	for _, d := range defects {
		if why := d.missed(t); why != "" {
			missed++
			t.Logf("%s (%s): %s", d.kind, d.tree, why)
		}
	}
	t.Logf("%d of %d defects are found", len(defects)-missed, len(defects))
	if len(defects) < 40 || missed*20 > len(defects) {
		t.Errorf("%d of %d defects are missed", missed, len(defects))
	}
}

// ownAgent is an agent as the schema of version 6.0 has it.
const ownAgent = `agent:
  metadata:
    id: "_bmad/own/agents/own.md"
    name: Ona
    title: Owner
    icon: X
    hasSidecar: false
  persona:
    role: r
    identity: i
    communication_style: c
    principles: [p]
  menu:
    - trigger: CP or fuzzy match on create-prd
      action: create it
      description: "[CP] Create"
    - trigger: help-me
      action: help them
      description: "Help"
`

// healthy writes a tree without defects and returns its directory.
func healthy(t *testing.T, tree string) string {
	t.Helper()
	if tree == "source" {
		dir := t.TempDir()
		put(t, dir, "src/modules/own/module.yaml", "code: own\nname: Own\n")
		put(t, dir, own, ownAgent)
		return dir
	}
	archive, err := txtar.ParseFile("../testdata/generations/" + tree + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		put(t, dir, f.Name, string(f.Data))
	}
	if tree == "compiled" {
		put(t, dir, "_bmad/_config/agent-manifest.csv", "name,displayName,title,module,path\n\"pm\",\"Jo\",\"Product Manager\",\"bmm\",\"_bmad/bmm/agents/pm.md\"\n")
	}
	return dir
}

// missed says how a defect is not found, empty if it is.
func (d *defect) missed(t *testing.T) string {
	t.Helper()
	dir := healthy(t, d.tree)
	known := map[string]bool{}
	for _, f := range lint(t, dir, Options{}).Findings {
		known[fmt.Sprint(f.Code, f.File, f.Line)] = true
	}
	file := filepath.Join(dir, filepath.FromSlash(d.file))
	src, err := os.ReadFile(file)
	if err != nil && d.old != "" {
		t.Fatal(err)
	}
	if !strings.Contains(string(src), d.old) {
		t.Fatalf("%s: %s does not hold %q", d.kind, d.file, d.old)
	}
	after := strings.Replace(string(src), d.old, d.changed, 1)
	if d.old == "" {
		after = d.changed
	}
	put(t, dir, d.file, after)
	at, line := d.file, 1+strings.Count(string(src)[:strings.Index(string(src), d.old)], "\n")
	if d.at[0] != "" {
		at, line = d.at[0], 0
		if d.at[1] != "" {
			line = 1 + strings.Count(after[:strings.Index(after, d.at[1])], "\n")
		}
	}
	var seen []string
	for _, f := range lint(t, dir, Options{}).Findings {
		if known[fmt.Sprint(f.Code, f.File, f.Line)] {
			continue
		}
		if f.File == at && (line == 0 || f.Line == line) {
			return ""
		}
		seen = append(seen, fmt.Sprintf("%s %s:%d", f.Code, f.File, f.Line))
	}
	return fmt.Sprintf("want %s:%d, found %q", at, line, seen)
}

// A healthy tree has nothing wrong with it.
func TestHealthyTreesHaveNoFindings(t *testing.T) {
	for _, tree := range []string{"v4", "alpha", "compiled", "manifest", "toml"} {
		for _, f := range lint(t, healthy(t, tree), Options{}).Findings {
			t.Errorf("%s: %s %v", tree, f.Code, &f)
		}
	}
}
