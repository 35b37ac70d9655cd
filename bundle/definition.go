package bundle

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/markup"
)

// A Format says how an agent is written.
type Format string

// The formats of agents.
const (
	FormatXML      Format = "bundle-xml"    // <agent> in markdown
	FormatCompiled Format = "v6-compiled"   // the same as an installer writes it, with <activation>
	FormatYAML     Format = "v6-agent-yaml" // *.agent.yaml
	FormatV4       Format = "v4"            // a YAML block in markdown
	FormatSkill    Format = "skill"         // SKILL.md with customize.toml or a manifest
	FormatProse    Format = "prose"         // plain markdown with front matter
	FormatCoach    Format = "coach"         // INSTRUCTIONS.md, made for a web chat
)

// A Definition is what an agent's file says, whatever its format. It does not
// change and must not be changed.
type Definition struct {
	Entry
	// Declared is the id that the file itself gives.
	Declared string
	Format   Format
	Persona  Persona
	// Critical are what must be done before the user speaks, in order.
	Critical []CriticalAction
	// Activation is what the author has written for the beginning of a conversation, in
	// order: the files among it are in Critical, too.
	Activation []Step
	Greeting   string
	Commands   []Command
	Prompts    []Prompt
	// Rules are further instructions, each a line or more.
	Rules []string
	// Memories are facts that the agent always knows.
	Memories []string
	// Labels are lines of the menu that name nothing that could be carried out.
	Labels []string
	// Overrides are what was laid over the agent's
	// own.
	Overrides []Override
	// Dependencies are files that commands may need.
	Dependencies []Reference
	Findings     []Finding

	bundle *Bundle
}

// A Persona is who an agent is. Any of it may be empty.
type Persona struct {
	Role               string
	Identity           string
	CommunicationStyle string
	Focus              string
	Principles         []string
	// More is what else the author wrote about who the agent is, as written.
	More string
}

// A Step is one of those that an author has written for the beginning of a conversation.
type Step struct {
	Text string
	Line int
}

// A Prompt is a text that commands refer to by its id.
type Prompt struct {
	ID      string
	Content string
	Line    int
}

// Parent returns the bundle that the agent belongs to.
func (d *Definition) Parent() *Bundle { return d.bundle }

// IsForEditor says whether the agent's file is an editor's, .claude/agents/x.md and the like,
// and not one of an installation.
func (d *Definition) IsForEditor() bool { return isEditorFile(d.File) && d.Format != FormatSkill }

// References lists the files that the definition names.
func (d *Definition) References() []Reference {
	var refs []Reference
	for _, action := range d.Critical {
		if action.Load != nil && !action.implied {
			refs = append(refs, Reference{Path: action.Load.Path, Use: UseCritical, File: d.File, Line: action.Line, Optional: action.Load.Optional || action.Load.many || isMemory(action.Load.Path)})
		}
	}
	for _, c := range d.Commands {
		refs = append(refs, c.references(d.File)...)
	}
	refs = append(refs, d.Dependencies...)
	for i := range refs {
		refs[i].Optional = refs[i].Optional || d.bundle.isGenerated(refs[i].Path)
	}
	return refs
}

// load reads the agent's file the first time it is asked for.
func (e *entry) load() (*Definition, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.definition != nil {
		return e.definition, nil
	}
	if e.missing != "" {
		return nil, problem(CodeUnreadable, e.File, 1, "%s", e.missing)
	}
	src, err := e.bundle.read(e.name)
	if err != nil {
		return nil, err
	}
	d := &Definition{Entry: e.Entry, bundle: e.bundle}
	// The lines of a file inside a web bundle are those of the bundle.
	if err := d.parse(e.name, strings.Repeat("\n", e.bundle.above[e.name])+src); err != nil {
		return nil, err
	}
	d.override(e.plain)
	d.Name = cmp.Or(d.Name, e.plain)
	for _, action := range d.Critical {
		if action.Load != nil && e.bundle.isGenerated(action.Load.Path) {
			action.Load.Optional = true
		}
	}
	e.definition = d
	return d, nil
}

// parse finds out the format by what the file holds.
func (d *Definition) parse(name, src string) error {
	switch {
	case isSkillFile(path.Base(name)):
		return d.parseSkill(name, src)
	case path.Base(name) == instructions && strings.Contains(src, pasteMark):
		return d.parseCoach(src)
	case extensionOf(name) == ".yaml", extensionOf(name) == ".yml", extensionOf(name) == ".json" && hasAgentSuffix(name): // JSON is YAML
		return d.parseAgentYAML(src)
	}
	doc, err := markup.Parse([]byte(src), markup.Options{Known: markup.IsAgentTag})
	if limit, ok := err.(*markup.LimitError); ok {
		return problem(CodeUnreadable, d.File, limit.Line, "%v", limit)
	}
	doc, src = closedAgent(doc, src)
	for _, agent := range doc.Root.Named("agent") {
		if len(agent.Attrs) > 0 || len(agent.Children) > 0 {
			d.parseXML(doc, agent, src)
			return nil
		}
	}
	if root, body := frontAgent(src); root != nil {
		d.warn(CodeSchema, 2, "the agent stands in the front matter; it is read all the same, but others will not find it: write an *.agent.yaml")
		d.Persona.More = strings.TrimSpace(body)
		return d.readAgentYAML(root)
	}
	for _, fence := range blocksOf(src) {
		if isV4(fence) {
			d.Persona.More = textAfter(src, fence)
			return d.parseV4(fence)
		}
	}
	if block, ok := bareV4(src); ok {
		d.warn(CodeSchema, block.Line+1, "the agent's YAML stands in no block; it is read all the same, but others will not find it: put ```yaml before it and ``` after it")
		return d.parseV4(block)
	}
	if isProseAgent(withName(d.File, src)) {
		d.parseProse(src)
		return nil
	}
	return problem(CodeNoAgent, d.File, 1, "the file defines no agent: it has neither an <agent> nor a YAML block with agent")
}

// closedAgent returns the document with its <agent> closed at the end, where its author
// has forgotten to.
func closedAgent(doc *markup.Document, src string) (*markup.Document, string) {
	if !slices.ContainsFunc(doc.Root.Named("agent"), func(n *markup.Node) bool { return len(n.Attrs) > 0 && len(n.Children) == 0 }) {
		return doc, src
	}
	end := len(src)
	if at := strings.LastIndex(src, "\n```"); at >= 0 && strings.TrimSpace(src[at:]) == "```" {
		end = at
	}
	closed := src[:end] + "\n</agent>" + src[end:]
	again, err := markup.Parse([]byte(closed), markup.Options{Known: markup.IsAgentTag})
	if err != nil || !slices.ContainsFunc(again.Root.Named("agent"), func(n *markup.Node) bool { return len(n.Children) > 0 }) {
		return doc, src
	}
	again.Problems = append(again.Problems, doc.Problems...)
	return again, closed
}

func (d *Definition) warn(code string, line int, format string, args ...any) {
	d.Findings = append(d.Findings, warning(code, d.File, line, format, args...))
}

// declare takes over what the file says of the agent. A manifest goes before it.
func (d *Definition) declare(id, name, title, icon, description string) {
	d.Declared = id
	d.Name = cmp.Or(d.Name, strings.TrimSpace(name))
	d.Title = cmp.Or(d.Title, strings.TrimSpace(title))
	d.Icon = cmp.Or(d.Icon, strings.TrimSpace(icon))
	d.Description = cmp.Or(d.Description, strings.TrimSpace(description))
}
