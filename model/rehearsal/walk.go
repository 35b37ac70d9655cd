package rehearsal

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// What keeps every walk finite.
const (
	maxVisits = 3  // jumps to the same place
	maxJumps  = 24 // jumps in one program
	maxDepth  = 4  // workflows and tasks inside one another
	maxFiles  = 32 // files loaded for one command
)

// A walk plays one workflow, with the files it loads and the documents it writes.
type walk struct {
	*scene
	*program
	name   string
	file   string // the workflow's own file
	folder string // the session's
	output string // where the workflow wants its document
	depth  int
	loaded map[string]bool // files, shared with the workflows that it invokes
	isYolo bool

	config   map[string]string
	answers  map[string]answer
	latest   answer
	question string   // the one that latest answers
	open     []string // answers of this step that no section has taken

	documents        []*document // the workflow's own first
	named            map[string]*document
	steps, questions int
}

func newWalk(s *scene, file string) *walk {
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if strings.HasPrefix(name, "workflow") && path.Dir(file) != "." {
		name = path.Base(path.Dir(file))
	}
	return &walk{
		scene: s, program: readProgram(""), name: name, file: file, folder: "{session-folder}", loaded: map[string]bool{},
		config: maps.Clone(s.part.values), answers: map[string]answer{},
		output:    "{session-folder}/" + slug(name, "-") + ".md",
		documents: []*document{{title: name, sections: map[string]int{}}},
		named:     map[string]*document{},
	}
}

// execute loads a workflow.yaml and plays it to its end. It returns false if the reply must wait for something.
func (w *walk) execute(request string) bool {
	w.loaded[w.file] = true
	r, ok := w.use("execute_workflow", func() map[string]any {
		arguments := map[string]any{"workflow_path": w.file}
		if request != "" {
			arguments["user_input"] = map[string]any{"request": request}
		}
		return arguments
	})
	if !ok {
		return false
	}
	if r.problem == "" && r.fields == nil {
		r.problem = "its result is not a JSON object"
	}
	if r.problem != "" {
		w.say("The workflow %s could not be loaded: %s.", w.file, strings.TrimSuffix(r.problem, "."))
		return true
	}
	w.configure(r)
	w.say("**%s**: %s", w.name, brief(r.field("description")))
	if open, _ := r.fields["unresolved"].([]any); len(open) > 0 {
		w.say("Not resolved, so left open or filled with stand-ins: %s", encode(open))
	}
	w.program = readProgram(r.field("instructions"))
	return w.run() && w.finish()
}

// configure takes down what execute_workflow returned.
func (w *walk) configure(r result) {
	if name := r.field("workflow_name"); name != "" {
		w.name = name
	}
	if folder := strings.TrimSuffix(r.field("session_folder"), "/"); folder != "" {
		w.folder = folder
	}
	for _, key := range []string{"config", "user_input"} {
		fields, _ := r.fields[key].(map[string]any)
		flatten(w.config, fields)
	}
	w.config["session_folder"], w.config["session-folder"] = w.folder, w.folder
	if w.config["date"] == "system-generated" {
		w.config["date"] = w.part.values["date"]
	}
	w.output = w.folder + "/" + slug(w.name, "-") + ".md"
	if output := w.config["default_output_file"]; output != "" {
		w.output = output
	}
	w.documents[0].title, w.documents[0].template = w.name, r.field("template")
	w.documents[0].isStale = true
}

// flatten adds the values of a decoded JSON object; those of objects inside it are known by their own names.
func flatten(values map[string]string, fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[name].(type) {
		case map[string]any:
			flatten(values, v)
		case string:
			values[name] = v
		case bool, float64:
			values[name] = fmt.Sprint(v)
		}
	}
}

// read loads a file and plays it, then the step files that it leads to. Its documents are the walk's own.
func (w *walk) read(file string) bool {
	outer := w.program
	defer func() { w.program = outer }()
	for file != "" && !w.loaded[file] && len(w.loaded) < maxFiles {
		w.loaded[file] = true
		r, ok := w.use("read_file", func() map[string]any { return map[string]any{"file_path": file} })
		if !ok {
			return false
		}
		if r.problem != "" {
			w.say("%s could not be read: %s.", file, strings.TrimSuffix(r.problem, "."))
			return true
		}
		content := r.field("content")
		w.say("Read %s (%d bytes).", file, len(content))
		if ext := path.Ext(file); ext != ".md" && ext != ".xml" {
			return true
		}
		if values, _ := frontMatter(content); values["outputFile"] != "" {
			w.output = values["outputFile"]
		}
		w.program = readProgram(content)
		if !w.run() {
			return false
		}
		file = nextStep(content, file)
	}
	return true
}

// run plays the program to its end. It returns false if the reply must wait for something, or the user left.
func (w *walk) run() bool {
	for w.next < len(w.beats) {
		b := &w.beats[w.next]
		w.next++
		if condition, ok := b.node.Attr("if"); ok && b.kind != "check" && !w.holds(condition) {
			w.next = b.end
			continue
		}
		if !w.play(b) {
			return false
		}
	}
	return true
}

// finish saves what is not saved yet and says how it went.
func (w *walk) finish() bool {
	var saved, problems []string
	for _, d := range w.documents {
		isOpen := d.saved != "" && w.render(d, false) != w.render(d, true)
		if (d.isStale || isOpen) && !w.save(d, true) {
			return false
		}
		if d.saved != "" {
			saved = append(saved, d.saved)
		} else if d.problem != "" {
			problems = append(problems, d.problem)
		}
	}
	outcome := "Nothing was to be saved."
	switch {
	case len(saved) > 0:
		outcome = "Saved: " + strings.Join(saved, ", ")
	case len(problems) > 0:
		outcome = "Nothing could be saved: " + problems[0]
	}
	w.say("\n[rehearsal] %s is complete (steps: %d, questions: %d). %s", w.name, w.steps, w.questions, outcome)
	return true
}

// isSet tells whether the user, an action or the configuration gave a value to name.
func (w *walk) isSet(name string) bool {
	_, answered := w.answers[name]
	return answered || w.config[name] != ""
}

// valueOf returns the value of a name. The usual names for the latest answer stand for it where nobody set them.
func (w *walk) valueOf(name string) answer {
	if a, ok := w.answers[name]; ok {
		return a
	}
	if value := w.config[name]; value != "" {
		return answer{value, value}
	}
	switch name {
	case "answer", "response", "user_response", "choice", "user_choice", "selection":
		return w.latest
	}
	return answer{}
}
