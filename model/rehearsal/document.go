package rehearsal

import (
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A document is a file that a workflow writes.
type document struct {
	title    string
	template string // empty if there is none
	text     string // all of it, where nothing is to be filled in
	path     string // where it is to be saved, empty until it first is
	saved    string // where the tool says that it was saved
	problem  string // why it could not be saved
	isStale  bool   // it has changed since it was saved
	refused  bool   // saving it was given up

	entries  []entry
	sections map[string]int // places of the sections in entries, by name
}

// An entry is a step, a question with its answer, or a section: what a document without a template consists of.
type entry struct{ step, question, section, text string }

func (d *document) note(e entry) {
	d.entries = append(d.entries, e)
	if e.section != "" {
		d.sections[e.section] = len(d.entries) - 1
	}
}

// set writes a section, in place of what it held before.
func (d *document) set(section, text string) {
	at, ok := d.sections[section]
	switch {
	case !ok:
		d.note(entry{section: section, text: text})
	case d.entries[at].text == text:
		return
	}
	d.entries[d.sections[section]].text = text
	d.isStale = true
}

var (
	placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}|\{([A-Za-z_][\w-]*)\}`)
	control     = regexp.MustCompile(`^(?:[#/@!>^&]|else\b|this\b)`)
)

// expand replaces the {name} and {{name}} in a text that value knows. IsOpen says that the author used two braces:
// the name is not one of the engine's but a place to fill.
func expand(text string, value func(name string, isOpen bool) (string, bool)) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if known, ok := value(strings.Trim(found, "{} "), strings.HasPrefix(found, "{{")); ok {
			return known
		}
		return found
	})
}

// known makes a map fit for expand.
func known(values map[string]string) func(string, bool) (string, bool) {
	return func(name string, _ bool) (string, bool) { return values[name], values[name] != "" }
}

// tell fills in what the user is shown.
func (w *walk) tell(text string) string {
	return expand(text, func(name string, _ bool) (string, bool) { return w.valueOf(name).meant, w.isSet(name) })
}

// fill fills the document's template. What is not known yet is left as it is, or gets a stand-in at the end.
func (w *walk) fill(d *document, atEnd bool) string {
	return expand(d.template, func(name string, isOpen bool) (string, bool) {
		at, isWritten := d.sections[name]
		switch {
		case isWritten:
			return d.entries[at].text, true
		case w.isSet(name):
			return w.valueOf(name).meant, true
		case control.MatchString(name):
			return "", isOpen && atEnd
		}
		return standInFor(name), isOpen && atEnd
	})
}

// pathOf fills in a path, and what the values of the configuration in it leave open. What its author left open becomes
// a part of the name.
func (w *walk) pathOf(file string) string {
	configured := expand(strings.TrimSpace(file), known(w.config))
	return expand(configured, func(name string, isOpen bool) (string, bool) {
		switch {
		case w.config[name] != "":
			return w.config[name], true
		case w.isSet(name):
			return slug(w.valueOf(name).meant, "-"), true
		}
		return slug(name, "-"), isOpen
	})
}

// standInFor is the text of a section that nobody was asked about.
func standInFor(name string) string { return "A model would write the " + words(name) + " here." }

// render is the document as it stands.
func (w *walk) render(d *document, atEnd bool) string {
	if d.text != "" {
		return d.text
	}
	var b strings.Builder
	if d.template != "" {
		b.WriteString(strings.TrimRight(w.fill(d, atEnd), "\n") + "\n")
	} else {
		b.WriteString("# " + d.title + "\n")
	}
	asked := placeholders(d.template)
	level := "\n## "
	for _, e := range d.entries {
		switch {
		case e.section != "" && !asked[e.section]:
			b.WriteString(level + title(e.section) + "\n\n" + e.text + "\n")
		case d.template != "":
		case e.step != "":
			b.WriteString("\n## " + e.step + "\n")
			level = "\n### "
		case e.question != "":
			b.WriteString("\n> " + strings.ReplaceAll(e.question, "\n", "\n> ") + "\n\n" + e.text + "\n")
		}
	}
	return b.String()
}

func placeholders(template string) map[string]bool {
	names := map[string]bool{}
	for _, found := range placeholder.FindAllString(template, -1) {
		names[strings.Trim(found, "{} ")] = true
	}
	return names
}

func title(name string) string {
	phrase := words(name)
	_, size := utf8.DecodeRuneInString(phrase)
	return strings.ToUpper(phrase[:size]) + phrase[size:]
}

// document returns the one that a tag names by its file attribute: the workflow's own if it names none, or that.
func (w *walk) document(file string) *document {
	where := w.pathOf(file)
	own := w.documents[0]
	if where == "" || where == own.path || where == w.pathOf(w.output) || strings.Contains(where, "{default_output_file}") {
		return own
	}
	if !strings.ContainsAny(where, "/{") {
		where = w.folder + "/" + where
	}
	d := w.named[where]
	if d == nil {
		d = &document{title: title(strings.TrimSuffix(path.Base(where), path.Ext(where))), path: where, sections: map[string]int{}}
		w.named[where] = d
		w.documents = append(w.documents, d)
	}
	return d
}

// save saves a document, in the session's folder if it is refused where the workflow wants it. It returns false if the
// reply is the call.
func (w *walk) save(d *document, atEnd bool) bool {
	if d.refused {
		return true
	}
	if d.path == "" {
		d.path = w.pathOf(w.output)
	}
	for {
		r, ok := w.use("save_output", func() map[string]any {
			return map[string]any{"file_path": d.path, "content": w.render(d, atEnd)}
		})
		if !ok {
			return false
		}
		if r.problem == "" {
			d.isStale, d.problem, d.saved = false, "", d.path
			if where := r.field("path"); where != "" {
				d.saved = where
			}
			w.say("Saved %s.", d.saved)
			return true
		}
		if d.problem != r.problem {
			w.say("Saving %s did not work: %s.", d.path, strings.TrimSuffix(r.problem, "."))
		}
		d.problem = r.problem
		fallback := w.folder + "/" + expand(path.Base(d.path), func(name string, _ bool) (string, bool) { return slug(name, "-"), true })
		if d.refused = fallback == d.path && !r.isSkipped; d.refused || r.isSkipped {
			return true
		}
		d.path = fallback
	}
}
