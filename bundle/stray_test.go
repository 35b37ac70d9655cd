package bundle

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const xmlAgent = `<agent id="x" name="NAME" title="T" icon="i"><persona><role>r</role></persona><menu><item cmd="*go" action="go">Go</item></menu></agent>`

// What people write themselves follows no schema. If it was meant to be an agent, it is
// one, with all its commands, and a warning says what to write.
func TestAgentsAsPeopleWriteThem(t *testing.T) {
	const config = "user_name: Ada\ncommunication_language: French\noutput_folder: '{project-root}/docs'\n"
	for name, c := range map[string]struct {
		files    map[string]string
		id, name string
		commands []string
		warns    bool
	}{
		"flat": {map[string]string{
			"agents/helper.agent.yaml": "name: Hedy\ntitle: Helper\nrole: helps\nmenu:\n  - trigger: plan\n    description: Plan it\n  - cmd: '*go'\n    action: go\n",
		}, "helper", "Hedy", []string{"*plan", "*go"}, true},
		"persona and menu beside agent": {map[string]string{
			"my-module/agents/h.agent.yaml": "agent:\n  metadata: {name: Hedy, title: T, icon: i}\npersona:\n  role: r\nmenu:\n  - trigger: plan\n    action: plan\n",
		}, "h", "Hedy", []string{"*plan"}, true},
		"menu.items": {map[string]string{
			"custom/mod/agents/h.agent.yaml": "agent:\n  metadata: {name: Hedy}\n  persona: {role: r}\n  menu:\n    items:\n      - {trigger: plan, action: plan}\n      - {trigger: go, action: go}\n",
		}, "h", "Hedy", []string{"*plan", "*go"}, true},
		"menu as a map": {map[string]string{
			"agents/h.agent.yaml": "agent:\n  name: Hedy\n  persona: a helper\n  menu:\n    plan: Plan it\n    go: {description: Go, action: go}\n",
		}, "h", "Hedy", []string{"*plan", "*go"}, true},
		"commands as texts": {map[string]string{
			"agents/h.agent.yaml": "agent:\n  metadata: {name: Hedy}\n  persona: {role: r}\n  commands:\n    - plan - Plan it\n    - go: Go there\n",
		}, "h", "Hedy", []string{"*plan", "*go"}, true},
		"an empty name": {map[string]string{
			"agents/h.agent.yaml": "agent:\n  metadata: {name: '', title: T}\n  persona: {role: r}\n  menu:\n    - {trigger: plan, action: plan}\n",
		}, "h", "h", []string{"*plan"}, true},
		"YAML without the suffix": {map[string]string{
			"_bmad/core/config.yaml": config, "_bmad/mine/agents/h.yaml": "agent:\n  metadata: {name: Hedy}\n  persona: {role: r}\n  menu:\n    - {trigger: plan, action: plan}\n",
		}, "h", "Hedy", []string{"*plan"}, false},
		"a subfolder": {map[string]string{
			"_bmad/bmm/config.yaml": config, "_bmad/bmm/agents/data/team/h.md": strings.ReplaceAll(xmlAgent, "NAME", "No"),
			"_bmad/bmm/agents/team/h.md": strings.ReplaceAll(xmlAgent, "NAME", "Hedy"),
		}, "h", "Hedy", []string{"*go"}, false},
		"below custom in an installation": {map[string]string{
			"_bmad/core/config.yaml": config, "_bmad/custom/agents/h.agent.yaml": "agent:\n  metadata: {name: Hedy}\n  persona: {role: r}\n  menu:\n    - {trigger: plan, action: plan}\n",
		}, "h", "Hedy", []string{"*plan"}, false},
		"a tree of another name": {map[string]string{
			"tools/_cfg/manifest.yaml": "x: y", "tools/bmm/config.yaml": config,
			"tools/bmm/agents/h.md": `<agent id="h" name="Hedy"><activation critical="MANDATORY"><step n="2">Load and read {project-root}/tools/bmm/config.yaml NOW</step></activation><menu><item cmd="*go" action="go">Go</item></menu></agent>`,
		}, "h", "Hedy", []string{"*go"}, false},
		"version 4 with the core-config misnamed": {map[string]string{
			".bmad-core/core-config.yaml": "prd:\n  prdFile: docs/prd.md\n", ".bmad-core/tasks/do.md": "Do",
			".bmad-core/agents/h.md": "# h\n\n```yaml\nactivation-instructions:\n  - STEP 3: Load and read `bmad-core/core-config.yaml` (project configuration) before any greeting\nagent:\n  name: Hedy\n  id: h\ncommands:\n  - help: Show\n  - do: run task do.md\ndependencies:\n  tasks:\n    - do.md\n```\n",
		}, "h", "Hedy", []string{"*help", "*do"}, false},
		"version 4, flat": {map[string]string{
			".bmad-core/core-config.yaml": "prd:\n  prdFile: docs/prd.md\n", ".bmad-core/tasks/do.md": "Do",
			".bmad-core/agents/l'aide.md": "# Aide\n\n```yaml\nname: Hedy\nid: h\ntitle: Aide\nicon: ✍️\nrole: Rédige l'aide\nstyle: claire\ncommands:\n  - help: Montre\n  - rédiger {page}: Rédige\n```\n",
		}, "h", "Hedy", []string{"*help", "*rédiger {page}"}, true},
		"plain text below custom in an installation": {map[string]string{
			"_bmad/core/config.yaml": config, "_bmad/custom/agents/h.md": "---\nname: Hedy\ndescription: Diseña datos\n---\n# Hedy\n\n## Comandos\n- *ayuda - muestra la ayuda\n- *modelo - crea el modelo\n",
		}, "h", "Hedy", []string{"*ayuda", "*modelo"}, true},
		"a pack under another name": {map[string]string{
			".my-pack/agents/h.md":   "```yaml\nagent:\n  name: Hedy\n  id: h\npersona:\n  role: r\ncommands:\n  - help: Show\n```\n",
			".my-pack/tasks/do.md":   "Do",
			".my-pack/config.yaml":   "name: my-pack\n",
			".claude/agents/note.md": "---\nname: note\n---\nNot an agent of ours.\n",
		}, "h", "Hedy", []string{"*help"}, false},
		"an extension inside a module": {map[string]string{
			"_bmad/bmm/config.yaml": config, "_bmad/bmm/extensions/sq/agents/h.md": strings.ReplaceAll(xmlAgent, "NAME", "Hedy"),
			".github/agents/bmad-agent-h.md": strings.ReplaceAll(xmlAgent, "NAME", "Hedy") + "\nLoad persona from {project-root}/_bmad/bmm/extensions/sq/agents/h.md",
			"configs/agents/registry.yaml":   "agents:\n  - name: x\n", "crew/agents/writer.yaml": "name: w\nrole: Writer\ngoal: Write\n",
		}, "h", "Hedy", []string{"*go"}, false},
		"only an editor's copy": {map[string]string{
			".claude/commands/BMad/agents/h.md": "# /h Command\n\n```yaml\nagent:\n  name: Hedy\n  id: h\npersona:\n  role: r\ncommands:\n  - help: Show\n```\n",
		}, "h", "Hedy", []string{"*help"}, false},
		"a skill of another editor": {map[string]string{
			"_bmad/config.toml":                            "[core]\nuser_name = 'Ada'\n",
			".opencode/skills/bmad-agent-h/SKILL.md":       "---\nname: bmad-agent-h\ndescription: d\n---\n# Hedy — Helper\n",
			".opencode/skills/bmad-agent-h/customize.toml": "[agent]\nname = 'Hedy'\n[[agent.menu]]\ncode = 'PL'\ndescription = 'Plan'\nskill = 'bmad-plan'\n",
			".opencode/skills/bmad-plan/SKILL.md":          "---\nname: bmad-plan\ndescription: d\n---\nPlan.\n",
			".windsurf/skills/bmad-agent-h/SKILL.md":       "---\nname: bmad-agent-h\ndescription: d\n---\n# Hedy — Helper\n",
			".windsurf/skills/bmad-agent-h/customize.toml": "[agent]\nname = 'Hedy'\n",
		}, "h", "Hedy", []string{"*PL"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range c.files {
				put(t, dir, file, content)
			}
			catalog := find(t, dir, Config{})
			if n := len(catalog.Entries()); n != 1 {
				t.Fatalf("%d agents: %v; %v", n, catalog.Entries(), catalog.Findings())
			}
			d := define(t, catalog, c.id)
			var got []string
			for _, command := range d.Commands {
				got = append(got, command.Cmd)
			}
			if d.Name != c.name || !slices.Equal(got, c.commands) {
				t.Errorf("%s has %q", d.Name, got)
			}
			if warned := len(d.Findings) > 0; warned != c.warns {
				t.Errorf("warnings: %v", d.Findings)
			}
			if _, err := catalog.Prompt(d.ID); err != nil {
				t.Errorf("it does not start: %v", err)
			}
		})
	}
}

