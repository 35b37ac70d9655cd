package bundle

import (
	"path"
	"slices"
	"strings"
)

// A CommandKind says what a command does.
type CommandKind string

// The kinds of commands.
const (
	KindWorkflow CommandKind = "workflow" // runs a workflow
	KindValidate CommandKind = "validate" // checks a document against a workflow's checklist
	KindExec     CommandKind = "exec"     // follows the instructions in a file
	KindAction   CommandKind = "action"   // follows the instruction that Target is
	KindPrompt   CommandKind = "prompt"   // follows one of the agent's prompts
	KindTemplate CommandKind = "template" // fills in a template
	KindBuiltin  CommandKind = "builtin"  // *help, *exit and the like
	KindSkill    CommandKind = "skill"    // uses the skill that Target names
	KindNone     CommandKind = "none"     // nothing but its description
)

// A Command is something a user can ask an agent for by name.
type Command struct {
	// Cmd is what the user types, *create-prd.
	Cmd string
	// Code is a short form of it, such as CP, where there is one.
	Code string
	// Synonyms are further names of it.
	Synonyms []string
	// Label is the description for people, without the code and on one line.
	Label       string
	Description string
	// Group is the line of the menu that the command shares with others, where it does.
	Group string
	Kind  CommandKind
	// Target is a path, an instruction, the name of a skill, or #id for a prompt. The
	// path "todo" is of something not written yet.
	Target string
	// Template and Data are files that go with the target.
	Template, Data string
	// Attributes are all that the file gives the command, in order.
	Attributes []Attribute
	Line       int
}

// An Attribute is a name and value of a command, as written.
type Attribute struct {
	Name, Value string
	Line        int
}

// newCommand makes a command of a trigger and its attributes.
func newCommand(written, description string, attributes []Attribute, line int) Command {
	t := newTrigger(written)
	c := Command{
		Cmd: "*" + t.name, Code: t.code, Synonyms: t.synonyms,
		Description: strings.TrimSpace(description), Label: label(description), Attributes: attributes, Line: line,
	}
	if m := labelCode.FindStringSubmatch(c.Description); m != nil && c.Code == "" {
		c.Code = strings.ToUpper(m[1])
	}
	c.Template, _ = c.attribute("tmpl", "template")
	c.Data, _ = c.attribute("data")
	c.decide()
	return c
}

// decide finds the kind and target; where several attributes could say them, the
// one that does most.
func (c *Command) decide() {
	if target, ok := c.attribute("skill"); ok {
		c.Kind, c.Target = KindSkill, target
		return
	}
	if target, ok := c.attribute("run-workflow", "workflow"); ok && !slices.Contains(noWorkflow, strings.ToLower(target)) {
		c.Kind, c.Target = KindWorkflow, target
		return
	}
	if target, ok := c.attribute("validate-workflow"); ok {
		c.Kind, c.Target = KindValidate, target
		return
	}
	target, ok := c.attribute("exec", "route")
	if !ok {
		target, ok = c.attribute("action")
	}
	skill, named := strings.CutPrefix(target, "skill:")
	switch {
	case ok && named:
		c.Kind, c.Target = KindSkill, strings.TrimSpace(skill)
	case ok && strings.HasPrefix(target, "#"):
		c.Kind, c.Target = KindPrompt, target
	case ok && isPath(target):
		c.Kind, c.Target = KindExec, target
	case ok:
		c.Kind, c.Target = KindAction, target
	case c.Template != "":
		c.Kind, c.Target = KindTemplate, c.Template
	case c.hasName(builtins...):
		c.Kind = KindBuiltin
	default:
		c.Kind = KindNone
	}
}

// noWorkflow is what people write where a command has none.
var noWorkflow = []string{"inline", "none", "internal", "built-in", "builtin", "n/a", "false"}

func (c *Command) attribute(names ...string) (value string, ok bool) {
	for _, a := range c.Attributes {
		if slices.Contains(names, strings.ToLower(a.Name)) && strings.TrimSpace(a.Value) != "" {
			return strings.TrimSpace(a.Value), true
		}
	}
	return "", false
}

// builtins are the names of what every agent understands.
var builtins = slices.Concat(exits, helps, []string{"yolo", "chat"})

// isPath tells a path from an instruction: one word, with an extension.
func isPath(s string) bool {
	return !strings.ContainsAny(s, " \t\n") && (s == "todo" || hasExtension(s))
}

// hasExtension says whether a path ends in a file name with an extension.
func hasExtension(s string) bool {
	ext := path.Ext(s)
	if len(ext) < 2 || len(ext) > 9 || ext == path.Base(s) {
		return false
	}
	return strings.IndexFunc(ext[1:], func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) < 0
}

// IsWorkflow says whether the command's target is run with execute_workflow, which
// is also how an exec of a workflow file is carried out.
func (c *Command) IsWorkflow() bool {
	return c.Kind == KindWorkflow || c.Kind == KindValidate || c.Kind == KindSkill || c.Kind == KindExec && isWorkflowFile(c.Target, true)
}

// references lists the files that the command names.
func (c *Command) references(file string) []Reference {
	var refs []Reference
	for _, a := range c.Attributes {
		use := useOf(a.Name)
		if path := strings.TrimSpace(a.Value); use != "" && isPath(path) && path != "todo" {
			refs = append(refs, Reference{Path: path, Use: use, Key: c.Cmd, File: file, Line: a.Line})
		}
	}
	return refs
}

// useOf says what the file is for that an attribute names, empty if it names none.
func useOf(attribute string) Use {
	switch strings.ToLower(attribute) {
	case "run-workflow", "workflow":
		return UseWorkflow
	case "validate-workflow":
		return UseValidate
	case "exec", "action", "route":
		return UseExec
	case "tmpl", "template":
		return UseTemplate
	case "data":
		return UseData
	}
	return ""
}
