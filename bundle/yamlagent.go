package bundle

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// parseAgentYAML reads an *.agent.yaml, from which an installer would make a
// compiled agent.
func (d *Definition) parseAgentYAML(src string) error {
	d.Format = FormatYAML
	root, notes, err := ParseYAML(d.File, 1, []byte(src))
	if err != nil {
		return err
	}
	d.Findings = append(d.Findings, notes...)
	agent := laxyaml.Field(root, "agent")
	if agent == nil || agent.Kind != yaml.MappingNode {
		return problem(CodeNoAgent, d.File, 1, "the file defines no agent: it has no map under agent")
	}
	about := laxyaml.Field(agent, "metadata")
	d.declare(laxyaml.Scalar(laxyaml.Field(about, "id")), laxyaml.Scalar(laxyaml.Field(about, "name")), laxyaml.Scalar(laxyaml.Field(about, "title")),
		laxyaml.Scalar(laxyaml.Field(about, "icon")), laxyaml.Scalar(laxyaml.Field(about, "capabilities")))
	if laxyaml.Scalar(laxyaml.Field(about, "name")) == "" {
		d.warn(CodeIncomplete, agent.Line, "the agent has no name")
	}
	persona := laxyaml.Field(agent, "persona")
	d.Persona = Persona{
		Role:               laxyaml.Prose(laxyaml.Field(persona, "role")),
		Identity:           laxyaml.Prose(laxyaml.Field(persona, "identity")),
		CommunicationStyle: laxyaml.Prose(laxyaml.Field(persona, "communication_style")),
		Principles:         laxyaml.Lines(laxyaml.Field(persona, "principles")),
	}
	d.Critical = append(d.Critical, moduleConfig())
	for _, n := range laxyaml.Items(laxyaml.Field(agent, "critical_actions")) {
		d.Critical = append(d.Critical, newCriticalAction(laxyaml.Prose(n), n.Line))
	}
	for _, n := range laxyaml.Items(laxyaml.Field(agent, "memories")) {
		d.Critical = append(d.Critical, CriticalAction{Text: "Remember: " + laxyaml.Prose(n), Line: n.Line})
	}
	for _, n := range laxyaml.Items(laxyaml.Field(agent, "menu")) {
		d.menuItem(n)
	}
	for _, n := range laxyaml.Items(laxyaml.Field(agent, "prompts")) {
		d.Prompts = append(d.Prompts, Prompt{ID: laxyaml.Scalar(laxyaml.Field(n, "id")), Content: laxyaml.Prose(laxyaml.Field(n, "content")), Line: n.Line})
	}
	return nil
}

// menuItem reads one entry of a menu: a trigger with attributes, or a multi.
func (d *Definition) menuItem(n *yaml.Node) {
	if multi := laxyaml.Field(n, "multi"); multi != nil {
		for _, trigger := range laxyaml.Items(laxyaml.Field(n, "triggers")) {
			d.multiTrigger(laxyaml.Scalar(multi), trigger)
		}
		return
	}
	var attributes []Attribute
	for k, v := range laxyaml.Fields(n) {
		if k.Value != "trigger" && k.Value != "description" {
			attributes = append(attributes, Attribute{k.Value, laxyaml.Scalar(v), v.Line})
		}
	}
	d.addCommand(laxyaml.Scalar(laxyaml.Field(n, "trigger")), laxyaml.Prose(laxyaml.Field(n, "description")), attributes, n.Line)
}

// multiTrigger reads one of the triggers that share a menu entry, either
// {trigger, input, route, ...} or {name: [{input}, {route}, ...]}.
func (d *Definition) multiTrigger(description string, n *yaml.Node) {
	trigger := laxyaml.Scalar(laxyaml.Field(n, "trigger"))
	parts := []*yaml.Node{n}
	for k, v := range laxyaml.Fields(n) {
		if v.Kind == yaml.SequenceNode {
			trigger, parts = k.Value, v.Content
		}
	}
	var attributes []Attribute
	for _, part := range parts {
		for k, v := range laxyaml.Fields(part) {
			switch k.Value {
			case "trigger":
			case "input":
				description = strings.TrimSpace(description + " " + laxyaml.Scalar(v))
			default:
				attributes = append(attributes, Attribute{k.Value, laxyaml.Scalar(v), v.Line})
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
