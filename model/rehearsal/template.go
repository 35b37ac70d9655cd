package rehearsal

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// A blueprint is a template that is a list of sections, as those of BMAD 4 are.
type blueprint struct {
	name   string
	output string // the file that it says its document is to be, empty if it says none
	title  string
	parts  []blueprintPart
}

// A blueprintPart is a section of a blueprint. Those below it come after it, at a greater depth.
type blueprintPart struct {
	id, title, condition string
	depth                int // of a top-level section 0
	elicits              bool
	repeats              bool
}

// maxDepthOfParts is how deep sections are read inside one another.
const maxDepthOfParts = 6

// readBlueprint reads a template. Its parts are empty if it is no list of sections.
func readBlueprint(source string) blueprint {
	root, _, err := laxyaml.Parse(1, []byte(source))
	if err != nil {
		return blueprint{}
	}
	head := laxyaml.Field(root, "template")
	output := laxyaml.Field(head, "output")
	b := blueprint{
		name:   laxyaml.Scalar(laxyaml.Field(head, "name")),
		output: laxyaml.Scalar(laxyaml.Field(output, "filename")),
		title:  laxyaml.Scalar(laxyaml.Field(output, "title")),
	}
	b.add(laxyaml.Field(root, "sections"), "", 0)
	return b
}

// add adds sections. An id is unique with those of the sections around it before it.
func (b *blueprint) add(list *yaml.Node, within string, depth int) {
	if depth == maxDepthOfParts {
		return
	}
	for _, n := range laxyaml.Items(list) {
		p := blueprintPart{
			id: laxyaml.Scalar(laxyaml.Field(n, "id")), title: laxyaml.Scalar(laxyaml.Field(n, "title")),
			condition: laxyaml.Prose(laxyaml.Field(n, "condition")), depth: depth,
			elicits: strings.EqualFold(laxyaml.Scalar(laxyaml.Field(n, "elicit")), "true"),
			repeats: strings.EqualFold(laxyaml.Scalar(laxyaml.Field(n, "repeatable")), "true"),
		}
		if p.id == "" {
			p.id = slug(p.title, "-")
		}
		if p.title == "" {
			p.title = title(p.id)
		}
		if p.id == "" {
			continue
		}
		p.id = within + p.id
		b.parts = append(b.parts, p)
		b.add(laxyaml.Field(n, "sections"), p.id+".", depth+1)
	}
}

// outline is the document as a template of ours, with a place for each section.
func (b *blueprint) outline(isYAML bool) string {
	var text strings.Builder
	if b.title != "" && !isYAML {
		text.WriteString("# " + b.title + "\n")
	}
	for _, p := range b.parts {
		if isYAML {
			text.WriteString(slug(p.id, "_") + ": \"{{" + p.id + "}}\"\n")
			continue
		}
		text.WriteString("\n" + strings.Repeat("#", min(p.depth+2, 6)) + " " + p.title + "\n\n{{" + p.id + "}}\n")
	}
	return strings.TrimPrefix(text.String(), "\n")
}

// fillIn reads a template and fills it in, section by section. It returns false if the reply must wait for something.
func (w *walk) fillIn(file string) bool {
	text, ok := w.consult(file)
	if !ok || text == "" {
		return ok
	}
	d := w.documents[0]
	isYAML := strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
	b := w.memory.blueprint(text)
	if !isYAML || len(b.parts) == 0 {
		if isYAML {
			w.say("- %s lists no sections.", file)
		}
		d.template, d.isStale = text, true
		return true
	}
	if b.output == "" {
		w.say("- %s does not say which file it is for.", file)
		b.output = "{session-folder}/" + strings.TrimSuffix(strings.TrimSuffix(path.Base(file), path.Ext(file)), "-tmpl") + ".md"
	}
	w.output = w.named4(b.output)
	w.say("- The template is for %s.", w.pathOf(w.output))
	d.path, d.title = "", b.name
	d.template = b.outline(path.Ext(w.output) != ".md")
	d.isStale = true
	for _, p := range b.parts {
		d.set(p.id, standInFor(p.title))
	}
	return w.sections(d, b.parts)
}

// sections goes through the sections of a template.
func (w *walk) sections(d *document, parts []blueprintPart) bool {
	left := -1 // the depth of a section that is left out
	for _, p := range parts {
		if left >= 0 && p.depth > left {
			d.set(p.id, "")
			continue
		}
		if left = -1; p.condition != "" && !w.holds(p.condition) {
			w.say("- Left out, for it depends on %q: %s.", brief(p.condition), p.title)
			d.set(p.id, "Left out.")
			left = p.depth
			continue
		}
		if p.depth == 0 {
			w.announce(p.title)
		} else {
			w.say("- %s", p.title)
		}
		if p.repeats {
			w.say("- Repeated in a real run, done once here.")
		}
		if p.elicits && !w.elicit(d, p) {
			return false
		}
	}
	return true
}

// elicit is the stop that a template asks for: go on, or go deeper by one of eight methods.
func (w *walk) elicit(d *document, p blueprintPart) bool {
	for _, file := range w.part.files {
		if stemOf(file) == "elicitation-methods" && !w.loaded[file] {
			if _, ok := w.consult(file); !ok {
				return false
			}
		}
	}
	a, ok := w.put("A model would show " + p.title + " here, with its reasons.\n1. Proceed to next section\n2-9. Methods from data/elicitation-methods\nSelect 1-9 or just type your question/feedback:")
	if !ok {
		return false
	}
	if len(a.said) > 1 {
		d.set(p.id, a.said)
		w.say("Noted: %s", brief(a.said))
	}
	return true
}

// named4 fills in what BMAD 4 writes as qa.qaLocation/gates: keys of its configuration without braces.
func (w *walk) named4(file string) string {
	key, rest, _ := strings.Cut(file, "/")
	if value := w.config[key]; value != "" && strings.Contains(key, ".") {
		return path.Join(value, rest)
	}
	return file
}
