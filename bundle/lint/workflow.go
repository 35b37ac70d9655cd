package lint

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// bundleWorkflows lints the workflows, tasks and steps of a bundle.
func (l *linter) bundleWorkflows(from viewpoint) {
	b := from.in
	paths, err := b.WorkflowFiles()
	if err != nil {
		l.wrong(bundle.CodeUnreadable, b.Dir, 1, "%v", err)
		return
	}
	views := make(map[string]viewpoint) // by the directory of the workflow
	owners := make(map[string]string)   // workflows, by their instructions
	skipped := make(map[string]bool)
	for _, name := range paths {
		file := path.Join(b.Dir, strings.TrimPrefix(name, "{"+workspace.BundleRoot+"}/"))
		if l.owner(file) != b {
			continue // of a bundle inside this one, which knows better
		}
		l.workflows = append(l.workflows, file)
		l.executed[file] = true
		if l.isModel(from, file) {
			skipped[path.Dir(file)] = true
			continue
		}
		if w := l.workflow(from, name, file, owners); w != nil {
			views[path.Dir(file)] = from.with(w.Vars())
		}
	}
	for _, file := range l.below(b.Dir) {
		if b.Layout == bundle.LayoutV4 || b.Layout == bundle.LayoutSkill || skipped[path.Dir(file)] || !isMarkup(file) || l.owner(file) != b {
			continue
		}
		if strings.Contains(file, "/reference/") || strings.Contains(file, "/docs/") && strings.Contains(file, "/templates/") {
			continue // an example
		}
		if !isFollowed(file) && !l.executed[file] && owners[file] == "" {
			continue
		}
		at := from
		for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if view, ok := views[dir]; ok {
				at = view
				break
			}
		}
		l.text(at, file, owners[file])
	}
}

// isTask says whether a file is one of those in a tasks directory.
func isTask(file string) bool {
	return path.Base(path.Dir(file)) == "tasks" && isMarkup(file) && !strings.EqualFold(path.Base(file), "README.md")
}

// isFollowed says whether a file holds what agents follow: tasks, instructions and
// steps.
func isFollowed(file string) bool {
	base := path.Base(file)
	return isTask(file) || isStep(file) || strings.HasPrefix(base, "instructions") || strings.Contains(base, "-instructions.") ||
		strings.HasPrefix(base, "workflow.")
}

func isMarkup(file string) bool { return path.Ext(file) == ".md" || path.Ext(file) == ".xml" }

func isStep(file string) bool {
	return path.Ext(file) == ".md" && strings.Contains(path.Base(path.Dir(file)), "steps")
}

// isModel says whether a workflow is one to be copied and filled in: where it will
// be installed is a placeholder.
func (l *linter) isModel(from viewpoint, file string) bool {
	root, _, err := bundle.ParseYAML(file, 1, []byte(l.read(file)))
	if err != nil || isMarkup(file) {
		return false
	}
	_, unresolved, err := from.files.Vars().Expand(from.in.Here(laxyaml.Scalar(laxyaml.Field(root, "installed_path"))))
	return err == nil && len(unresolved) > 0
}

// workflow lints one workflow.yaml or workflow.md.
func (l *linter) workflow(from viewpoint, name, file string, owners map[string]string) *bundle.Workflow {
	w, err := from.in.Workflow(name)
	if err != nil {
		l.brokenWorkflow(from, file, err)
		return nil
	}
	l.found = append(l.found, w.Findings...)
	at := from.with(w.Vars())
	for _, ref := range w.References {
		if ref.Key == "" || strings.Contains(ref.Key, "output") {
			continue // in the text, or written by the workflow
		}
		if ref = asJudged(ref); ref.Use == bundle.UseInput && !strings.HasPrefix(at.expand(ref.Path), "{") {
			continue // a name that users know the meaning of
		}
		if found, ok := l.follow(at, ref); ok && ref.Use == bundle.UseInstruct {
			owners[found] = file
		}
	}
	l.instructionsBeside(from.in, w, owners)
	l.unresolved(from.in, file, w.Unresolved)
	return w
}

// instructionsBeside finds the instructions of a workflow that does not name them.
func (l *linter) instructionsBeside(b *bundle.Bundle, w *bundle.Workflow, owners map[string]string) {
	isNamed := slices.ContainsFunc(w.References, func(ref bundle.Reference) bool { return ref.Use == bundle.UseInstruct })
	if isNamed || isMarkup(w.File) || b.Layout == bundle.LayoutV4 {
		return
	}
	for _, name := range []string{"instructions.md", "instructions.xml"} {
		beside := path.Join(path.Dir(w.File), name)
		if _, exists := l.homes[beside]; exists {
			l.named[beside] = true
			owners[beside] = w.File
			return
		}
	}
	if w.Instructions == "" {
		l.warn(dangling[bundle.UseInstruct], w.File, 1, "the workflow has no instructions; name them under instructions")
	}
}

