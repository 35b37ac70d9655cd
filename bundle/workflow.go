package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// A Workflow is a workflow.yaml, or a workflow.md of later versions, with its
// variables filled in.
type Workflow struct {
	Name, Description string
	// File is relative to the project.
	File string
	// Path is the workflow's, as agents may write it.
	Path string
	// Instructions are those of the workflow, its variables filled in.
	Instructions string
	Template     string
	HasTemplate  bool
	// Config is the whole workflow.yaml, or the front matter of a workflow.md.
	Config map[string]any
	// Files are the other files that the workflow names and that exist.
	Files []File
	// Unresolved are the variables without a value, and the files, other than the
	// instructions, that could not be read and why.
	Unresolved []string
	// References are all the files that it names.
	References []Reference
	// Inputs are the documents there are of those that the workflow looks for, by the
	// name it has for them.
	Inputs   map[string][]string
	Findings []Finding

	vars   *workspace.Vars
	beside []string // files whose neighbours it names
}

// A File is a file that a workflow names and that was not loaded.
type File struct {
	// Key is where the workflow names it.
	Key  string `json:"key,omitempty"`
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// maxWorkflowText bounds the instructions, and the template, of a workflow. Twice
// that fits into a tool's result.
const maxWorkflowText = 256 << 10

// Workflow reads a workflow outside of any session, as execute_workflow would.
func (b *Bundle) Workflow(path string) (*Workflow, error) {
	ws, err := b.files()
	if err != nil {
		return nil, err
	}
	return b.workflow(ws, path, nil)
}

// workflow reads the workflow that path means in ws. The strings in input are the
// values of variables.
func (b *Bundle) workflow(ws *workspace.Workspace, name string, input map[string]any) (*Workflow, error) {
	loc, src, err := b.findWorkflow(ws, name)
	if err != nil {
		return nil, err
	}
	w := &Workflow{File: b.shown(loc), Path: b.projectPath(loc), Files: []File{}, Unresolved: []string{}}
	w.beside = []string{w.Path}
	r := &resolver{Workflow: w, bundle: b, ws: ws, loc: loc}
	body := ""
	if ext := extensionOf(loc.Name()); ext == ".yaml" || ext == ".yml" {
		r.root, w.Findings, err = ParseYAML(w.File, 1, []byte(src))
	} else {
		var matter, rest []byte
		matter, rest, r.bodyLine = markup.FrontMatter([]byte(src))
		r.root, w.Findings, err = ParseYAML(w.File, 2, matter)
		body = string(rest)
		if found, ok := err.(*Finding); ok { // the text below it is what matters
			found.Severity = Warning
			w.Findings, err = append(w.Findings, *found), nil
		}
	}
	if err != nil {
		return nil, err
	}
	sequence := laxyaml.Field(r.root, "workflow") // where version 4 has it all
	w.Name = cmp.Or(laxyaml.Scalar(laxyaml.Field(r.root, "name")), laxyaml.Scalar(laxyaml.Field(sequence, "name")), path.Base(path.Dir(loc.Name())))
	w.Description = cmp.Or(laxyaml.Scalar(laxyaml.Field(r.root, "description")), laxyaml.Prose(laxyaml.Field(sequence, "description")))
	if err := r.resolve(body, input); err != nil {
		return nil, fmt.Errorf("workflow %s: %w", w.Name, err)
	}
	return w, nil
}

// findWorkflow reads a workflow's file. A directory means the workflow in it.
func (b *Bundle) findWorkflow(ws *workspace.Workspace, name string) (loc workspace.Location, src string, err error) {
	var first error // of the name as it is
	name = strings.TrimSpace(name)
	skill, _ := strings.CutPrefix(name, "skill:")
	if at := b.SkillPath(skill); at != "" {
		name = at
	}
	name = b.herePath(name)
	candidates := []string{name}
	if !hasExtension(name) {
		dir := strings.TrimSuffix(name, "/")
		candidates = []string{dir + "/workflow.yaml", dir + "/workflow.md", dir + "/" + SkillFile}
	}
	if stem := strings.TrimSuffix(name, path.Ext(name)); hasExtension(name) && path.Base(stem) != "workflow" {
		// A workflow that has become a directory: correct-course.md.
		candidates = append(candidates, stem+"/workflow.yaml", stem+"/workflow.md")
	} else if hasExtension(name) {
		// One that was rewritten: workflow.yaml has become workflow.md, or a skill.
		candidates = append(candidates, stem+".yaml", stem+".md", path.Dir(name)+"/"+SkillFile)
	}
	for _, candidate := range candidates {
		if loc, err = ws.Resolve(candidate); err == nil {
			src, err = ws.ReadFile(loc)
		}
		if !errors.Is(err, workspace.ErrNotFound) {
			return loc, src, err
		}
		first = cmp.Or(first, err)
	}
	return loc, src, first
}

// A resolver fills in the variables of one workflow.
type resolver struct {
	*Workflow
	bundle   *Bundle
	ws       *workspace.Workspace
	loc      workspace.Location // of the workflow's file
	root     *yaml.Node
	bodyLine int

	values map[string]string // the workflow's own, not yet filled in
	config *workspace.Vars   // without the workflow's own
	given  *workspace.Vars   // those, and what the user has given
	size   int               // of what was filled in so far
	listed map[string]bool
}

// resolve reads all that belongs to the workflow. A body is that of a workflow.md
// and holds the instructions.
func (r *resolver) resolve(body string, input map[string]any) error {
	r.listed = make(map[string]bool)
	r.collectValues(input)
	if err := r.readConfig(body); err != nil {
		return err
	}
	r.chooseAlternatives()
	r.vars = r.config.With(r.values)
	r.given = r.config.With(textsIn(input))
	r.Config = make(map[string]any)
	for k, v := range laxyaml.Fields(r.root) {
		if k.Value == "web_bundle" {
			continue // how to pack it for somewhere else
		}
		value, err := r.value(k.Value, k.Value, v)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", r.File, k.Line, err)
		}
		r.Config[k.Value] = value
	}
	r.findInputs()
	if isSkillFile(path.Base(r.loc.Name())) {
		return r.readSkill(body)
	}
	if body != "" {
		r.readBody(body)
		return r.setInstructions(body)
	}
	if err := r.readInstructions(); err != nil {
		return err
	}
	return r.readTemplate()
}

