package bundle

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
)

// A yamlAgent is an agent in YAML that is being read. The schema has everything under
// agent; people put parts of it beside agent, or leave agent out.
type yamlAgent struct {
	*Definition
	root, agent *yaml.Node
}

// isAgentYAML says whether a document was meant to be an agent.
func isAgentYAML(root *yaml.Node) bool {
	if root == nil || root.Kind != yaml.MappingNode {
		return false
	}
	has := func(n *yaml.Node, keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return laxyaml.Field(n, key) != nil })
	}
	agent := laxyaml.Field(root, "agent")
	if agent != nil && agent.Kind == yaml.MappingNode {
		return has(agent, "metadata", "persona", "menu", "name", "id", "title", "role") || has(root, "persona", "menu", "commands")
	}
	return has(root, "persona", "critical_actions") && has(root, "menu", "commands", "metadata", "name", "prompts") ||
		has(root, "role") && has(root, "menu", "commands")
}

// parseAgentYAML reads an *.agent.yaml, from which an installer would make a
// compiled agent.
func (d *Definition) parseAgentYAML(src string) error {
	root, notes, err := ParseYAML(d.File, 1, []byte(src))
	if err != nil {
		d.Format = FormatYAML
		d.Critical = append(d.Critical, moduleConfig())
		return d.salvage(src, 1, err)
	}
	d.Findings = append(d.Findings, notes...)
	return d.readAgentYAML(root)
}

// isNewer says whether the block of a markdown file has an agent as the schema of
// *.agent.yaml wants it: people write those down between fences or as front matter, too.
func isNewer(root *yaml.Node) bool {
	agent := laxyaml.Field(root, "agent")
	if laxyaml.Field(root, "commands") != nil || laxyaml.Field(agent, "commands") != nil {
		return false
	}
	return slices.ContainsFunc([]string{"metadata", "menu", "critical_actions", "prompts"}, func(key string) bool { return laxyaml.Field(agent, key) != nil }) ||
		laxyaml.Field(root, "menu") != nil
}

// frontAgent returns the agent that the front matter of a file holds, nil if it holds none,
// and the text below it.
func frontAgent(src string) (root *yaml.Node, body string) {
	matter, text, _ := markup.FrontMatter([]byte(src))
	if len(matter) == 0 || !strings.Contains(string(matter), "agent:") {
		return nil, ""
	}
	root, _, err := ParseYAML("", 2, matter)
	if agent := laxyaml.Field(root, "agent"); err != nil || agent == nil || agent.Kind != yaml.MappingNode || !isAgentYAML(root) {
		return nil, ""
	}
	return root, string(text)
}

// readAgentYAML reads an agent of the schema of *.agent.yaml, wherever that stands.
func (d *Definition) readAgentYAML(root *yaml.Node) error {
	d.Format = FormatYAML
	y := yamlAgent{Definition: d, root: root, agent: laxyaml.Field(root, "agent")}
	if y.agent == nil || y.agent.Kind != yaml.MappingNode {
		if !isAgentYAML(root) {
			return problem(CodeNoAgent, d.File, 1, "the file defines no agent: it has no map under agent")
		}
		d.warn(CodeSchema, 1, "the agent is not under agent:; it is read all the same, but others will not find it: indent everything below a line agent:")
		y.agent = root
	}
	y.about()
	y.persona()
	d.Critical = append(d.Critical, moduleConfig())
	for _, n := range laxyaml.Items(y.part("critical_actions", "critical-actions", "activation_steps")) {
		d.Critical = append(d.Critical, newCriticalAction(laxyaml.Prose(n), n.Line))
	}
	y.activation(y.part("activation"))
	for _, n := range laxyaml.Items(y.part("memories")) {
		d.Memories = append(d.Memories, laxyaml.Prose(n))
	}
	y.menu(y.part("menu", "commands"))
	y.prompts(y.part("prompts"))
	y.rest()
	return nil
}