// asJudged returns a workflow's reference as a linter sees it: everything in the
// installation must be there, whatever the key that names it.
func asJudged(ref bundle.Reference) bundle.Reference {
	ref.Optional = false
	if ref.Key == "validation" || strings.Contains(ref.Key, "checklist") {
		ref.Use = useChecklist
	}
	return ref
}

// brokenWorkflow explains why a workflow cannot be run.
func (l *linter) brokenWorkflow(from viewpoint, file string, err error) {
	if found, ok := errors.AsType[*bundle.Finding](err); ok {
		if found.File == file { // else it is the config's, which has been read
			l.found = append(l.found, *found)
		}
		return
	}
	root, _, _ := bundle.ParseYAML(file, 1, []byte(l.read(file)))
	if cycle, ok := errors.AsType[*workspace.Cycle](err); ok {
		line := 1
		for k := range laxyaml.Fields(root) {
			if slices.Contains(cycle.Names, k.Value) {
				line = k.Line
				break
			}
		}
		l.wrong(CodeVariableCycle, file, line, "%v; give one of them a value of its own", cycle)
		return
	}
	n := laxyaml.Field(root, "instructions")
	if n == nil {
		l.wrong(bundle.CodeUnreadable, file, 1, "%v", err)
		return
	}
	if code := tooLarge(err); code != "" {
		l.wrong(code, file, n.Line, "%v", err)
		return
	}
	l.judge(from, bundle.Reference{Path: n.Value, Use: bundle.UseInstruct, Key: "instructions", File: file, Line: n.Line}, workspace.Location{}, err)
}

// identifier is what the name of a variable looks like.
var identifier = regexp.MustCompile(`^[A-Za-z][\w.-]*$`)

// unresolved reports the variables of a workflow that have no value.
func (l *linter) unresolved(b *bundle.Bundle, file string, names []string) {
	var root *yaml.Node
	for _, name := range names {
		if !identifier.MatchString(name) || l.known[b][name] {
			continue
		}
		if root == nil {
			src, line := []byte(l.read(file)), 1
			if path.Ext(file) == ".md" {
				src, _, _ = markup.FrontMatter(src)
				line = 2
			}
			root, _, _ = bundle.ParseYAML(file, line, src)
		}
		l.warn(CodeVariable, file, lineOf(root, name), "nothing gives %s a value: agents will ask the user for it; set it in config.yaml or under variables", name)
	}
}

// lineOf returns the line of the first value that refers to a variable.
func lineOf(n *yaml.Node, name string) int {
	if n == nil {
		return 1
	}
	if n.Kind == yaml.ScalarNode && (strings.Contains(n.Value, "{"+name+"}") || strings.HasSuffix(n.Value, "}:"+name)) {
		return n.Line
	}
	for _, child := range n.Content {
		if line := lineOf(child, name); line > 1 {
			return line
		}
	}
	return 1
}

// step lints what stands above a step: the files it names, the next step among
// them. It returns a viewpoint with the variables set there.
func (l *linter) step(at viewpoint, file, src string) viewpoint {
	matter, _, _ := markup.FrontMatter([]byte(src))
	root, notes, err := bundle.ParseYAML(file, 2, matter)
	if err != nil {
		l.found = append(l.found, bundle.AsFinding(err, file))
		return at
	}
	l.found = append(l.found, notes...)
	if loc, err := at.in.Location(at.files, file); err == nil {
		values := bundle.StepValues(at.files, at.in.ProjectPath(loc), src)
		for name, value := range values {
			values[name] = at.in.Here(value)
		}
		at = at.with(at.files.Vars().With(values))
	}
	for k, v := range laxyaml.Fields(root) {
		name := laxyaml.Scalar(v)
		if !bundle.IsPath(name) || isPattern(name) || strings.Contains(strings.ToLower(k.Value), "output") || !strings.ContainsAny(at.expand(name)[:1], "{.") {
			continue
		}
		ref := bundle.Reference{Path: name, Use: bundle.UseInput, Key: k.Value, File: file, Line: v.Line}
		if strings.HasPrefix(path.Base(name), "step-") {
			ref.Use = useStep
		}
		if to, ok := l.follow(at, ref); ok && k.Value == "nextStepFile" {
			l.addCall(file, call{to: to, line: v.Line, conditional: true})
		}
	}
	return at
}
