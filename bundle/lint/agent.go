package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
)

// bundleAgents lints the manifest's references and the agents of a bundle.
func (l *linter) bundleAgents(from viewpoint) {
	for _, ref := range from.in.References {
		l.follow(from, ref)
	}
	for _, e := range from.in.Entries() {
		l.named[e.File] = true
		d, err := l.catalog.Read(e)
		if err != nil {
			if _, exists := l.homes[e.File]; exists || !from.in.IsManifested() {
				l.found = append(l.found, bundle.AsFinding(err, e.File))
			} // else the manifest's reference is a finding
			continue
		}
		l.agents = append(l.agents, e.File)
		l.found = append(l.found, d.Findings...)
		l.agent(from, d)
	}
}

// agent lints one agent. Of a skill, all but its text is in the file beside it.
func (l *linter) agent(from viewpoint, d *bundle.Definition) {
	caller := d.File
	if beside := path.Join(path.Dir(d.File), bundle.CustomizeFile); d.Format == bundle.FormatSkill && l.exists(beside) {
		other := *d
		other.File = beside
		d = &other
	}
	if d.Format != bundle.FormatProse || !d.IsForEditor() { // an editor wants no more than a text
		l.persona(d)
		l.strict(d)
		l.commands(d)
		l.builtins(d)
	}
	l.criticalVariables(from, d)
	for _, ref := range d.References() {
		file, ok := l.follow(from, ref)
		if ok && (ref.Use == bundle.UseExec || ref.Use == bundle.UseWorkflow) {
			l.addCall(caller, call{to: file, line: ref.Line, conditional: true})
			l.executed[file] = l.executed[file] || ref.Use == bundle.UseExec
		}
		l.validated[file] = l.validated[file] || ref.Use == bundle.UseValidate
	}
	l.invocations(caller, d)
}

// exists says whether the project has a file.
func (l *linter) exists(file string) bool {
	_, ok := l.homes[file]
	return ok
}

func (l *linter) persona(d *bundle.Definition) {
	var lacks []string
	for _, part := range []struct{ name, text string }{
		{"role", d.Persona.Role}, {"identity", d.Persona.Identity}, {"communication style", d.Persona.CommunicationStyle},
		{"principles", strings.Join(d.Persona.Principles, "")},
	} {
		if part.text == "" {
			lacks = append(lacks, part.name)
		}
	}
	if len(lacks) > 0 {
		l.warn(CodePersona, d.File, 1, "the agent's persona lacks %s; describe it, so that the agent stays in character", strings.Join(lacks, ", "))
	}
}

// commands looks for commands that do nothing, or that another one hides.
func (l *linter) commands(d *bundle.Definition) {
	seen := make(map[string]*bundle.Command)
	for i := range d.Commands {
		c := &d.Commands[i]
		for _, name := range []string{strings.ToLower(c.Cmd), c.Code} {
			other := seen[name]
			switch {
			case name == "" || other == nil:
				seen[name] = c
			case other.Target == c.Target:
				l.warn(CodeSameCommand, d.File, c.Line, "%s is there twice, also on line %d; remove one of them", name, other.Line)
			default:
				l.wrong(CodeSameCommand, d.File, c.Line, "%s is also the command on line %d, which does something else; rename one of them", name, other.Line)
			}
		}
		switch {
		case c.Target == "todo":
			l.warn(CodeTodo, d.File, c.Line, "%s is not written yet: its target is todo", c.Cmd)
		case c.Kind == bundle.KindSkill && d.Format != bundle.FormatSkill && d.Parent().SkillPath(c.Target) == "":
			l.warn(CodeNoSkill, d.File, c.Line, "%s: there is no skill %s here; install it, or correct the name", c.Cmd, c.Target)
		case c.Kind == bundle.KindNone && d.Format != bundle.FormatV4:
			l.warn(CodeNoTarget, d.File, c.Line, "%s names nothing to do; give it a workflow, an exec or an action, or its description is all the agent has", c.Cmd)
		case c.Kind == bundle.KindPrompt && !slices.ContainsFunc(d.Prompts, func(p bundle.Prompt) bool { return "#"+p.ID == c.Target }):
			l.wrong(CodeNoPrompt, d.File, c.Line, "%s: the agent has no prompt with the id %s", c.Cmd, strings.TrimPrefix(c.Target, "#"))
		}
	}
}

// builtins misses the commands that users expect. Installers add them to agents
// that are yet to be compiled, and what is made for a web chat has no commands at all.
func (l *linter) builtins(d *bundle.Definition) {
	if d.Format == bundle.FormatYAML || d.Format == bundle.FormatSkill || d.Format == bundle.FormatCoach {
		return
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(d.Commands, func(c bundle.Command) bool {
			name, _, _ := strings.Cut(c.Cmd, " ")
			return slices.Contains(names, name)
		})
	}
	if !has("*help", "*menu") {
		l.warn(CodeBuiltin, d.File, 1, "the agent has no *help; add it, so that users see what there is")
	}
	if !has("*exit", "*quit", "*dismiss") {
		l.warn(CodeBuiltin, d.File, 1, "the agent has no *exit; add it, so that users can leave")
	}
}

// criticalVariables looks for variables in critical actions that nothing sets.
func (l *linter) criticalVariables(from viewpoint, d *bundle.Definition) {
	set := make(map[string]bool)
	for _, action := range d.Critical {
		if action.Load != nil {
			for _, name := range action.Load.Variables {
				set[name] = true
			}
			continue // its path is a reference
		}
		_, unresolved, err := from.files.Vars().Expand(action.Text)
		if err != nil {
			l.wrong(CodeTooLarge, d.File, action.Line, "%v", err)
		}
		for _, name := range unresolved {
			if !set[name] && !l.known[from.in][name] && !strings.Contains(name, ".") {
				l.warn(CodeVariable, d.File, action.Line, "nothing gives {%s} a value; set it in config.yaml, or correct the name", name)
			}
		}
	}
}

// word is a word of a text, as ids of agents are.
var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]`)

// invocations notes which agents an agent is told to invoke.
func (l *linter) invocations(caller string, d *bundle.Definition) {
	tell := func(text string, line int) {
		_, rest, ok := strings.Cut(text, "invoke_agent")
		if !ok {
			return
		}
		words := word.FindAllString(rest, -1)
		for _, e := range l.catalog.Entries() {
			if slices.Contains(words, e.Plain()) {
				l.addCall(caller, call{to: e.File, line: line, conditional: true})
			}
		}
	}
	for _, c := range d.Commands {
		tell(c.Target+" "+c.Description, c.Line)
	}
	for _, p := range d.Prompts {
		tell(p.Content, p.Line)
	}
}

// sameAgents looks for agents that cannot be told apart by their ids.
func (l *linter) sameAgents() {
	first := make(map[string]bundle.Entry)
	for _, e := range l.catalog.Entries() {
		other, isThere := first[e.Plain()]
		switch {
		case !isThere:
			first[e.Plain()] = e
		case other.ID == e.ID:
			l.wrong(CodeSameAgent, e.File, 1, "the agent %s is also defined in %s; neither can be started by its id", e.ID, other.File)
		default:
			l.warn(CodeSameAgent, e.File, 1, "the agent %s is also defined in %s; users must write %s and %s", e.Plain(), other.File, e.ID, other.ID)
		}
	}
}