// activation reads the steps for the beginning of a conversation that people take over
// from compiled agents: a list, or a list under steps, of texts or of maps with a text.
func (y *yamlAgent) activation(n *yaml.Node) {
	if steps := laxyaml.Field(n, "steps"); steps != nil {
		n = steps
	}
	for _, step := range laxyaml.Items(n) {
		text := laxyaml.Prose(step)
		for _, key := range []string{"content", "text", "instruction", "action", "step"} {
			if inner := laxyaml.Field(step, key); inner != nil && inner.Kind == yaml.ScalarNode {
				text = laxyaml.Prose(inner)
				break
			}
		}
		y.activate(text, step.Line)
	}
}

// part returns what the agent has under one of several keys: in it, or beside it.
func (y *yamlAgent) part(keys ...string) *yaml.Node {
	for _, key := range keys {
		if n := laxyaml.Field(y.agent, key); n != nil {
			if key != keys[0] {
				y.warn(CodeSchema, n.Line, "%s is called %s; it is read all the same", keys[0], key)
			}
			return n
		}
	}
	for _, key := range keys {
		if n := laxyaml.Field(y.root, key); n != nil && y.root != y.agent {
			y.warn(CodeSchema, n.Line, "%s stands beside agent: and belongs below it; indent it", key)
			return n
		}
	}
	return nil
}

// about reads who the agent is.
func (y *yamlAgent) about() {
	about := laxyaml.Field(y.agent, "metadata")
	if beside := laxyaml.Field(y.root, "metadata"); about == nil && beside != nil {
		about = y.part("metadata")
	}
	flat := about == nil
	if flat {
		about = y.agent
	}
	field := func(keys ...string) string {
		for _, n := range []*yaml.Node{about, y.agent} {
			for _, key := range keys {
				if text := laxyaml.Scalar(laxyaml.Field(n, key)); text != "" {
					return text
				}
			}
		}
		return ""
	}
	name := field("name", "displayName", "display_name", "persona_name")
	y.declare(field("id"), name, field("title"), field("icon"),
		cmp.Or(field("capabilities"), field("description"), field("whenToUse", "when_to_use")))
	switch {
	case name == "":
		y.warn(CodeIncomplete, y.agent.Line, "the agent has no name; write metadata: with name: below agent:")
	case flat && y.agent != y.root:
		y.warn(CodeSchema, y.agent.Line, "name, title and icon belong below metadata:; they are read all the same")
	}
}

// persona reads a persona, which may be a single text or lie flat in the agent.
func (y *yamlAgent) persona() {
	persona := y.part("persona")
	if persona != nil && persona.Kind == yaml.ScalarNode {
		y.Persona.Role = laxyaml.Prose(persona)
		persona = y.agent
	} else if persona == nil {
		persona = y.agent
	}
	field := func(keys ...string) *yaml.Node {
		for _, key := range keys {
			if n := laxyaml.Field(persona, key); n != nil {
				return n
			}
		}
		return nil
	}
	y.Persona.Role = cmp.Or(y.Persona.Role, laxyaml.Prose(field("role")))
	y.Persona.Identity = laxyaml.Prose(field("identity", "background"))
	y.Persona.CommunicationStyle = laxyaml.Prose(field("communication_style", "communicationStyle", "communication-style", "style", "tone"))
	y.Persona.Focus = laxyaml.Prose(field("focus"))
	y.Persona.Principles = laxyaml.Lines(field("principles", "core_principles"))
}

// menu reads a menu: a list, a list under items, or a map of triggers.
func (y *yamlAgent) menu(n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.MappingNode {
		if items := laxyaml.Field(n, "items"); items != nil {
			y.warn(CodeSchema, n.Line, "menu is a list, and its items stand directly below it; they are read all the same")
			y.menu(items)
			return
		}
		y.warn(CodeSchema, n.Line, "menu is a list of items with a trigger each; this map is read as if it were")
		for k, v := range laxyaml.Fields(n) {
			y.menuItem(v, k.Value, k.Line)
		}
		return
	}
	for _, item := range laxyaml.Items(n) {
		y.menuItem(item, "", item.Line)
	}
}

// triggerKeys and descriptionKeys are what people call the two.
var (
	triggerKeys     = []string{"trigger", "cmd", "command", "key", "code", "id", "name"}
	descriptionKeys = []string{"description", "label", "title", "desc", "text"}
)

