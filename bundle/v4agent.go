package bundle

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// isV4 recognises the block that defines an agent of version 4.
func isV4(f markup.Fence) bool {
	isYAML := strings.EqualFold(f.Language, "yaml") || strings.EqualFold(f.Language, "yml") || f.Language == ""
	has := func(key string) bool {
		return bytes.HasPrefix(f.Content, []byte(key)) || bytes.Contains(f.Content, []byte("\n"+key))
	}
	isAgent := has("agent:") && (has("persona:") || has("commands:") || has("activation-instructions:") || bytes.Contains(f.Content, []byte(" id:")))
	isFlat := has("name:") && has("commands:") && (has("role:") || has("whenToUse:") || has("title:") && (has("icon:") || has("id:")))
	return isYAML && (isAgent || isFlat || has("persona:") && has("commands:"))
}

// blocksOf returns the code blocks of a text. What is indented as a whole, as in a list, is
// returned without that.
func blocksOf(src string) []markup.Fence {
	blocks := markup.Fences([]byte(src))
	for i := range blocks {
		blocks[i].Content = outdented(blocks[i].Content)
	}
	return blocks
}

// textAfter returns what an author wrote below the block with the agent: how its commands
// work, rules, examples.
func textAfter(src string, block markup.Fence) string {
	lines := strings.SplitAfter(src, "\n")
	from := min(block.Line+bytes.Count(block.Content, []byte{'\n'})+1, len(lines))
	text := strings.TrimSpace(strings.Join(lines[from:], ""))
	if strings.Trim(text, "-` \n\r\t") == "" {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(text, "---"))
}

// outdented cuts off the blanks that all lines of a text begin with.
func outdented(text []byte) []byte {
	common := -1
	for line := range bytes.Lines(text) {
		if blanks := len(line) - len(bytes.TrimLeft(line, " ")); len(bytes.TrimSpace(line)) > 0 && (common < 0 || blanks < common) {
			common = blanks
		}
	}
	if common <= 0 {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		out = append(out, line[min(common, len(line)-len(bytes.TrimLeft(line, " "))):]...)
	}
	return out
}

// bareStart is where the YAML of an agent begins that its author has put into no block.
var bareStart = regexp.MustCompile(`(?m)^(?:agent|activation-instructions|IDE-FILE-RESOLUTION|persona):`)

// bareV4 recognises an agent of version 4 whose YAML stands in the file without a block
// around it.
func bareV4(src string) (markup.Fence, bool) {
	at := bareStart.FindStringIndex(src)
	if at == nil || strings.Contains(src, "```") || strings.Contains(src, "<agent") {
		return markup.Fence{}, false
	}
	block := markup.Fence{Language: "yaml", Content: []byte(src[at[0]:]), Line: strings.Count(src[:at[0]], "\n")}
	if !isV4(block) {
		return markup.Fence{}, false
	}
	root, _, err := ParseYAML("", 1, block.Content)
	return block, err == nil && root != nil && root.Kind == yaml.MappingNode
}

func isBareV4(src string) bool { _, ok := bareV4(src); return ok }

