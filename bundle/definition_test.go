package bundle

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Each command is cmd, code, kind, target, template, data, line.
type row [7]any

func rows(commands []Command) []row {
	var list []row
	for _, c := range commands {
		list = append(list, row{c.Cmd, c.Code, c.Kind, c.Target, c.Template, c.Data, c.Line})
	}
	return list
}

func TestTheFormatsBecomeOneDefinition(t *testing.T) {
	c := find(t, project(t), Config{})
	for id, want := range map[string]struct {
		name, title, icon, declared, description string
		persona                                  Persona
		commands                                 []row
	}{
		"alex": {
			name: "Alex", title: "Requirements Facilitator", icon: "📝", declared: "bmad/custom/bundles/requirements/agents/alex.md",
			persona: Persona{
				Role:               "Facilitator who turns wishes & needs into requirements",
				Identity:           "Has asked good questions for twenty years.",
				CommunicationStyle: "Calm and curious; calls the user {user_name}.",
				Principles:         []string{"Understand first, write second."},
			},
			commands: []row{
				{"*help", "", KindBuiltin, "", "", "", 17},
				{"*intake-workflow", "", KindWorkflow, "{bundle-root}/workflows/intake/workflow.yaml", "", "", 18},
				{"*check-intake", "", KindValidate, "{bundle-root}/workflows/intake/workflow.yaml", "", "", 19},
				{"*estimate", "", KindWorkflow, "todo", "", "", 20},
				{"*glossary", "", KindExec, "{bundle-root}/tasks/glossary.md", "", "{bundle-root}/data/terms.csv", 21},
				{"*status", "", KindPrompt, "#status", "", "", 22},
				{"*summary", "", KindAction, "sum up what was said so far", "", "", 23},
				{"*letter", "", KindTemplate, "{bundle-root}/templates/letter.md", "{bundle-root}/templates/letter.md", "", 24},
				{"*think", "", KindNone, "", "", "", 25},
				{"*exit", "", KindBuiltin, "", "", "", 26},
			},
		},
		"pm": {
			name: "John", title: "Product Manager", icon: "📋", declared: "bmad/bmm/agents/pm.md", description: "Product Manager",
			persona: Persona{
				Role: "Product Strategist", Identity: `Seeks the deeper "why".`, CommunicationStyle: "Direct.", Principles: []string{"Users first."},
			},
			commands: []row{
				{"*help", "", KindBuiltin, "", "", "", 37},
				{"*create-prd", "CP", KindWorkflow, "{project-root}/bmad/bmm/workflows/prd/workflow.yaml", "", "", 38},
				{"*party", "", KindWorkflow, "{project-root}/bmad/cis/workflows/party/workflow.yaml", "", "", 39},
				{"*exit", "", KindBuiltin, "", "", "", 40},
			},
		},
		"dev": {
			name: "Amelia", title: "Developer: Senior", icon: "💻", declared: "_bmad/bmm/agents/dev.md", description: "story execution",
			persona: Persona{
				Role: "Senior Software Engineer", Identity: "Executes approved stories.", CommunicationStyle: "Succinct.",
				Principles: []string{"- All tests pass\n- No skipping"},
			},
			commands: []row{
				{"*dev-story", "DS", KindWorkflow, "{project-root}/_bmad/bmm/workflows/quick/workflow.md", "", "", 23},
				{"*review", "", KindExec, "{project-root}/_bmad/bmm/workflows/quick/steps/step-01.md", "", "{project-root}/_bmad/bmm/data/rules.csv", 26},
				{"*party-mode", "PM", KindExec, "{project-root}/_bmad/bmm/workflows/quick/workflow.md", "", "", 32},
				{"*expert-chat", "CH", KindAction, "talk as an expert", "", "", 36},
			},
		},
		"qa": {
			name: "Quinn", title: "Test Architect", icon: "🧪", declared: "qa", description: "Use for reviews",
			persona: Persona{
				Role: "Test Architect", Identity: "Looks twice", CommunicationStyle: "Thorough", Focus: "Quality",
				Principles: []string{"Depth as needed", "CRITICAL: Tests first"},
			},
			commands: []row{
				{"*help", "", KindBuiltin, "", "", "", 28},
				{"*review {story}", "", KindExec, "{root}/tasks/review-story.md", "{root}/templates/qa-gate-tmpl.yaml", "", 29},
				{"*gate", "", KindExec, "{root}/tasks/qa-gate.md", "", "", 30},
				{"*exit", "", KindBuiltin, "", "", "", 33},
			},
		},
		"list": {
			name: "Lister", declared: "list",
			commands: []row{{"*help", "", KindBuiltin, "", "", "", 6}, {"*draft", "", KindNone, "", "", "", 7}},
		},
		"map": {
			name: "Mapper", declared: "map",
			commands: []row{{"*help", "", KindBuiltin, "", "", "", 6}, {"*status", "", KindNone, "", "", "", 7}},
		},
		"bmad-agent-sage": {
			name: "Sage", title: "Adviser", icon: "🦉", declared: "bmad-agent-sage",
			description: "Wise advice. Use when the user asks for the sage",
			persona: Persona{
				Role: "Gives advice", Identity: "Has seen it all", CommunicationStyle: "Short sentences", Principles: []string{"Listen", "Then speak"},
			},
			commands: []row{
				{"*AD", "AD", KindSkill, "bmad-advice", "", "", 13},
				{"*RD", "RD", KindAction, "Tell a riddle about owls", "", "", 18},
			},
		},
	} {
		d := define(t, c, id)
		if d.Name != want.name || d.Title != want.title || d.Icon != want.icon || d.Declared != want.declared || d.Description != want.description {
			t.Errorf("%s is %+v, %s", id, d.Entry, d.Declared)
		}
		if diff := cmp.Diff(want.persona, d.Persona); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
		if diff := cmp.Diff(want.commands, rows(d.Commands)); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

func TestCriticalActionsComeFromEveryFormat(t *testing.T) {
	c := find(t, project(t), Config{})
	for id, want := range map[string][]string{
		"alex":            {"11 {bundle-root}/config.yaml", "12", "13"},
		"hal":             {"4 project-context.md?"},
		"pm":              {"12 {project-root}/bmad/bmm/config.yaml"},
		"dev":             {"0 {bundle-root}/config.yaml?", "20"},
		"qa":              {"8 .bmad-core/core-config.yaml"},
		"bmad-agent-sage": {"0 {bundle-root}/config.yaml?", "2 {skill-root}/references/advice.md", "2", "2 {skill-root}/references/facts.md?", "2 {project-root}/**/context.md?"},
	} {
		var got []string
		for _, a := range define(t, c, id).Critical {
			text := []string{itoa(a.Line)}
			if a.Load != nil {
				text = append(text, a.Load.Path)
				if a.Load.Optional {
					text[1] += "?"
				}
			}
			got = append(got, strings.Join(text, " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", id, got)
		}
	}
}

func TestWhatElseAFileSays(t *testing.T) {
	c := find(t, project(t), Config{})
	if d := define(t, c, "alex"); d.Greeting != "Hello {user_name}, I am Alex." || len(d.Prompts) != 1 ||
		d.Prompts[0] != (Prompt{"status", "Show what is answered and what is open.", 29}) {
		t.Errorf("alex: %q %+v", d.Greeting, d.Prompts)
	}
	if d := define(t, c, "pm"); !slices.Equal(d.Rules, []string{"Stay in character until exit selected", "Number all lists"}) {
		t.Errorf("pm: %q", d.Rules)
	}
	if d := define(t, c, "qa"); !slices.Equal(d.Rules, []string{"story-file-permissions:\n- CRITICAL: Only update QA Results"}) || len(d.Dependencies) != 3 {
		t.Errorf("qa: %q %v", d.Rules, d.Dependencies)
	}
	d := define(t, c, "dev")
	if !slices.Equal(codes(d.Findings), []string{CodeUnquoted}) || len(d.Findings) != 3 || d.Findings[0].Line != 5 {
		t.Errorf("dev: %v", d.Findings)
	}
}

func TestReferencesAreLocatedWhereTheyAre(t *testing.T) {
	c := find(t, project(t), Config{})
	want := map[string]string{
		"{bundle-root}/config.yaml":                                 "bmad/custom/bundles/requirements/config.yaml",
		"{project-root}/bmad/cis/workflows/party/workflow.yaml":     "bmad/cis/workflows/party/workflow.yaml",
		"{project-root}/_bmad/bmm/workflows/quick/steps/step-01.md": "src/bmm/workflows/quick/steps/step-01.md",
		"{root}/tasks/qa-gate.md":                                   ".bmad-core/tasks/qa-gate.md",
		".bmad-core/core-config.yaml":                               ".bmad-core/core-config.yaml",
		"{skill-root}/references/advice.md":                         "skills/bmad-agent-sage/references/advice.md",
	}
	definitions, _ := c.Definitions()
	for _, d := range definitions {
		for _, ref := range d.References() {
			file, err := d.Parent().Locate(ref)
			if err != nil && !ref.Optional {
				t.Errorf("%s:%d: %s: %v", ref.File, ref.Line, ref.Path, err)
			}
			if expected, ok := want[ref.Path]; ok && err == nil {
				if file != expected {
					t.Errorf("%s is %s; want %s", ref.Path, file, expected)
				}
				delete(want, ref.Path)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not referred to: %v", want)
	}
}

func TestAnAgentFileIsNeedNotBeXML(t *testing.T) {
	for name, src := range map[string]string{
		"bare ampersand": `<agent id="a" name="A & B"><persona><role>Q&A <3</role></persona></agent>`,
		"unclosed":       `<agent id="a" name="A & B"><persona><role>R</role></persona><cmds><c cmd="*x">X</cmds></agent>`,
		"two roots":      `<agent id="a" name="A & B"></agent><agent id="b" name="B"></agent>`,
		"mentioned":      "An `<agent>` file.\n\n```xml\n<agent id=\"a\" name=\"A & B\"></agent>\n```\n",
	} {
		c, _ := alone(t, map[string]string{"agent.md": src})
		d, err := c.Definition("one")
		if err != nil || d.Declared != "a" {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _ := alone(t, map[string]string{"agent.md": strings.Repeat("<agent>", 100) + strings.Repeat("</agent>", 100)})
	if _, err := c.Definition("one"); err == nil || asFinding(err, "").Code != CodeUnreadable {
		t.Errorf("too deep: %v", err)
	}
}

func TestHandlersAreNotCommands(t *testing.T) {
	c := find(t, project(t), Config{})
	for _, command := range define(t, c, "pm").Commands {
		if command.Target == "path/to/workflow.yaml" {
			t.Error("the documentation of a handler became a command")
		}
	}
}

func TestACommandKeepsItsAttributes(t *testing.T) {
	c := newCommand("*x", "d", []Attribute{{"validate-workflow", "v.yaml", 1}, {"Run-Workflow", " w.yaml ", 1}, {"tmpl", "t.md", 1}, {"data", "d.csv", 1}, {"custom", "c", 1}}, 1)
	if c.Kind != KindWorkflow || c.Target != "w.yaml" || c.Template != "t.md" || c.Data != "d.csv" || len(c.Attributes) != 5 {
		t.Errorf("%+v", c)
	}
	want := []Reference{
		{Path: "v.yaml", Use: UseValidate}, {Path: "w.yaml", Use: UseWorkflow}, {Path: "t.md", Use: UseTemplate}, {Path: "d.csv", Use: UseData},
	}
	if diff := cmp.Diff(want, c.references("f"), cmpopts.IgnoreFields(Reference{}, "Key", "File", "Line")); diff != "" {
		t.Error(diff)
	}
}

// No file makes the loader panic, or its errors lack a place.
func FuzzAgentFile(f *testing.F) {
	for _, seed := range []string{
		`<agent id="a" name="A"><critical-actions><i>Load x.yaml</i></critical-actions><cmds><c cmd="*x" exec="y.md">Z</c></cmds></agent>`,
		"```yaml\nagent:\n  id: a\ncommands:\n  - x: y\ndependencies:\n  tasks: [z.md]\n```\n",
		"---\nname: x\n---\n<agent name='n'><activation><step n='1'>- Load and read c.yaml NOW</step></activation></agent>",
	} {
		f.Add(seed, false)
	}
	f.Add("agent:\n  metadata: {name: A}\n  menu:\n    - {trigger: a, exec: b.md}\n    - multi: c\n      triggers: [{d: [{input: e}]}]\n", true)
	f.Fuzz(func(t *testing.T, src string, isYAML bool) {
		d := &Definition{bundle: &Bundle{}}
		d.File = "f"
		name := "agent.md"
		if isYAML {
			name = "x.agent.yaml"
		}
		if err := d.parse(name, src); err != nil {
			if found, ok := err.(*Finding); !ok || found.Line < 1 || found.File != "f" {
				t.Errorf("%q: %v", src, err)
			}
			return
		}
		d.References()
		if _, err := d.Prompt("s"); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	})
}