// Of the same agent in several places one counts, and it starts by its plain name.
func TestTheSameAgentTwiceIsOneAgent(t *testing.T) {
	agent := func(name string) string { return strings.ReplaceAll(xmlAgent, "NAME", name) }
	for name, c := range map[string]struct {
		files map[string]string
		file  string // that counts
		notes int
	}{
		"compiled beside its source": {map[string]string{
			"_bmad/bmm/agents/pm.md": agent("Right"), "_bmad/bmm/agents/pm.agent.yaml": "agent:\n  metadata: {name: Wrong}\n  persona: {role: r}\n",
		}, "_bmad/bmm/agents/pm.md", 1},
		"a broken source beside a good compiled one": {map[string]string{
			"_bmad/bmm/agents/pm.md": agent("Right"), "_bmad/bmm/agents/pm.agent.yaml": "agent: [\n",
		}, "_bmad/bmm/agents/pm.md", 1},
		"a backup": {map[string]string{
			"_bmad/bmm/agents/pm.md": agent("Right"), "_bmad-backup/_bmad/bmm/agents/pm.md": agent("Wrong"), "_bmad.old/bmm/agents/pm.md": agent("Wrong"),
		}, "_bmad/bmm/agents/pm.md", 1},
		"two trees": {map[string]string{
			"_bmad/bmm/agents/pm.md": agent("Right"), "bmad/bmm/agents/pm.md": agent("Wrong"),
		}, "_bmad/bmm/agents/pm.md", 1},
		"sources beside the installation": {map[string]string{
			"_bmad/bmm/agents/pm.md": agent("Right"), "src/modules/bmm/agents/pm.agent.yaml": "agent:\n  metadata: {name: Wrong}\n  persona: {role: r}\n", "src/modules/bmm/module.yaml": "code: bmm",
		}, "_bmad/bmm/agents/pm.md", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "_bmad/bmm/config.yaml", "user_name: Ada\n")
			for file, content := range c.files {
				put(t, dir, file, content)
			}
			catalog := find(t, dir, Config{})
			if d := define(t, catalog, "pm"); d.File != c.file || d.Name != "Right" {
				t.Errorf("%s of %s counts", d.Name, d.File)
			}
			notes := 0
			for _, f := range catalog.Findings() {
				if f.Code == CodeShadowed {
					notes++
				}
			}
			if len(catalog.Entries()) != 1 || notes < c.notes {
				t.Errorf("%d agents, %d notes: %v", len(catalog.Entries()), notes, catalog.Entries())
			}
		})
	}
}

