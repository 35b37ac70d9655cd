package rehearsal

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
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
	task             string // the text of the file that was read first
	files            int    // step files that were read
	first            string // the file that the instructions lead to
	early            string // why it has ended before its last step, if it has
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
	text := r.field("instructions")
	w.program = w.memory.program(text)
	if !w.run() {
		return false
	}
	if path.Ext(w.file) == ".md" {
		// A skill leads to the files beside it, and a workflow to its first step.
		w.first = cmp.Or(nextStep(text, r.field("path")), besideOf(text, r.field("path")))
		if w.first != "" && !w.read(w.first) {
			return false
		}
	}
	return w.finish()
}

// beside is the file in which a skill has its instructions.
var beside = regexp.MustCompile(`\./(workflow[\w-]*\.md)\b`)

func besideOf(text, file string) string {
	if m := beside.FindStringSubmatch(text); m != nil && file != "" {
		return path.Join(path.Dir(file), m[1])
	}
	return ""
}

// validate loads the checklist of a workflow and goes through its items, as a command
// that validates asks for. It returns false if the reply must wait for something.
func (w *walk) validate() bool {
	r, ok := w.use("execute_workflow", func() map[string]any { return map[string]any{"workflow_path": w.file} })
	if !ok {
		return false
	}
	if r.problem != "" {
		w.say("The workflow %s could not be loaded: %s.", w.file, strings.TrimSuffix(r.problem, "."))
		return true
	}
	w.configure(r)
	checklist := cmp.Or(w.config["validation"], w.config["checklist"])
	if checklist == "" || checklist == "false" {
		checklist = path.Join(path.Dir(r.field("path")), "checklist.md")
	}
	list, ok := w.use("read_file", func() map[string]any { return map[string]any{"file_path": checklist} })
	if !ok {
		return false
	}
	if list.problem != "" {
		w.say("There is no checklist to validate with: %s.", strings.TrimSuffix(list.problem, "."))
		return true
	}
	var report strings.Builder
	report.WriteString("# Validation of " + w.name + "\n\n")
	for line := range strings.Lines(list.field("content")) {
		if m := checkItem.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			w.steps++
			report.WriteString("- N/A: " + strings.TrimSpace(m[1]) + " (rehearsed: nothing was judged)\n")
		}
	}
	target := w.folder + "/validation-report-" + slug(w.name, "-") + ".md"
	if _, ok := w.use("save_output", func() map[string]any { return map[string]any{"file_path": target, "content": report.String()} }); !ok {
		return false
	}
	w.say("\n[rehearsal] %s is complete (steps: %d, questions: 0). Saved: %s", w.name, w.steps, target)
	return true
}

// checkItem is an item of a checklist.
var checkItem = regexp.MustCompile(`^\s*(?:[-*]\s+(?:\[[ xX]?\]\s*)?|<item>)(\S.*?)(?:</item>)?$`)

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
	written := "" // the name of file as it stands in a text
	for file != "" && !w.loaded[file] && len(w.loaded) < maxFiles {
		w.loaded[file] = true
		r, ok := w.use("read_file", func() map[string]any { return map[string]any{"file_path": file} })
		if !ok {
			return false
		}
		if strings.Contains(r.problem, "not found") && written != "" && written != file {
			// By the name that stands in the text, from which tools find it, too.
			if r, ok = w.use("read_file", func() map[string]any { return map[string]any{"file_path": written} }); !ok {
				return false
			}
		}
		if r.problem != "" {
			w.say("%s could not be read: %s.", file, strings.TrimSuffix(r.problem, "."))
			return true
		}
		content := r.field("content")
		w.say("Read %s (%d bytes).", file, len(content))
		w.task = cmp.Or(w.task, content)
		if ext := path.Ext(file); ext != ".md" && ext != ".xml" {
			return true
		}
		if values, _ := frontMatter(content); values["outputFile"] != "" {
			w.output = values["outputFile"]
		}
		w.program = w.memory.program(content)
		if !w.run() {
			return false
		}
		if strings.HasPrefix(path.Base(file), "step-") {
			w.files++
		}
		file, written = w.memory.stepAfter(content, file)
	}
	return true
}

// run plays the program to its end. It returns false if the reply must wait for something, or the user left.
func (w *walk) run() bool {
	for w.next < len(w.beats) {
		b := &w.beats[w.next]
		w.next++
		if condition, ok := b.node.Attr("if"); ok && b.kind != "check" && !w.applies(b, condition) {
			w.next = b.end
			continue
		}
		if !w.play(b) {
			return false
		}
	}
	return true
}

// applies tells whether a beat with a condition is played.
func (w *walk) applies(b *beat, condition string) bool {
	if b.kind == "step" || !w.halts(b) {
		return w.holds(condition)
	}
	isTrue, isEvaluated := w.judge(condition)
	return isTrue && isEvaluated
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
	if w.early != "" {
		w.say("\n[rehearsal] %s ended early, %s (steps: %d, questions: %d). %s", w.name, w.early, w.steps, w.questions, outcome)
		return true
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
