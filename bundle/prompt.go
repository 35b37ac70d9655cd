package bundle

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/troupe-dev/troupe/workspace"
)

// PromptVersion names the template that system prompts are made with. A change of
// what it says is a new version, so that one can tell what an old session was told.
const PromptVersion = "v1"

//go:embed prompt/v1.tmpl
var promptFiles embed.FS

// prompts are the parts of a system prompt, each a template of its own.
var prompts = template.Must(template.ParseFS(promptFiles, "prompt/"+PromptVersion+".tmpl"))

// A Part is a piece of what the model is told before the user speaks.
type Part struct {
	// Name is persona, tools, commands, rules or session, which together are the
	// system prompt, critical for each message after it, or what Options.Tell calls it.
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
	return d.prompt(session, func(text string) (string, error) { return text, nil })
}

func (d *Definition) prompt(session string, fill func(string) (string, error)) ([]Part, error) {
	var parts []Part
	for _, name := range []string{"persona", "tools", "commands", "rules", "session"} {
		var b strings.Builder
		if err := prompts.ExecuteTemplate(&b, name, promptData{d, session}); err != nil {
			return nil, fmt.Errorf("agent %s: prompt: %w", d.ID, err)
		}
		text, err := fill(b.String())
		if err != nil {
			return nil, fmt.Errorf("agent %s: prompt: %w", d.ID, err)
		}
		parts = append(parts, newPart(name, "", text))
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

// brief returns all that the model is told before the user speaks: the prompt with
// the variables of ws filled in, then what the critical actions came to.
func (d *Definition) brief(session string, ws *workspace.Workspace, told []message) ([]Part, error) {
	parts, err := d.prompt(session, func(text string) (string, error) {
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
	files, err := d.bundle.open(o, noSession())
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", d.ID, err)
	}
	defer files.Close()
	ws, told, err := d.perform(files)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", d.ID, err)
	}
	parts, err := d.brief("{session-id}", ws, told)
	for _, more := range o.told() {
		parts = append(parts, Part{Name: more.Source, Text: more.Content, Tokens: EstimateTokens(more.Content)})
	}
	return parts, err
}