// What an author says of a persona in words of their own reaches the model.
func TestAPersonaKeepsWhatNoSchemaKnows(t *testing.T) {
	c, _ := alone(t, map[string]string{"agent.md": `<agent id="x" name="X"><persona><role>r</role>
<voice><tone>Dry</tone></voice>
<!-- a remark -->
</persona><knowledge>Knows tea.</knowledge><menu><item cmd="*go" action="go">Go</item></menu></agent>`})
	parts, err := c.Prompt("one")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, p := range parts {
		all += p.Text
	}
	contains(t, "the prompt", all, "<voice><tone>Dry</tone></voice>", "<knowledge>Knows tea.</knowledge>")
	if strings.Contains(all, "a remark") {
		t.Error("a comment reaches the model")
	}
}

// A link to an installation in the project counts under its own name, so that
// {project-root} is what its author means; one that leads out of the project is told of.
func TestLinksToInstallations(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	agent := strings.ReplaceAll(xmlAgent, "NAME", "Hedy")
	put(t, dir, "tools/ai/bmad/bmm/agents/pm.md", agent)
	put(t, dir, "tools/ai/bmad/bmm/config.yaml", "user_name: Ada\n")
	put(t, elsewhere, "agents/x.md", agent)
	for link, target := range map[string]string{"_bmad": "tools/ai/bmad", ".bmad-core": elsewhere, "bmad": "nowhere", "tools/_bmad": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	c := find(t, dir, Config{})
	d := define(t, c, "pm")
	if len(c.Entries()) != 1 || d.File != "_bmad/bmm/agents/pm.md" || !slices.Contains(d.bundle.DocumentFolders(), "_bmad-output") {
		t.Errorf("%v, %s", c.Entries(), d.File)
	}
	var told []string
	for _, f := range c.Findings() {
		told = append(told, f.Code+" "+f.File)
	}
	if !slices.Equal(told, []string{CodeLink + " .bmad-core"}) {
		t.Errorf("told of %q", told)
	}
	if _, err := c.Prompt("pm"); err != nil {
		t.Error(err)
	}
}

// Trees as packages and people have left them: every agent that was meant is listed and
// has its commands, or says why it cannot start.
func TestTreesAsPackagesLeaveThem(t *testing.T) {
	const v4 = "# h\n\n```yaml\nagent:\n  name: Hedy\n  id: h\n  title: T\npersona:\n  role: r\ncommands:\n  - help: Show\n  - do {story}: Do it\n```\n"
	xml := strings.ReplaceAll(xmlAgent, "NAME", "Hedy")
	skill := "---\nname: bmad-agent-h\ndescription: Helps\n---\n\n# Hedy\n\n## Overview\n\nYou are Hedy.\n"
	menu := "[agent]\nname = 'Hedy'\ntitle = 'T'\n\n[[agent.menu]]\ncode = 'GO'\ndescription = 'Go'\nprompt = 'Go there'\n"
	config := "user_name: Ada\noutput_folder: docs\n"
	for name, c := range map[string]struct {
		files    map[string]string
		commands []string
	}{
		"upper-case extensions":      {map[string]string{"_bmad/bmm/config.yaml": config, "_bmad/bmm/agents/h.MD": xml}, []string{"*go"}},
		"an upper-case source":       {map[string]string{"mod/agents/h.agent.YAML": "agent:\n  metadata: {name: Hedy}\n  persona: {role: r}\n  menu:\n    - {trigger: go, action: go}\n"}, []string{"*go"}},
		"a skill in lower case":      {map[string]string{".claude/skills/bmad-agent-h/skill.md": skill, ".claude/skills/bmad-agent-h/customize.toml": menu}, []string{"*GO"}},
		"a directory with braces":    {map[string]string{"{{cookiecutter.name}}/.bmad-core/agents/h.md": v4}, []string{"*help", "*do {story}"}},
		"a directory in braces":      {map[string]string{"{module}/_bmad/bmm/config.yaml": config, "{module}/_bmad/bmm/agents/h.md": xml}, []string{"*go"}},
		"an indented block":          {map[string]string{".bmad-core/agents/h.md": strings.ReplaceAll(v4, "\n", "\n   ")}, []string{"*help", "*do {story}"}},
		"arguments in angles":        {map[string]string{".bmad-core/agents/h.md": strings.ReplaceAll(v4, "do {story}", `do "<story>" [--fast]`)}, []string{"*help", "*do {story}"}},
		"no YAML, names in quotes":   {map[string]string{".bmad-core/agents/h.md": "```yaml\nagent:\n  name: Hedy\n  id: h\n  title: T\npersona:\n  role: r\ncommands:\n  - '*help' - Show\n  - '*do <story> \"<why>\" [--a|b]' - Do it\n```\n"}, []string{"*help", "*do {story} {why}"}},
		"an installation of editors": {map[string]string{".claude/_bmad/bmm/config.yaml": config, ".claude/_bmad/bmm/agents/h.md": `<agent id="h" name="Hedy"><activation><step n="2">Load and read {project-root}/_bmad/bmm/config.yaml NOW</step></activation><menu><item cmd="*go" action="go">Go</item></menu></agent>`}, []string{"*go"}},
		"patterns of agents beside":  {map[string]string{".aios/agents/h.md": v4, ".aios/templates/x-template.md": v4, ".aios/schemas/README.md": v4}, []string{"*help", "*do {story}"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				put(t, dir, file, text)
			}
			list := find(t, dir, Config{}).List(nil)
			if len(list) != 1 || list[0].Broken != nil {
				t.Fatalf("listed are %+v", list)
			}
			d := define(t, find(t, dir, Config{}), list[0].ID)
			var commands []string
			for _, command := range d.Commands {
				commands = append(commands, command.Cmd)
			}
			if d.Name != "Hedy" || !slices.Equal(commands, c.commands) {
				t.Errorf("%s has %q, want %q", d.Name, commands, c.commands)
			}
		})
	}
}

