package rehearsal

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// follow plays what a task works with after its text was read: the template that it fills in, the checklist that it goes
// through, the document that it splits. Argument is what the user said after the command's name. It returns false if
// the reply must wait for something.
func (w *walk) follow(c *command, argument string) bool {
	if strings.HasPrefix(argument, "{") {
		argument = "" // the place for one
	}
	switch name := stemOf(c.target); {
	case strings.HasPrefix(name, "create-doc"):
		file, ok := w.choice("template", c.template, "/templates/", argument)
		return ok && (file == "" || w.fillIn(file))
	case name == "execute-checklist":
		file, ok := w.choice("checklist", c.data, "/checklists/", argument)
		return ok && (file == "" || w.tick(file))
	case name == "shard-doc":
		return w.shard(c, argument)
	case c.template != "":
		return w.fillIn(c.template)
	}
	for _, file := range w.part.files {
		if !strings.Contains(file, "/templates/") || !strings.Contains(c.target, "/tasks/") {
			continue
		}
		switch isNamed, isFilled := uses(w.task, file); {
		case isFilled:
			if !w.fillIn(file) {
				return false
			}
		case isNamed:
			if _, ok := w.consult(file); !ok {
				return false
			}
		}
	}
	return true
}

func stemOf(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

var (
	filling = regexp.MustCompile(`(?i)\b(?:render|using|use|create|generate|fill|populate|template:)`)
	aSuffix = regexp.MustCompile(`-(?:tmpl|template)$`)
)

// uses says whether a task names a template, by its file or as "the Story Template", and whether it is to be filled in
// there rather than looked at.
func uses(task, file string) (isNamed, isFilled bool) {
	stem := stemOf(file)
	label := words(aSuffix.ReplaceAllString(stem, "")) + " template"
	for line := range strings.Lines(task) {
		byFile := strings.Contains(line, stem+".")
		if !byFile && !mentions(line, label) {
			continue
		}
		isNamed = isNamed || byFile
		if filling.MatchString(line) && !strings.Contains(strings.ToLower(line), "load `") {
			return true, true
		}
	}
	return isNamed, false
}

// consult reads a file that is no instructions. It returns false if the reply must wait for it; the text is empty if it
// cannot be read.
func (w *walk) consult(file string) (text string, ok bool) {
	if w.loaded[file] {
		w.say("- %s was read already.", file)
		return "", true
	}
	w.loaded[file] = true
	r, ok := w.use("read_file", func() map[string]any { return map[string]any{"file_path": file} })
	if !ok {
		return "", false
	}
	if r.problem != "" {
		w.say("%s could not be read: %s.", file, strings.TrimSuffix(r.problem, "."))
		return "", true
	}
	text = r.field("content")
	w.say("Read %s (%d bytes).", file, len(text))
	return text, true
}

// choice is the file that a command names, the user did, or is chosen from those that the agent has of that kind. It is
// empty where there is none.
func (w *walk) choice(kind, named, folder, argument string) (file string, ok bool) {
	if named != "" {
		return named, true
	}
	var files []string
	for _, f := range w.part.files {
		if strings.Contains(f, folder) {
			files = append(files, f)
		}
	}
	if wanted := plainWords(stemOf(argument)); wanted != "" {
		fits := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.Contains(plainWords(stemOf(f)), wanted) })
		if len(fits) > 0 {
			files = fits[:1]
		} else {
			w.say("There is no %s called %q.", kind, brief(argument))
		}
	}
	switch len(files) {
	case 0:
		w.say("- It has no %s.", kind)
		w.early = "for the agent has no " + kind + " to work with"
		return "", true
	case 1:
		return files[0], true
	}
	var question strings.Builder
	question.WriteString("Which " + kind + "?")
	for i, f := range files {
		fmt.Fprintf(&question, "\n%d. %s", i+1, stemOf(f))
	}
	a, ok := w.put(question.String())
	if !ok {
		return "", false
	}
	if i := slices.IndexFunc(files, func(f string) bool { return mentions(stemOf(f), a.meant) }); i >= 0 {
		return files[i], true
	}
	w.say("There is no %s called %q.", kind, brief(a.said))
	w.early = "for there is no such " + kind
	return "", true
}

