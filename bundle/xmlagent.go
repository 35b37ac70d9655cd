package bundle

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
)

// parseXML reads an <agent>, as bundles have it and as installers write it.
func (d *Definition) parseXML(doc *markup.Document, agent *markup.Node, src string) {
	d.Format = FormatXML
	activation := agent.Find("activation")
	if len(activation.Named("step")) > 0 {
		d.Format = FormatCompiled
	}
	for _, p := range doc.Problems {
		d.warn(string(p.Code), p.Line, "%s", p.Message)
	}
	attr := func(name string) string { value, _ := agent.Attr(name); return value }
	d.declare(attr("id"), attr("name"), attr("title"), attr("icon"), d.frontMatter(src))
	if attr("name") == "" {
		d.warn(CodeIncomplete, agent.Line, "the agent has no name")
	}
	d.Persona = xmlPersona(agent.Find("persona"))
	d.Persona.More = looseText(agent.Find("persona"))
	if more := looseText(agent); more != "" {
		d.Rules = append(d.Rules, more)
	}
	d.xmlCritical(agent, activation)
	d.Greeting = agent.Find("greeting").Text()
	d.xmlCommands(agent)
	d.xmlPrompts(agent)
	if after := afterAgent(agent, src); after != "" {
		d.Rules = append(d.Rules, after)
	}
	if embodied := embodiment.FindString(src[:max(strings.Index(src, "<agent"), 0)]); embodied != "" {
		d.Rules = append(d.Rules, embodied)
	}
	d.xmlRules(agent)
}

// xmlPrompts reads the prompts, and the handlers that commands name as if they were some.
func (d *Definition) xmlPrompts(agent *markup.Node) {
	for _, n := range agent.Named("prompt", "handler", "action") {
		id, ok := n.Attr("id")
		if !ok || !n.Is("prompt") && !slices.ContainsFunc(d.Commands, func(c Command) bool { return c.Target == "#"+id }) {
			continue
		}
		content := cmp.Or(n.Find("content").Text(), n.Text())
		d.Prompts = append(d.Prompts, Prompt{ID: id, Content: content, Line: n.Line})
	}
}

// afterAgent returns what stands below the agent in its file, outside of the block it is in.
func afterAgent(agent *markup.Node, src string) string {
	_, after, ok := strings.Cut(src, agent.Raw())
	if !ok {
		return ""
	}
	after = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(after), "```"))
	if strings.Trim(after, "-` \n\r\t") == "" || strings.HasPrefix(after, "</") || strings.Contains(after, "<agent") {
		return "" // the end of what is around it, or the next one
	}
	return after
}

// embodiment is what installers write above a compiled agent.
var embodiment = regexp.MustCompile(`NEVER break character until given an exit command\.`)

// frontMatter returns the description in the front matter of a compiled agent.
func (d *Definition) frontMatter(src string) string {
	if loc := comment.FindStringIndex(src); loc != nil && strings.TrimSpace(src[:loc[0]]) == "" {
		src = strings.TrimLeft(src[loc[1]:], " \t\r\n") // people say there what the file is
	}
	matter, _, _ := markup.FrontMatter([]byte(src))
	if len(matter) == 0 {
		return ""
	}
	root, notes, err := ParseYAML(d.File, 2, matter)
	if err != nil {
		d.Findings = append(d.Findings, asFinding(err, d.File))
		return ""
	}
	d.Findings = append(d.Findings, notes...)
	return laxyaml.Scalar(laxyaml.Field(root, "description"))
}

func xmlPersona(n *markup.Node) Persona {
	p := Persona{
		Role:               n.Find("role").Text(),
		Identity:           n.Find("identity").Text(),
		CommunicationStyle: n.Find("communication_style").Text(),
	}
	for _, name := range []string{"principles", "core_principles"} {
		principles := n.Find(name)
		for _, one := range principles.All("p") {
			p.Principles = append(p.Principles, one.Text())
		}
		if text := principles.Text(); text != "" && len(principles.All("p")) == 0 {
			p.Principles = append(p.Principles, text)
		}
	}
	return p
}

