package rehearse

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe/bundle"
)

// A library is all the files that an agent's commands name, directly or by way of
// their workflows.
type library struct {
	definition *bundle.Definition
	project    string
	files      []string
	workflows  map[string]*bundle.Workflow // by their files
}

func readLibrary(d *bundle.Definition, project string) library {
	l := library{definition: d, project: project, workflows: map[string]*bundle.Workflow{}}
	for _, ref := range d.References() {
		file, err := d.Parent().Locate(ref)
		if err != nil {
			continue // lint tells of those
		}
		l.add(file)
		if ref.Use != bundle.UseWorkflow && ref.Use != bundle.UseValidate && ref.Use != bundle.UseExec {
			continue
		}
		if w, err := d.Parent().Workflow(ref.Path); err == nil {
			l.workflows[file] = w
			for _, inner := range append(l.loaded(w), l.rest(w)...) {
				l.add(inner)
			}
		}
	}
	return l
}

func (l *library) add(file string) {
	if !slices.Contains(l.files, file) {
		l.files = append(l.files, file)
	}
}

// loaded lists the files that execute_workflow loads together with a workflow, and
// rest the others that it names.
func (l *library) loaded(w *bundle.Workflow) []string {
	var files []string
	for _, key := range []string{"config_source", "instructions", "template"} {
		if path, ok := w.Config[key].(string); ok && path != "" {
			files = l.append(files, w, path)
		}
	}
	return files
}

func (l *library) rest(w *bundle.Workflow) []string {
	var files []string
	for _, f := range w.Files {
		files = l.append(files, w, f.Path)
	}
	return files
}

// append adds the file that a path in a workflow means, if it means one.
func (l *library) append(files []string, w *bundle.Workflow, path string) []string {
	file, err := l.definition.Parent().Locate(bundle.Reference{Path: path, File: w.File})
	if err != nil || slices.Contains(files, file) {
		return files
	}
	return append(files, file)
}

// find returns the file that a path means, if it means one.
func (l *library) find(path string) (string, bool) {
	file, err := l.definition.Parent().Locate(bundle.Reference{Path: path, File: l.definition.File})
	return file, err == nil
}

// located returns the file that a path means, or the path where it means none.
func (l *library) located(path string) string {
	if file, ok := l.find(path); ok {
		return file
	}
	return path
}

// isFile says whether there is a file of that name in the project.
func (l *library) isFile(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	info, err := os.Stat(filepath.Join(l.project, filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// ofWorkflow lists the files that execute_workflow loads at once.
func (l *library) ofWorkflow(path string) []string {
	file := l.located(path)
	files := []string{file}
	w := l.workflows[file]
	if w == nil {
		var err error
		if w, err = l.definition.Parent().Workflow(path); err != nil {
			return files
		}
		l.workflows[file] = w
	}
	return append(files, l.loaded(w)...)
}

// unreached lists the files of a command's workflow that were not read.
func (l *library) unreached(c bundle.Command, read []string) []string {
	w := l.workflows[l.located(c.Target)]
	if w == nil {
		return nil
	}
	return slices.DeleteFunc(l.rest(w), func(file string) bool { return slices.Contains(read, file) })
}

// bytesPerToken is a rule of thumb, the one that agents' prompts are counted with.
const bytesPerToken = 4

// tokens is what all the files would take together.
func (l *library) tokens() int {
	var bytes int64
	for _, file := range l.files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(l.project, filepath.FromSlash(file))
		}
		if info, err := os.Stat(file); err == nil {
			bytes += info.Size()
		}
	}
	return int(bytes / bytesPerToken)
}
