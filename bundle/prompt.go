package bundle

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/troupe-dev/troupe/workspace"
)

// PromptVersion names the template that system prompts are made with. A change of
// what it says is a new version, so that one can tell what an old session was told.
const PromptVersion = "v3"

//go:embed prompt/v3.tmpl
var promptFiles embed.FS

// prompts are the parts of a system prompt, each a template of its own.
var prompts = template.Must(template.New("").Funcs(template.FuncMap{
	"number": func(i int) int { return i + 1 },
	"join":   func(list []string) string { return strings.Join(list, ", ") },
	// rest is what a description says after its first line.
	"rest": func(c Command) string {
		text := strings.TrimSpace(c.Description)
		if _, rest, _ := strings.Cut(text, "\n"); c.Label != "" {
			return strings.TrimRight(rest, " \n")
		}
		return text
	},
	// hang has the further lines of an item of a list stand below its first.
	"hang": func(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") },
	// isName says whether a command's code is its name.
	"isName": func(c Command) bool { return "*"+c.Code == c.Cmd },
	"indent": func(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") },
}).ParseFS(promptFiles, "prompt/"+PromptVersion+".tmpl"))

// A Part is a piece of what the model is told before the user speaks.
type Part struct {
	// Name is persona, activation, tools, commands, rules or session, which together are
	// the system prompt, critical for each message after it, or what Options.Tell calls it.
	Name string
	// Source is the file that a critical message shows, empty for the others.
	Source string
	Text   string
	// Tokens are estimated.
	Tokens int
}

// promptData is what the templates see.
type promptData struct {
	*Definition
	SessionID string
	// Settings are the configuration, and Folders where documents are.
	Settings []Setting
	Folders  []string
	// CanRun names the tool that runs commands, if there is one.
	CanRun    string
	CanInvoke bool
	// HasMemlog says that there is the tool memlog.
	HasMemlog bool
}

// Folder is where a PRD belongs, for examples: by the name that instructions have for it, if there is one.
func (p promptData) Folder() string {
	for _, name := range []string{"planning_artifacts", "output_folder"} {
		if slices.ContainsFunc(p.Settings, func(s Setting) bool { return s.Name == name }) {
			return "{" + name + "}"
		}
	}
	for _, s := range p.Settings {
		if s.Name == "prd.prdFile" && path.Dir(s.Value) != "." {
			return path.Dir(s.Value)
		}
	}
	if len(p.Folders) > 0 {
		return p.Folders[0]
	}
	return "docs"
}

// SkillPath returns where a skill of the project is.
func (p promptData) SkillPath(name string) string {
	if p.bundle.catalog == nil {
		return ""
	}
	return p.bundle.SkillPath(name)
}

// Skill is the text of an agent that is a skill, with its own customization filled in.
func (p promptData) Skill() string {
	for _, prompt := range p.Prompts {
		if prompt.ID == SkillFile || prompt.ID == instructions {
			return fillTable(prompt.Content, "agent", p.agentTable())
		}
	}
	return ""
}

// SkillName is the file that Skill is in.
func (p promptData) SkillName() string {
	for _, prompt := range p.Prompts {
		if prompt.ID == instructions {
			return instructions
		}
	}
	return SkillFile
}

// agentTable is what {agent.name} and the like mean.
func (d *Definition) agentTable() map[string]any {
	list := func(texts []string) any {
		all := make([]any, len(texts))
		for i, text := range texts {
			all[i] = text
		}
		return all
	}
	return map[string]any{
		"name": d.Name, "title": d.Title, "icon": d.Icon, "role": d.Persona.Role, "identity": d.Persona.Identity,
		"communication_style": d.Persona.CommunicationStyle, "principles": list(d.Persona.Principles),
		"menu": "the commands below", "persistent_facts": d.orNone(rememberFact, "the facts below"),
		"activation_steps_prepend": d.orNone(beforeGreeting, "the steps below for before the greeting"),
		"activation_steps_append":  d.orNone(afterGreeting, "the steps below for after the greeting"),
	}
}

// orNone is a text where a critical action begins in a way, else none.
func (d *Definition) orNone(prefix, text string) string {
	if slices.ContainsFunc(d.Critical, func(a CriticalAction) bool { return strings.HasPrefix(a.Text, prefix) }) {
		return text
	}
	return "none"
}

// criticalSection is how an activation speaks of the critical actions in the agent's own file.
var criticalSection = regexp.MustCompile(`(?i)\bcritical-actions section\b`)

// Steps are those of the activation in terms of what there is: the configuration is loaded,
// and what handlers would do stands below each command.
func (p promptData) Steps() []string {
	var steps []string
	for _, step := range p.Activation {
		text := step.Text
		switch {
		case loadingSoon.MatchString(text) && strings.Contains(text, "session variables"):
			text = "Load the configuration: that is done, and its values are above. Use them for the whole conversation"
		case strings.Contains(text, "menu-handlers"):
			text = "When executing a menu item: do what stands below the command in AVAILABLE COMMANDS"
		case criticalSection.MatchString(text):
			if len(p.Critical) == 0 {
				continue
			}
			text = "Carry out your critical actions: files are loaded already, and what they ask of you is below"
		}
		steps = append(steps, text)
	}
	return steps
}

// OwnPrompts are those that commands refer to.
func (p promptData) OwnPrompts() []Prompt {
	var own []Prompt
	for _, prompt := range p.Prompts {
		if prompt.ID != SkillFile && prompt.ID != instructions {
			own = append(own, prompt)
		}
	}
	return own
}

// HasWorkflows says whether any command runs one.
func (d *Definition) HasWorkflows() bool {
	for i := range d.Commands {
		if d.Commands[i].IsWorkflow() {
			return true
		}
	}
	return false
}

// Prompt returns the parts of the system prompt for a session. Variables in them
// are left as written; [Catalog.Prompt] fills them in.
func (d *Definition) Prompt(session string) ([]Part, error) {
	return d.prompt(promptData{Definition: d, SessionID: session}, func(text string) (string, error) { return text, nil })
}

func (d *Definition) prompt(data promptData, fill func(string) (string, error)) ([]Part, error) {
	var parts []Part
	for _, name := range []string{"persona", "activation", "tools", "commands", "rules", "session"} {
		var b strings.Builder
		if err := prompts.ExecuteTemplate(&b, name, data); err != nil {
			return nil, fmt.Errorf("agent %s: prompt: %w", d.ID, err)
		}
		text, err := fill(strings.TrimSpace(b.String()))
		if err != nil {
			return nil, fmt.Errorf("agent %s: prompt: %w", d.ID, err)
		}
		if text != "" {
			parts = append(parts, newPart(name, "", text))
		}
	}
	return parts, nil
}

func newPart(name, source, text string) Part {
	return Part{name, source, text, EstimateTokens(text)}
}

// EstimateTokens says how many tokens a text is, roughly.
func EstimateTokens(text string) int {
	const bytesPerToken = 4
	return (len(text) + bytesPerToken - 1) / bytesPerToken
}

// maxSettings bounds the settings that a prompt shows, and maxSetting one of them.
const (
	maxSettings = 60
	maxSetting  = 300
)

// promptData gathers what a prompt is made of.
func (s *sessions) promptData(session string, ws *workspace.Workspace) promptData {
	d := s.agent
	data := promptData{Definition: d, SessionID: session, Folders: d.bundle.DocumentFolders()}
	settings, _ := d.bundle.settings(ws)
	for _, setting := range settings {
		if value := setting.Value; len(value) <= maxSetting && !strings.Contains(value, "\n") && len(data.Settings) < maxSettings {
			data.Settings = append(data.Settings, setting)
		}
	}
	for _, tool := range s.options.Tools {
		if name := tool.Spec().Name; strings.Contains(name, "command") || strings.Contains(name, "shell") || strings.Contains(name, "bash") {
			data.CanRun = name
		}
	}
	data.HasMemlog = d.bundle.keepsMemlog
	data.CanInvoke = len(d.bundle.catalog.entries) > 1 || s.options.Invoke != nil
	return data
}

// parts returns all that the model is told before the user speaks: the prompt with
// the variables of ws filled in, then what the critical actions came to.
func (s *sessions) parts(session string, ws *workspace.Workspace, told []message) ([]Part, error) {
	d := s.agent
	parts, err := d.prompt(s.promptData(session, ws), func(text string) (string, error) {
		text, _, err := ws.Vars().Expand(d.bundle.here(text))
		return text, err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range told {
		parts = append(parts, newPart("critical", m.source, m.text))
	}
	return parts, nil
}

// Prompt returns all that an agent's model is told before the user first speaks,
// where nothing but the bundle is granted to the agent.
func (c *Catalog) Prompt(id string) ([]Part, error) { return c.PromptWith(id, Options{}) }

// PromptWith is Prompt for an agent with these options. Critical actions are carried
// out, and fail here as they would in a run; there is no session, whose id and folder
// stay as variables.
func (c *Catalog) PromptWith(id string, o Options) ([]Part, error) {
	d, err := c.Definition(id)
	if err != nil {
		return nil, err
	}
	files, err := d.bundle.open(o, c.sessionsOf(d, o).documentsThere(), noSession())
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", d.ID, err)
	}
	defer files.Close()
	ws, told, err := d.perform(files)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", d.ID, err)
	}
	parts, err := c.sessionsOf(d, o).parts("{session-id}", ws, told)
	for _, more := range o.told() {
		parts = append(parts, Part{Name: more.Source, Text: more.Content, Tokens: EstimateTokens(more.Content)})
	}
	return parts, err
}