func TestAnAgentWhoseTextWasLeftOutIsBroken(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "src/skills/bmad-cis-agent-h/bmad-skill-manifest.yaml", "type: agent\nname: bmad-cis-agent-h\ndisplayName: Hedy\n")
	put(t, dir, "src/skills/bmad-cis-flow/bmad-skill-manifest.yaml", "type: skill\nname: bmad-cis-flow\n")
	list := find(t, dir, Config{}).List(nil)
	if len(list) != 1 || list[0].ID != "bmad-cis-agent-h" || list[0].Broken == nil || !strings.Contains(list[0].Broken.Error(), "there is no SKILL.md") {
		t.Errorf("listed are %+v", list)
	}
}

// Step files name others from the root of their skill, and workflows name a step as if it
// lay beside them.
func TestStepsOfOtherSkillsAreFound(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "src/agents/bmad-agent-h/SKILL.md", "---\nname: bmad-agent-h\ndescription: d\n---\n\n# Hedy\n")
	put(t, dir, "src/agents/bmad-agent-h/customize.toml", "[agent]\nname = 'Hedy'\n\n[[agent.menu]]\ncode = 'GO'\ndescription = 'Go'\nskill = 'flow'\n")
	put(t, dir, "src/workflows/flow/SKILL.md", "---\nname: flow\ndescription: d\n---\n\nRead `./step-01-go.md`.\n")
	put(t, dir, "src/workflows/flow/steps-c/step-01-go.md", "---\nnext: '{skill-root}/steps-c/step-02-end.md'\n---\n\nGo to {next}.\n")
	put(t, dir, "src/workflows/flow/steps-c/step-02-end.md", "The end.\n")
	s := newSessions(t, find(t, dir, Config{}), "bmad-agent-h")
	x, leave := s.use(t, uuid(1), "2026-11-15")
	defer leave()
	w, err := s.agent.bundle.workflow(x.base, "flow", nil)
	if err != nil {
		t.Fatal(err)
	}
	x.follow(w, nil)
	x.visited(w.Path, "")
	first := x.find("./step-01-go.md")
	if !strings.HasSuffix(first, "/flow/steps-c/step-01-go.md") {
		t.Fatalf("the first step is %s", first)
	}
	x.visited(first, "---\nnext: '{skill-root}/steps-c/step-02-end.md'\n---\n")
	if found := x.find("{workflow_path}/step-02-end.md"); !strings.HasSuffix(found, "/flow/steps-c/step-02-end.md") {
		t.Errorf("the step that another names from the workflow is %s", found)
	}
	put(t, dir, "src/workflows/flow/old/workflow.md", "Old.\n")
	if found := x.find(path.Dir(w.Path) + "/old/workflow.yaml"); !strings.HasSuffix(found, "/flow/old/workflow.md") {
		t.Errorf("the workflow of another version is %s", found)
	}
	for _, name := range []string{"{skill-root}/steps-c/step-02-end.md", "{next}"} {
		loc, err := x.workspace().Resolve(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text, err := x.workspace().ReadFile(loc); err != nil || text != "The end.\n" {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}

// A manifest of agents in YAML stands beside them, and is none itself; a skill that builds
// agents is none either, where its manifest says so.
func TestManifestsBesideAgentsAreNoAgents(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "src/bmm/agents/bmad-skill-manifest.yaml", "pm.agent.yaml:\n  canonicalId: bmad-pm\n  type: agent\n")
	put(t, dir, "src/bmm/agents/pm.agent.yaml", "agent:\n  metadata: {id: pm, name: Jo, title: PM}\n  persona: {role: R, identity: I, communication_style: C, principles: P}\n  menu:\n    - {trigger: x, action: y, description: z}\n")
	put(t, dir, "src/skills/bmad-agent-builder/SKILL.md", "---\nname: bmad-agent-builder\ndescription: Builds agents. Use when asked for.\n---\n# Agent Builder\n")
	put(t, dir, "src/skills/bmad-agent-builder/bmad-skill-manifest.yaml", "type: skill\n")
	if list := find(t, dir, Config{}).List(nil); len(list) != 1 || list[0].ID != "pm" || list[0].Broken != nil {
		t.Errorf("%+v", list)
	}
}

// Agents at the top of a project read what is theirs, and not the project: nobody has granted
// that.
func TestAgentsAtTheTopOfAProjectDoNotReadAllOfIt(t *testing.T) {
	const agent = "agent:\n  metadata: {name: Hedy, title: T}\n  persona: {role: r}\n  menu:\n    - {trigger: plan, action: plan}\n"
	for extra, reads := range map[string]bool{"": false, "workflows/plan/workflow.yaml": true} {
		dir := t.TempDir()
		put(t, dir, "agents/helper.agent.yaml", agent)
		put(t, dir, "agents/team/other.agent.yaml", strings.ReplaceAll(agent, "Hedy", "Otto"))
		put(t, dir, "src/main.go", "package main\n")
		if extra != "" {
			put(t, dir, extra, "name: plan\n")
		}
		catalog := find(t, dir, Config{})
		if n := len(catalog.Entries()); n != 2 {
			t.Fatalf("%d agents: %v", n, catalog.Entries())
		}
		for _, id := range []string{"helper", "other"} {
			ws, err := define(t, catalog, id).Parent().Files()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"{bundle-root}/src/main.go", "{project-root}/src/main.go"} {
				loc, err := ws.Resolve(name)
				if err == nil {
					_, err = ws.ReadFile(loc)
				}
				if (err == nil) != reads {
					t.Errorf("%s reads %s beside %q: %v", id, name, extra, err)
				}
			}
		}
	}
}

