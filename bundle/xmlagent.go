package bundle

import (
	"cmp"
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
	d.xmlCritical(agent, activation)
	d.Greeting = agent.Find("greeting").Text()
	d.xmlCommands(agent)
	for _, n := range agent.Named("prompt") {
		if id, ok := n.Attr("id"); ok {
			content := cmp.Or(n.Find("content").Text(), n.Text())
			d.Prompts = append(d.Prompts, Prompt{ID: id, Content: content, Line: n.Line})
		}
	}
	d.xmlRules(agent)
}

// frontMatter returns the description in the front matter of a compiled agent.
func (d *Definition) frontMatter(src string) string {
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

// xmlCritical reads <critical-actions>, or the steps of an <activation>, into
// which an installer turns them.
func (d *Definition) xmlCritical(agent, activation *markup.Node) {
	steps := agent.All("critical-actions", "i")
	if agent.Find("critical-actions") == nil {
		steps = append(activation.All("step"), activation.All("init", "step")...)
		steps = append(steps, activation.All("steps", "s")...)
	}
	for _, n := range steps {
		if text := n.Text(); text != "" && !isAboutOwnFile(text) {
			d.Critical = append(d.Critical, newCriticalAction(text, n.Line))
		}
	}
	for _, n := range agent.Named("memory") {
		d.Critical = append(d.Critical, CriticalAction{Text: "Remember: " + n.Text(), Line: n.Line})
	}
}

// xmlCommands reads <cmds> and <menu>. The documentation of handlers elsewhere in
// the file has elements that look the same.
func (d *Definition) xmlCommands(agent *markup.Node) {
	for _, list := range agent.Named("cmds", "menu") {
		for _, n := range list.Named("c", "item") {
			trigger, _ := n.Attr("cmd")
			if trigger == "" {
				d.warn(CodeIncomplete, n.Line, "the command has no cmd")
				continue
			}
			var attributes []Attribute
			for _, a := range n.Attrs {
				if !strings.EqualFold(a.Name, "cmd") {
					attributes = append(attributes, Attribute{a.Name, a.Value, n.Line})
				}
			}
			d.Commands = append(d.Commands, newCommand(trigger, n.Text(), attributes, n.Line))
		}
	}
}

// xmlRules reads the rules, which are elements or lines of a list.
func (d *Definition) xmlRules(agent *markup.Node) {
	for _, n := range agent.Named("r", "rule") {
		d.Rules = append(d.Rules, n.Text())
	}
	for _, n := range agent.Named("rules") {
		if len(n.All("r"))+len(n.All("rule")) > 0 {
			continue
		}
		for line := range strings.Lines(n.Text()) {
			if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")); line != "" {
				d.Rules = append(d.Rules, line)
			}
		}
	}
}