// looseText returns what stands in an element outside of the elements that are known,
// such as <voice> in a persona: it was meant for the model.
func looseText(n *markup.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for _, child := range n.Children {
		if child.Kind == markup.Text || child.Is("agent") { // a list of whom it works with
			b.WriteString(child.Raw())
		}
	}
	text := comment.ReplaceAllString(b.String(), "")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// comment is one of XML.
var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

// xmlCritical reads <critical-actions> and the steps of an <activation>, into which
// later installers turn them.
func (d *Definition) xmlCritical(agent, activation *markup.Node) {
	for _, n := range agent.All("critical-actions", "i") {
		if text := n.Text(); text != "" && !isAboutOwnFile(text) {
			d.Critical = append(d.Critical, newCriticalAction(text, n.Line))
		}
	}
	steps := append(activation.All("step"), activation.All("init", "step")...)
	for _, n := range append(steps, activation.All("steps", "s")...) {
		d.activate(n.Text(), n.Line)
	}
	for _, n := range agent.Named("memory") {
		if text := n.Text(); text != "" {
			d.Memories = append(d.Memories, text)
		}
	}
}

// activate adds a step of the activation. A file that it loads is loaded beforehand.
func (d *Definition) activate(text string, line int) {
	if text == "" || isAboutOwnFile(text) {
		return
	}
	d.Activation = append(d.Activation, Step{text, line})
	action := newCriticalAction(text, line)
	if action.Load == nil {
		if m := loadingSoon.FindStringSubmatch(text); m != nil && isLoadable(m[1]) && isConfig(m[1]) {
			action.Load = &Load{Path: m[1]}
		}
	}
	if action.Load != nil {
		action.lenient = true
		d.Critical = append(d.Critical, action)
	}
}

// xmlCommands reads <cmds> and <menu>, and the <commands> that people write in their
// place. The documentation of handlers elsewhere in the file has elements that look the
// same.
func (d *Definition) xmlCommands(agent *markup.Node) {
	for _, list := range append(agent.Named("cmds", "menu"), agent.All("commands")...) {
		for _, n := range list.Named("c", "item", "command") {
			trigger := ""
			for _, name := range []string{"cmd", "trigger", "name"} {
				if trigger == "" {
					trigger, _ = n.Attr(name)
				}
			}
			kind, _ := n.Attr("type")
			switch handlers := n.Named("handler"); {
			case trigger == "" && (strings.EqualFold(kind, "multi") || len(handlers) > 0):
				d.xmlMulti(n, handlers)
			case trigger == "":
				d.warn(CodeIncomplete, n.Line, "the command has no cmd")
			default:
				d.addCommand(trigger, n.Text(), attributesOf(n, "cmd"), n.Line)
			}
		}
	}
}

// xmlMulti reads a line of the menu that several commands share, each of which has a
// handler. Where the handlers are empty, by a fault of a compiler, the line is kept for
// the model to make sense of.
func (d *Definition) xmlMulti(n *markup.Node, handlers []*markup.Node) {
	group := ""
	for _, child := range n.Children {
		if child.Kind == markup.Text {
			group += child.Raw()
		}
	}
	group = strings.Join(strings.Fields(group), " ")
	before := len(d.Commands)
	for _, h := range handlers {
		match, _ := h.Attr("match")
		if strings.TrimSpace(match) == "" {
			continue
		}
		at := len(d.Commands)
		d.addCommand(match, group, attributesOf(h, "match"), h.Line)
		if len(d.Commands) > at {
			d.Commands[at].group(group, "")
		}
	}
	if len(d.Commands) == before && group != "" {
		d.Labels = append(d.Labels, group)
	}
}

func attributesOf(n *markup.Node, but string) []Attribute {
	var attributes []Attribute
	for _, a := range n.Attrs {
		if !strings.EqualFold(a.Name, but) && !strings.EqualFold(a.Name, "type") {
			attributes = append(attributes, Attribute{a.Name, a.Value, n.Line})
		}
	}
	return attributes
}

// xmlRules reads the rules, which are elements or lines of a list. Those that tell a web
// chat where the files of its bundle are do not hold here: tools read them.
func (d *Definition) xmlRules(agent *markup.Node) {
	add := func(rule string) {
		if d.bundle.Layout == LayoutWeb && aboutBundled.MatchString(rule) {
			return
		}
		d.Rules = append(d.Rules, rule)
	}
	for _, n := range agent.Named("r", "rule") {
		add(n.Text())
	}
	for _, n := range agent.Named("rules") {
		if len(n.All("r"))+len(n.All("rule")) > 0 {
			continue
		}
		for line := range strings.Lines(n.Text()) {
			if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")); line != "" {
				add(line)
			}
		}
	}
}

// aboutBundled is a rule about files in the one that a web chat is given.
var aboutBundled = regexp.MustCompile(`(?i)<file\b|filesystem|are bundled`)
