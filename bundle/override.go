package bundle

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
)

// override lays over an agent what its installation has for it, as the versions before
// customize.toml have it: _cfg/agents/bmm-pm.customize.yaml, and _cfg/agents/bmm-pm.md
// before that. An installer applies the former when it compiles an agent, so that what
// is there already is not added again.
func (d *Definition) override(plain string) {
	if d.bundle.catalog == nil || d.bundle.tree == "" || d.Format == FormatSkill {
		return
	}
	for _, config := range []string{"_config", "_cfg"} {
		for _, name := range []string{d.bundle.Name + "-" + plain, plain} {
			file := path.Join(config, "agents", name)
			if src, err := d.bundle.readNamed("{" + bmadRoot + "}/" + file + ".customize.yaml"); err == nil {
				d.customizeYAML(path.Join(d.bundle.tree, file+".customize.yaml"), src)
			}
			if src, err := d.bundle.readNamed("{" + bmadRoot + "}/" + file + ".md"); err == nil {
				d.agentConfig(path.Join(d.bundle.tree, file+".md"), src)
			}
		}
	}
}

// An Override is a file that was laid over an agent's own.
type Override struct {
	// File is relative to the project.
	File string
	// Changed says what of the agent comes from it: name, role, menu CP and the like.
	Changed []string
}

// overridden notes that a file has changed something.
func (d *Definition) overridden(file, what string) {
	i := slices.IndexFunc(d.Overrides, func(o Override) bool { return o.File == file })
	if i < 0 {
		i = len(d.Overrides)
		d.Overrides = append(d.Overrides, Override{File: file})
	}
	if o := &d.Overrides[i]; what != "" && !slices.Contains(o.Changed, what) {
		o.Changed = append(o.Changed, what)
	}
}

// customizeYAML lays a customize.yaml over the agent. What is empty means nothing.
func (d *Definition) customizeYAML(file, src string) {
	root, _, err := ParseYAML(file, 1, []byte(src))
	if err != nil {
		d.Findings = append(d.Findings, asFinding(err, file))
		d.Findings[len(d.Findings)-1].Severity = Warning
		return
	}
	field := func(n *yaml.Node, keys ...string) string {
		for _, key := range keys {
			n = laxyaml.Field(n, key)
		}
		return laxyaml.Prose(n)
	}
	set := func(what *string, name string) {
		if value := field(root, "agent", "metadata", name); value != "" && *what != value {
			*what = value
			d.overridden(file, name)
		}
	}
	set(&d.Name, "name")
	set(&d.Title, "title")
	set(&d.Icon, "icon")
	d.customizePersona(file, laxyaml.Field(root, "persona"))
	for _, n := range laxyaml.Items(laxyaml.Field(root, "critical_actions")) {
		if text := laxyaml.Prose(n); text != "" && !d.hasStep(text) {
			d.Critical = append(d.Critical, newCriticalAction(text, 1))
			d.overridden(file, "critical actions")
		}
	}
	for _, n := range laxyaml.Items(laxyaml.Field(root, "memories")) {
		if text := laxyaml.Prose(n); text != "" && !slices.Contains(d.Memories, text) {
			d.Memories = append(d.Memories, text)
			d.overridden(file, "memories")
		}
	}
	before := *d
	d.Commands, d.Prompts = nil, nil
	y := yamlAgent{Definition: d, root: root, agent: root}
	y.menu(laxyaml.Field(root, "menu"))
	y.prompts(laxyaml.Field(root, "prompts"))
	added, prompts := d.Commands, d.Prompts
	d.Commands, d.Prompts = before.Commands, before.Prompts
	d.addMenu(file, added, prompts)
}

// customizePersona replaces the persona as a whole if any part of it is given.
func (d *Definition) customizePersona(file string, n *yaml.Node) {
	persona := Persona{
		Role:               laxyaml.Prose(laxyaml.Field(n, "role")),
		Identity:           laxyaml.Prose(laxyaml.Field(n, "identity")),
		CommunicationStyle: laxyaml.Prose(laxyaml.Field(n, "communication_style")),
		Principles:         laxyaml.Lines(laxyaml.Field(n, "principles")),
	}
	isGiven := persona.Role+persona.Identity+persona.CommunicationStyle != "" || len(persona.Principles) > 0
	isThere := persona.Role == d.Persona.Role && persona.Identity == d.Persona.Identity && persona.CommunicationStyle == d.Persona.CommunicationStyle
	if isGiven && !isThere {
		d.Persona = persona
		d.overridden(file, "persona")
	}
}

// hasStep says whether a text is a step of the activation or a critical action already.
func (d *Definition) hasStep(text string) bool {
	return slices.ContainsFunc(d.Activation, func(s Step) bool { return s.Text == text }) ||
		slices.ContainsFunc(d.Critical, func(a CriticalAction) bool { return a.Text == text })
}

// addMenu adds commands and prompts that are not there yet.
func (d *Definition) addMenu(file string, commands []Command, prompts []Prompt) {
	for _, c := range commands {
		if slices.ContainsFunc(d.Commands, func(other Command) bool { return other.Cmd == c.Cmd && other.Code == c.Code }) {
			continue
		}
		at := len(d.Commands)
		for at > 0 && d.Commands[at-1].IsExit() {
			at-- // leaving stays the last item
		}
		d.Commands = slices.Insert(d.Commands, at, c)
		d.overridden(file, "menu "+c.Cmd)
	}
	for _, p := range prompts {
		if !slices.ContainsFunc(d.Prompts, func(other Prompt) bool { return other.ID == p.ID }) {
			d.Prompts = append(d.Prompts, p)
			d.overridden(file, "prompt "+p.ID)
		}
	}
}

// agentConfig lays the <agent-config> of the first versions over the agent: what is
// filled replaces, memories and rules are added.
func (d *Definition) agentConfig(file, src string) {
	doc, err := markup.Parse([]byte(src), markup.Options{Known: markup.IsAgentTag})
	if err != nil {
		return
	}
	config := doc.Root.Find("agent-config")
	if config == nil {
		return
	}
	set := func(what *string, name, value string) {
		if value = strings.TrimSpace(value); value != "" && value != *what {
			*what = value
			d.overridden(file, name)
		}
	}
	attr := func(name string) string { value, _ := config.Attr(name); return value }
	set(&d.Name, "name", attr("name"))
	set(&d.Title, "title", attr("title"))
	persona := xmlPersona(config)
	set(&d.Persona.Role, "role", persona.Role)
	set(&d.Persona.Identity, "identity", persona.Identity)
	set(&d.Persona.CommunicationStyle, "communication style", persona.CommunicationStyle)
	if len(persona.Principles) > 0 {
		d.Persona.Principles = persona.Principles
		d.overridden(file, "principles")
	}
	for _, n := range config.Named("memory") {
		if text := n.Text(); text != "" && !slices.Contains(d.Memories, text) {
			d.Memories = append(d.Memories, text)
			d.overridden(file, "memories")
		}
	}
	for _, n := range config.Named("i") {
		if text := cmp.Or(n.Text()); text != "" && !slices.Contains(d.Rules, text) {
			d.Rules = append(d.Rules, text)
			d.overridden(file, "rules")
		}
	}
}