// tick goes through a checklist. Its result is told, not saved.
func (w *walk) tick(file string) bool {
	text, ok := w.consult(file)
	if !ok || text == "" {
		return ok
	}
	if _, ok := w.put("How shall I work through " + stemOf(file) + "?\n1. Section by section\n2. All at once"); !ok {
		return false
	}
	items := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "## "):
			w.announce(strings.TrimSpace(line[3:]))
		case checkbox.MatchString(line):
			items++
		}
	}
	w.say("- %d items: a model would judge each as PASS, FAIL, PARTIAL or N/A.", items)
	return true
}

// shard splits a document at its headings of the second level, into a folder of its own with an index.
func (w *walk) shard(c *command, argument string) bool {
	file, folder, ok := w.toShard(c, argument)
	if !ok || file == "" {
		return ok
	}
	r, ok := w.use("read_file", func() map[string]any { return map[string]any{"file_path": file} })
	if !ok {
		return false
	}
	if r.problem != "" {
		w.say("%s could not be read: %s.", file, strings.TrimSuffix(r.problem, "."))
		w.early = "for there is no " + file + " yet, which a real run splits into " + folder
		return true
	}
	w.say("Read %s (%d bytes). A model may run md-tree here, where that is granted.", file, len(r.field("content")))
	head, shards := split(r.field("content"))
	index := w.document(path.Join(folder, "index.md"))
	index.text = head + "\n## Sections\n\n"
	for _, s := range shards {
		w.announce(s.title)
		d := w.document(path.Join(folder, s.name+".md"))
		d.text, d.isStale = s.text, true
		index.text += "- [" + s.title + "](./" + s.name + ".md)\n"
	}
	index.isStale = true
	return true
}

// toShard finds out which document is meant and where its parts go.
func (w *walk) toShard(c *command, argument string) (file, folder string, ok bool) {
	words := strings.Fields(argument)
	known := documentsIn(w.config)
	switch {
	case len(words) > 0:
		file = words[0]
	default:
		for _, name := range filePath.FindAllString(c.about, -1) {
			if i := slices.IndexFunc(known, func(k string) bool { return path.Base(k) == path.Base(name) }); i >= 0 {
				file = known[i]
			}
		}
	}
	if file == "" {
		var question strings.Builder
		question.WriteString("Which document shall I split?")
		for i, k := range known {
			fmt.Fprintf(&question, "\n%d. %s", i+1, k)
		}
		a, ok := w.put(question.String())
		if !ok {
			return "", "", false
		}
		if file = filePath.FindString(a.meant); file == "" {
			w.early = "for nobody has said which document"
			return "", "", true
		}
	}
	if len(words) > 1 && !strings.HasPrefix(words[1], "{") {
		return file, words[1], true
	}
	return file, strings.TrimSuffix(file, path.Ext(file)), true
}

// documentsIn lists the documents that a configuration names.
func documentsIn(config map[string]string) []string {
	var found []string
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(config))) {
		if value := config[key]; strings.HasSuffix(key, "File") && path.Ext(value) == ".md" && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	return found
}

// A docShard is a part of a document that becomes a file of its own.
type docShard struct{ title, name, text string }

// split takes a document apart at its headings of the second level, each of which becomes the first level of its part.
// What is in code blocks is left alone.
func split(text string) (head string, shards []docShard) {
	inCode := false
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inCode = !inCode
		}
		heading, isHeading := strings.CutPrefix(line, "## ")
		if heading = strings.TrimSpace(heading); isHeading && !inCode && heading != "" {
			name := slug(heading, "-")
			for n := 2; name == "" || names[name]; n++ {
				name = fmt.Sprintf("%s-%d", slug(heading, "-"), n)
			}
			names[name] = true
			shards = append(shards, docShard{title: heading, name: name})
		}
		if !inCode && strings.HasPrefix(line, "##") {
			line = line[1:]
		}
		if len(shards) == 0 {
			head += line
		} else {
			shards[len(shards)-1].text += line
		}
	}
	return head, shards
}
