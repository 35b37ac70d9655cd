package bundle

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseAgentYAML reads an *.agent.yaml, from which an installer would make a
// compiled agent.
func (d *Definition) parseAgentYAML(src string) error {
	d.Format = FormatYAML
	root, notes, err := parseYAML(d.File, 1, []byte(src))
	if err != nil {
		return err
	}
	d.Findings = append(d.Findings, notes...)
	agent := field(root, "agent")
	if agent == nil || agent.Kind != yaml.MappingNode {
		return problem(CodeNoAgent, d.File, 1, "the file defines no agent: it has no map under agent")
	}
	about := field(agent, "metadata")
	d.declare(scalar(field(about, "id")), scalar(field(about, "name")), scalar(field(about, "title")),
		scalar(field(about, "icon")), scalar(field(about, "capabilities")))
	if scalar(field(about, "name")) == "" {
		d.warn(CodeIncomplete, agent.Line, "the agent has no name")
	}
	persona := field(agent, "persona")
	d.Persona = Persona{
		Role:               prose(field(persona, "role")),
		Identity:           prose(field(persona, "identity")),
		CommunicationStyle: prose(field(persona, "communication_style")),
		Principles:         lines(field(persona, "principles")),
	}
	d.Critical = append(d.Critical, moduleConfig())
	for _, n := range items(field(agent, "critical_actions")) {
		d.Critical = append(d.Critical, newCriticalAction(prose(n), n.Line))
	}
	for _, n := range items(field(agent, "memories")) {
		d.Critical = append(d.Critical, CriticalAction{Text: "Remember: " + prose(n), Line: n.Line})
	}
	for _, n := range items(field(agent, "menu")) {
		d.menuItem(n)
	}
	for _, n := range items(field(agent, "prompts")) {
		d.Prompts = append(d.Prompts, Prompt{ID: scalar(field(n, "id")), Content: prose(field(n, "content")), Line: n.Line})
	}
	return nil
}

// menuItem reads one entry of a menu: a trigger with attributes, or a multi.
func (d *Definition) menuItem(n *yaml.Node) {
	if multi := field(n, "multi"); multi != nil {
		for _, trigger := range items(field(n, "triggers")) {
			d.multiTrigger(scalar(multi), trigger)
		}
		return
	}
	var attributes []Attribute
	for k, v := range fields(n) {
		if k.Value != "trigger" && k.Value != "description" {
			attributes = append(attributes, Attribute{k.Value, scalar(v), v.Line})
		}
	}
	d.addCommand(scalar(field(n, "trigger")), prose(field(n, "description")), attributes, n.Line)
}

// multiTrigger reads one of the triggers that share a menu entry, either
// {trigger, input, route, ...} or {name: [{input}, {route}, ...]}.
func (d *Definition) multiTrigger(description string, n *yaml.Node) {
	trigger := scalar(field(n, "trigger"))
	parts := []*yaml.Node{n}
	for k, v := range fields(n) {
		if v.Kind == yaml.SequenceNode {
			trigger, parts = k.Value, v.Content
		}
	}
	var attributes []Attribute
	for _, part := range parts {
		for k, v := range fields(part) {
			switch k.Value {
			case "trigger":
			case "input":
				description = strings.TrimSpace(description + " " + scalar(v))
			default:
				attributes = append(attributes, Attribute{k.Value, scalar(v), v.Line})
			}
		}
	}
	d.addCommand(trigger, description, attributes, n.Line)
}

// addCommand adds a command, or notes that it has no trigger.
func (d *Definition) addCommand(trigger, description string, attributes []Attribute, line int) {
	if trigger == "" {
		d.warn(CodeIncomplete, line, "the command has no trigger")
		return
	}
	attributes = slices.DeleteFunc(attributes, func(a Attribute) bool { return a.Value == "" })
	d.Commands = append(d.Commands, newCommand(trigger, description, attributes, line))
}