// menuItem reads one entry of a menu: a trigger with attributes, a multi, or a text.
func (y *yamlAgent) menuItem(n *yaml.Node, trigger string, line int) {
	if n.Kind == yaml.ScalarNode {
		y.textItem(laxyaml.Scalar(n), trigger, line)
		return
	}
	if multi := laxyaml.Field(n, "multi"); multi != nil {
		for _, one := range laxyaml.Items(laxyaml.Field(n, "triggers")) {
			y.multiTrigger(laxyaml.Scalar(multi), one)
		}
		return
	}
	for _, key := range []string{"items", "commands"} { // below a heading
		if list := laxyaml.Field(n, key); list != nil && list.Kind == yaml.SequenceNode {
			y.warn(CodeSchema, line, "the items of a menu stand directly below it; those of this group are read all the same")
			y.menu(list)
			return
		}
	}
	if laxyaml.Scalar(laxyaml.Field(n, "web-only")) == "true" {
		return // an installer leaves it out
	}
	isPair := len(n.Content) == 2 && !slices.Contains(triggerKeys, n.Content[0].Value) && !slices.Contains(descriptionKeys, n.Content[0].Value)
	if isPair && trigger == "" { // - create-prd: Create it
		y.menuItem(n.Content[1], n.Content[0].Value, n.Line)
		return
	}
	used := func(keys []string) (string, string) {
		for _, key := range keys {
			if text := laxyaml.Prose(laxyaml.Field(n, key)); text != "" {
				return key, text
			}
		}
		return "", ""
	}
	triggerKey, description, descriptionKey := "", "", ""
	if trigger == "" {
		triggerKey, trigger = used(triggerKeys)
	}
	descriptionKey, description = used(descriptionKeys)
	var attributes []Attribute
	for k, v := range laxyaml.Fields(n) {
		if k.Value == triggerKey || k.Value == descriptionKey || k.Value == "trigger" || k.Value == "description" {
			continue
		}
		attributes = append(attributes, Attribute{attributeName(k.Value), laxyaml.Prose(v), v.Line})
	}
	if triggerKey != "" && triggerKey != "trigger" && trigger != "" {
		y.warn(CodeSchema, line, "the item's %s is read as its trigger; write trigger:", triggerKey)
	}
	y.addCommand(trigger, description, attributes, line)
}

// attributeName is what an attribute is called that people name in their own way.
func attributeName(name string) string {
	switch strings.ToLower(name) {
	case "run", "run_workflow":
		return "workflow"
	case "file", "task", "path":
		return "exec"
	case "prompt":
		return "action"
	case "validate_workflow":
		return "validate-workflow"
	}
	return name
}

// textItem reads an entry that is a text: "create-prd - Create a PRD".
func (y *yamlAgent) textItem(text, trigger string, line int) {
	description := text
	if trigger == "" {
		trigger, description = text, ""
		for _, dash := range []string{" - ", " — ", " – ", ": "} {
			if before, after, ok := strings.Cut(text, dash); ok {
				trigger, description = before, after
				break
			}
		}
		y.warn(CodeSchema, line, "a menu's item has a trigger: and a description:; this text is read as both")
	}
	y.addCommand(trigger, description, nil, line)
}

// multiTrigger reads one of the triggers that share a menu entry, either
// {trigger, input, route, ...} or {name: [{input}, {route}, ...]}.
func (y *yamlAgent) multiTrigger(group string, n *yaml.Node) {
	trigger := laxyaml.Scalar(laxyaml.Field(n, "trigger"))
	parts := []*yaml.Node{n}
	for k, v := range laxyaml.Fields(n) {
		if v.Kind == yaml.SequenceNode {
			trigger, parts = k.Value, v.Content
		}
	}
	var attributes []Attribute
	description, input := group, ""
	for _, part := range parts {
		for k, v := range laxyaml.Fields(part) {
			switch k.Value {
			case "trigger":
			case "input":
				input = laxyaml.Scalar(v)
				description = strings.TrimSpace(description + " " + input)
			default:
				attributes = append(attributes, Attribute{k.Value, laxyaml.Scalar(v), v.Line})
			}
		}
	}
	before := len(y.Commands)
	y.addCommand(trigger, description, attributes, n.Line)
	if len(y.Commands) > before {
		y.Commands[before].group(group, input)
	}
}