func (d *Definition) parseV4(block markup.Fence) error {
	d.Format = FormatV4
	root, notes, err := ParseYAML(d.File, block.Line+1, block.Content)
	if err != nil {
		return d.salvage(string(block.Content), block.Line+1, err)
	}
	d.Findings = append(d.Findings, notes...)
	if isNewer(root) {
		return d.readAgentYAML(root)
	}
	agent, persona := laxyaml.Field(root, "agent"), laxyaml.Field(root, "persona")
	if agent == nil || agent.Kind != yaml.MappingNode {
		d.warn(CodeSchema, block.Line+1, "the block has no map under agent; write one with name, id and title")
		agent = root
	}
	if persona == nil {
		persona = cmp.Or(laxyaml.Field(agent, "persona"), agent) // or it is flat
	}
	if about := laxyaml.Field(agent, "metadata"); about != nil {
		d.warn(CodeSchema, about.Line, "an agent of version 4 has name, id and title directly below agent:; they are read all the same")
		agent = about
	}
	d.declare(laxyaml.Scalar(laxyaml.Field(agent, "id")), laxyaml.Scalar(laxyaml.Field(agent, "name")), laxyaml.Scalar(laxyaml.Field(agent, "title")),
		laxyaml.Scalar(laxyaml.Field(agent, "icon")), cmp.Or(laxyaml.Prose(laxyaml.Field(agent, "whenToUse")), laxyaml.Prose(laxyaml.Field(agent, "when_to_use"))))
	d.Persona = Persona{
		More:               d.Persona.More,
		Role:               laxyaml.Prose(laxyaml.Field(persona, "role")),
		Identity:           laxyaml.Prose(laxyaml.Field(persona, "identity")),
		CommunicationStyle: laxyaml.Prose(laxyaml.Field(persona, "style")),
		Focus:              laxyaml.Prose(laxyaml.Field(persona, "focus")),
		Principles:         append(laxyaml.Lines(laxyaml.Field(persona, "core_principles")), laxyaml.Lines(laxyaml.Field(root, "core_principles"))...),
	}
	for _, key := range []string{"activation-instructions", "activation_instructions", "startup"} {
		for _, n := range laxyaml.Items(laxyaml.Field(root, key)) {
			d.activate(laxyaml.Prose(n), n.Line)
		}
	}
	d.v4Dependencies(laxyaml.Field(root, "dependencies"))
	d.v4Commands(laxyaml.Field(root, "commands"))
	if custom := laxyaml.Prose(laxyaml.Field(agent, "customization")); custom != "" {
		d.Rules = append(d.Rules, "This goes before everything else: "+custom)
	}
	known := []string{
		"agent", "persona", "core_principles", "activation-instructions", "activation_instructions", "startup", "dependencies", "commands",
	}
	if agent == root {
		known = append(known, "id", "name", "title", "icon", "whenToUse", "customization", "role", "identity", "style", "focus")
	}
	for k, v := range laxyaml.Fields(root) {
		if text := laxyaml.Prose(v); text != "" && !slices.Contains(known, k.Value) {
			d.Rules = append(d.Rules, k.Value+":\n"+text)
		}
	}
	return nil
}

// v4Dependencies reads the files by type: tasks: [create-doc.md] is
// {root}/tasks/create-doc.md.
func (d *Definition) v4Dependencies(n *yaml.Node) {
	for kind, names := range laxyaml.Fields(n) {
		for _, name := range laxyaml.Items(names) {
			if name.Kind == yaml.MappingNode && len(name.Content) == 2 { // - qa-gate.md: What it is for
				name = name.Content[0]
			}
			root, file := d.v4File(path.Join(kind.Value, laxyaml.Scalar(name)))
			d.Dependencies = append(d.Dependencies, Reference{Path: root + file, Use: UseDependency, Key: kind.Value, File: d.File, Line: name.Line})
		}
	}
}

// v4File finds a dependency: in the bundle, in what sources share, in the core. Its name
// may lack the extension.
func (d *Definition) v4File(written string) (root, file string) {
	for _, ext := range []string{"", ".md", ".yaml", ".yml"} {
		file := written + ext
		if ext != "" && hasExtension(written) {
			file = strings.TrimSuffix(written, path.Ext(written)) + ext
		}
		if d.bundle.shared[file] {
			return "{common-root}/", file
		}
		if d.bundle.catalog == nil {
			break
		}
		for _, root := range []string{"{root}/", "{" + workspace.CoreRoot + "}/"} {
			if _, err := d.bundle.readNamed(root + file); err == nil {
				return root, file
			}
		}
	}
	return "{root}/", written
}