// Where the installation is kept out of the repository, the agents that editors are pointed
// to are listed, with what to do.
func TestAgentsWhoseInstallationIsGoneAreListed(t *testing.T) {
	dir := t.TempDir()
	const pointer = "---\nname: 'pm'\ndescription: 'pm agent'\n---\n\n1. LOAD the FULL agent file from @_bmad/bmm/agents/pm.md\n"
	put(t, dir, ".claude/commands/bmad/bmm/agents/pm.md", pointer)
	put(t, dir, ".opencode/agent/bmad-agent-bmm-pm.md", pointer)
	put(t, dir, ".gemini/commands/bmad-agent-bmm-dev.toml", "prompt = \"\"\"\n1. LOAD the FULL agent file from {project-root}/_bmad/bmm/agents/dev.md\n\"\"\"\n")
	listed := find(t, dir, Config{}).List(nil)
	var got []string
	for _, l := range listed {
		got = append(got, l.ID)
		if l.Broken == nil || !strings.Contains(l.Broken.Error(), "_bmad/bmm/agents/"+l.ID+".md, which is not here") {
			t.Errorf("%s: %v", l.ID, l.Broken)
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"dev", "pm"}) {
		t.Errorf("listed are %v", got)
	}
	put(t, dir, "_bmad/bmm/config.yaml", "user_name: Ada\n")
	put(t, dir, "_bmad/bmm/agents/pm.md", strings.ReplaceAll(xmlAgent, "NAME", "John"))
	if listed := find(t, dir, Config{}).List(nil); len(listed) != 1 || listed[0].Broken != nil {
		t.Errorf("with the installation there are %v", listed)
	}
}