// textsIn returns the values that are texts.
func textsIn(input map[string]any) map[string]string {
	texts := map[string]string{}
	for name, value := range input {
		if text, ok := value.(string); ok && text != "" {
			texts[name] = text
		}
	}
	return texts
}

// maxInputs bounds the documents that are listed for one input.
const maxInputs = 50

// findInputs looks for the documents that input_file_patterns names: sharded ones first,
// or else the whole one. That there are none is no mistake.
func (r *resolver) findInputs() {
	for name, patterns := range laxyaml.Fields(laxyaml.Field(r.root, "input_file_patterns")) {
		for _, kind := range []string{"sharded", "sharded_index", "whole"} {
			pattern := laxyaml.Scalar(laxyaml.Field(patterns, kind))
			if pattern == "" {
				continue
			}
			pattern = placeholders.ReplaceAllString(r.bundle.here(pattern), "*")
			found, err := r.ws.With(r.vars).Glob(pattern)
			if err != nil || len(found) == 0 {
				continue
			}
			if r.Inputs == nil {
				r.Inputs = make(map[string][]string)
			}
			for _, loc := range found[:min(len(found), maxInputs)] {
				r.Inputs[name.Value] = append(r.Inputs[name.Value], loc.String())
			}
			break
		}
	}
}

// placeholders are what a run fills in.
var placeholders = regexp.MustCompile(`\{\{[^}]*\}\}`)

// readInstructions reads what the key instructions names, or the file of that name
// beside the workflow.
func (r *resolver) readInstructions() error {
	named := r.values["instructions"]
	if strings.Contains(named, "\n") {
		return r.setInstructions(named)
	}
	if named == "" {
		for _, beside := range []string{"instructions.md", "instructions.xml"} {
			if text, err := r.read(beside); err == nil {
				return r.setInstructions(text)
			}
		}
		if laxyaml.Field(r.root, "workflow") == nil {
			r.miss("instructions: the workflow names none")
		}
		return nil
	}
	text, err := r.read(named)
	if err != nil {
		return fmt.Errorf("instructions: %w", err)
	}
	return r.setInstructions(text)
}

func (r *resolver) setInstructions(text string) (err error) {
	r.Instructions, _, err = r.vars.ExpandText(r.bundle.here(text), r.given)
	return err
}

// readTemplate reads the template where there is one. Its placeholders are those of the
// instructions, and stay in both: of {{name}}, only what the config says, and the
// user has given, is filled in.
func (r *resolver) readTemplate() error {
	n := laxyaml.Field(r.root, "template")
	named := r.values["template"]
	if n == nil || n.Tag == "!!bool" || named == "" || named == "none" {
		return nil
	}
	text, err := r.read(named)
	if err != nil {
		r.miss("template: " + err.Error())
		return nil
	}
	r.HasTemplate = true
	r.Template, _, err = r.vars.ExpandText(text, r.given)
	return err
}

// read reads a file that the workflow names, by default beside the workflow.
func (r *resolver) read(name string) (string, error) {
	ws := r.ws
	if r.vars != nil {
		ws = ws.With(r.vars)
	}
	loc, err := ws.ResolveFrom(r.loc, name)
	if err != nil {
		return "", err
	}
	text, err := ws.ReadText(loc, 0, maxWorkflowText)
	if err == nil && text.Truncated() {
		err = &workspace.Error{Op: "read", Path: loc.String(), Err: workspace.ErrTooLarge, Reason: fmt.Sprintf("a workflow's text has at most %d bytes", maxWorkflowText)}
	}
	return text.Content, err
}

// miss lists something that is not there, once.
func (r *resolver) miss(what string) {
	if !r.listed[what] {
		r.listed[what] = true
		r.Unresolved = append(r.Unresolved, what)
	}
}

// pathInText is a word that looks like the path of a file in a bundle.
var pathInText = regexp.MustCompile("(?:\\{[\\w-]+\\}|\\.{1,2})/[^\\s`'\"<>()\\[\\]|,;]+\\.[A-Za-z0-9]{1,8}\\b")

// readBody lists the files that the text of a workflow.md names.
func (r *resolver) readBody(body string) {
	line := r.bodyLine
	for text := range strings.Lines(body) {
		for _, found := range pathInText.FindAllString(text, -1) {
			ref := Reference{Path: found, Use: UseInput, File: r.File, Line: line}
			r.References = append(r.References, ref)
			r.list("", r.bundle.here(found))
		}
		line++
	}
}
