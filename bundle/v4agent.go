package bundle

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/markup"
)

// isV4 recognises the block that defines an agent of version 4.
func isV4(f markup.Fence) bool {
	isYAML := strings.EqualFold(f.Language, "yaml") || strings.EqualFold(f.Language, "yml")
	return isYAML && (bytes.HasPrefix(f.Content, []byte("agent:")) || bytes.Contains(f.Content, []byte("\nagent:")))
}

func (d *Definition) parseV4(block markup.Fence) error {
	d.Format = FormatV4
	root, notes, err := parseYAML(d.File, block.Line+1, block.Content)
	if err != nil {
		return err
	}
	d.Findings = append(d.Findings, notes...)
	agent, persona := field(root, "agent"), field(root, "persona")
	d.declare(scalar(field(agent, "id")), scalar(field(agent, "name")), scalar(field(agent, "title")),
		scalar(field(agent, "icon")), prose(field(agent, "whenToUse")))
	d.Persona = Persona{
		Role:               prose(field(persona, "role")),
		Identity:           prose(field(persona, "identity")),
		CommunicationStyle: prose(field(persona, "style")),
		Focus:              prose(field(persona, "focus")),
		Principles:         append(lines(field(persona, "core_principles")), lines(field(root, "core_principles"))...),
	}
	for _, n := range items(field(root, "activation-instructions")) {
		if text := prose(n); !isAboutOwnFile(text) {
			d.Critical = append(d.Critical, newCriticalAction(text, n.Line))
		}
	}
	d.v4Dependencies(field(root, "dependencies"))
	d.v4Commands(field(root, "commands"))
	if custom := prose(field(agent, "customization")); custom != "" {
		d.Rules = append(d.Rules, "This goes before everything else: "+custom)
	}
	known := []string{"agent", "persona", "core_principles", "activation-instructions", "dependencies", "commands"}
	for k, v := range fields(root) {
		if text := prose(v); text != "" && !slices.Contains(known, k.Value) {
			d.Rules = append(d.Rules, k.Value+":\n"+text)
		}
	}
	return nil
}

// v4Dependencies reads the files by type: tasks: [create-doc.md] is
// {root}/tasks/create-doc.md.
func (d *Definition) v4Dependencies(n *yaml.Node) {
	for kind, names := range fields(n) {
		for _, name := range items(names) {
			file := path.Join(kind.Value, scalar(name))
			root := "{root}/"
			if d.bundle.shared[file] {
				root = "{common-root}/"
			}
			d.Dependencies = append(d.Dependencies, Reference{Path: root + file, Use: UseDependency, Key: kind.Value, File: d.File, Line: name.Line})
		}
	}
}

// v4Commands reads the three shapes of commands: a map, a list of maps with one
// key, and a list of texts.
func (d *Definition) v4Commands(n *yaml.Node) {
	if n != nil && n.Kind == yaml.MappingNode {
		for k, v := range fields(n) {
			d.v4Command(k.Value, prose(v), k.Line)
		}
		return
	}
	for _, item := range items(n) {
		if item.Kind == yaml.MappingNode {
			for k, v := range fields(item) {
				d.v4Command(k.Value, prose(v), k.Line)
			}
			continue
		}
		name, description, _ := strings.Cut(scalar(item), " - ")
		d.v4Command(strings.Trim(name, `"'`+"`"), description, item.Line)
	}
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