// group says which line of the menu a command shares with others, and the input, such
// as "SPM or fuzzy match start party mode", that means this one.
func (c *Command) group(line, input string) {
	c.Group = line
	if t := newTrigger(input); input != "" {
		if c.Code = t.code; c.Code == "" && labelCode.MatchString("["+t.name+"]") && t.name == strings.ToUpper(t.name) {
			c.Code, t.name = t.name, ""
		}
		for _, name := range append([]string{t.name}, t.synonyms...) {
			if name != "" && name != strings.TrimPrefix(c.Cmd, "*") {
				c.Synonyms = append(c.Synonyms, name)
			}
		}
	}
	if part := labelPart(line, c.Code); part != "" {
		c.Label, c.Description = part, "["+c.Code+"] "+part
	}
}

// labelPart returns what a line says of one of the codes in it: of "[CA] Create, [EA]
// Edit" that CA is "Create".
func labelPart(line, code string) string {
	_, rest, ok := strings.Cut(line, "["+code+"]")
	if !ok || code == "" {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "[")
	return strings.TrimSuffix(strings.Trim(strings.TrimSpace(rest), ",;/|"), " or")
}

// prompts reads prompts: a list with id and content, or a map of them.
func (y *yamlAgent) prompts(n *yaml.Node) {
	if n != nil && n.Kind == yaml.MappingNode {
		for k, v := range laxyaml.Fields(n) {
			content := v
			if inner := laxyaml.Field(v, "content"); inner != nil {
				content = inner
			}
			y.Prompts = append(y.Prompts, Prompt{ID: k.Value, Content: laxyaml.Prose(content), Line: k.Line})
		}
		return
	}
	for _, item := range laxyaml.Items(n) {
		content := laxyaml.Prose(laxyaml.Field(item, "content"))
		content = cmp.Or(content, laxyaml.Prose(laxyaml.Field(item, "prompt")), laxyaml.Prose(laxyaml.Field(item, "text")))
		y.Prompts = append(y.Prompts, Prompt{ID: laxyaml.Scalar(laxyaml.Field(item, "id")), Content: content, Line: item.Line})
	}
}

// schemaKeys are the keys that the schema of agents knows.
var schemaKeys = []string{
	"metadata", "persona", "activation", "critical_actions", "critical-actions", "activation_steps", "menu", "commands", "prompts", "memories",
	"discussion", "conversational_knowledge", "webskip", "localskip", "agent", "name", "id", "title", "icon", "role", "identity",
	"communication_style", "style", "tone", "principles", "core_principles", "description", "capabilities", "module", "type", "hasSidecar",
	"version", "whenToUse", "when_to_use", "focus", "background", "displayName", "display_name", "persona_name", "communicationStyle", "communication-style",
}

// bookkeeping are keys that tell programs of the file, and not the model of its work.
var bookkeeping = []string{"schema_version", "format_version", "schemaVersion", "schema", "extraction", "$schema"}

// rest keeps what else the author wrote as rules: it was meant for the model.
func (y *yamlAgent) rest() {
	nodes := []*yaml.Node{y.agent}
	if y.root != y.agent {
		nodes = append(nodes, y.root)
	}
	for _, n := range nodes {
		for k, v := range laxyaml.Fields(n) {
			if text := laxyaml.Prose(v); text != "" && !slices.Contains(schemaKeys, k.Value) && !slices.Contains(bookkeeping, k.Value) {
				y.Rules = append(y.Rules, k.Value+":\n"+text)
			}
		}
	}
}

// addCommand adds a command, or notes that it has no trigger.
func (d *Definition) addCommand(trigger, description string, attributes []Attribute, line int) {
	if strings.Trim(trigger, "* ") == "" {
		d.warn(CodeIncomplete, line, "the command has no trigger")
		return
	}
	attributes = slices.DeleteFunc(attributes, func(a Attribute) bool { return a.Value == "" })
	d.Commands = append(d.Commands, newCommand(trigger, description, attributes, line))
}