// v4Commands reads the shapes of commands: a map, a list of maps with one key, a list of
// texts, and what people write beside those: items with a name and a description, and
// groups of commands below a heading.
func (d *Definition) v4Commands(n *yaml.Node) {
	if n != nil && n.Kind == yaml.MappingNode {
		isGrouped := areGroups(n)
		for k, v := range laxyaml.Fields(n) {
			if isGrouped {
				d.v4Commands(v)
				continue
			}
			d.v4Command(k.Value, laxyaml.Prose(v), k.Line)
		}
		return
	}
	for _, item := range laxyaml.Items(n) {
		if item.Kind == yaml.MappingNode && d.v4Item(item) {
			continue
		}
		if item.Kind == yaml.MappingNode {
			for k, v := range laxyaml.Fields(item) {
				d.v4Command(k.Value, laxyaml.Prose(v), k.Line)
			}
			continue
		}
		name, description, ok := strings.Cut(laxyaml.Scalar(item), " - ")
		if !ok {
			name, description, _ = strings.Cut(name, ": ")
		}
		d.v4Command(strings.Trim(name, `"'`+"`"), description, item.Line)
	}
}

// areGroups says whether all that a map holds are lists of commands.
func areGroups(n *yaml.Node) bool {
	for _, v := range laxyaml.Fields(n) {
		if v.Kind != yaml.SequenceNode || slices.ContainsFunc(v.Content, func(item *yaml.Node) bool { return item.Kind != yaml.MappingNode }) {
			return false
		}
	}
	return len(n.Content) > 0
}

// v4Item reads an item that says its name and description under those keys, or that is a
// heading with commands below it. It says whether the item is one.
func (d *Definition) v4Item(n *yaml.Node) bool {
	for _, key := range []string{"items", "commands"} {
		if list := laxyaml.Field(n, key); list != nil && list.Kind == yaml.SequenceNode {
			d.v4Commands(list)
			return true
		}
	}
	name, description := "", ""
	for _, key := range []string{"name", "command", "cmd", "trigger", "id"} {
		if name == "" {
			name = laxyaml.Scalar(laxyaml.Field(n, key))
		}
	}
	for _, key := range descriptionKeys {
		if description == "" {
			description = laxyaml.Prose(laxyaml.Field(n, key))
		}
	}
	if name == "" || len(n.Content) < 4 {
		return false
	}
	if args := laxyaml.Scalar(laxyaml.Field(n, "args")); strings.HasPrefix(args, "{") {
		name += " " + args
	}
	for k, v := range laxyaml.Fields(n) { // what it uses is found by its mention
		if slices.Contains([]string{"visibility", "category", "args"}, k.Value) {
			continue
		}
		if text := laxyaml.Prose(v); text != strings.TrimSpace(laxyaml.Scalar(v)) || !strings.HasPrefix(name, text) && text != description {
			description = strings.TrimSpace(description + " (" + k.Value + ": " + text + ")")
		}
	}
	d.v4Command(name, description, n.Line)
	return true
}

// v4Command adds a command. Which task and template it uses is in the words of its
// description, "run task create-doc.md with template prd-tmpl.yaml".
func (d *Definition) v4Command(name, description string, line int) {
	var attributes []Attribute
	for _, dep := range d.Dependencies {
		if !mentions(description, path.Base(dep.Path)) {
			continue
		}
		switch dep.Key {
		case "tasks":
			attributes = append(attributes, Attribute{"exec", dep.Path, line})
		case "templates":
			attributes = append(attributes, Attribute{"tmpl", dep.Path, line})
		case "checklists", "data":
			attributes = append(attributes, Attribute{"data", dep.Path, line})
		}
	}
	d.addCommand(name, description, attributes, line)
}

var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]`)

// mentions says whether a text has a file's name as a word, with or without its
// extension.
func mentions(text, file string) bool {
	stem := strings.TrimSuffix(file, path.Ext(file))
	return slices.ContainsFunc(word.FindAllString(text, -1), func(w string) bool { return w == file || w == stem })
}
