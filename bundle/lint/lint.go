package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
)

// Options say what [Run] may take for granted.
type Options struct {
	bundle.Config
	// Tools are the names of the tools that agents have. Without any, the tools
	// that skills ask for are not checked.
	Tools []string
}

// A Report is what there is below a directory, and what is wrong with it.
type Report struct {
	Agents    int `json:"agents"`
	Workflows int `json:"workflows"`
	Tasks     int `json:"tasks"`
	Skills    int `json:"skills"`
	// Findings are in order of file and line. Files are relative to what was linted.
	Findings []bundle.Finding `json:"findings"`
}

// Errors counts the findings that are errors.
func (r *Report) Errors() int {
	count := 0
	for _, f := range r.Findings {
		if f.Severity == bundle.Error {
			count++
		}
	}
	return count
}

func (r *Report) isEmpty() bool { return r.Agents+r.Workflows+r.Tasks+r.Skills+len(r.Findings) == 0 }

// Run reads everything below a directory, or a single file, and reports what
// would not work and what looks like a mistake. A part of a project is judged as
// such: what it refers to elsewhere in the project is found.
//
// An error is certain: what is reported so leads nowhere when it is used. What may
// be meant as it is, is a warning. What only a run can know, such as files that a
// workflow writes or that users bring, is not judged.
func Run(name string, o Options) (*Report, error) {
	target, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("lint %s: %w", name, err)
	}
	info, err := os.Stat(target)
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = onPath.Err
	}
	if err != nil {
		return nil, fmt.Errorf("lint %s: %w", name, err)
	}
	dir := target
	if !info.IsDir() {
		dir = filepath.Dir(target)
	}
	around := projectAround(dir)
	report, err := lintProjects(around, target, o)
	if err == nil && report.isEmpty() && around != dir {
		report, err = lintProjects(dir, target, o) // it is no part of what is around it
	}
	if err != nil {
		return nil, fmt.Errorf("lint %s: %w", name, err)
	}
	if report.isEmpty() {
		report.Findings = append(report.Findings, bundle.Finding{
			Severity: bundle.Warning, Code: CodeNothing, File: ".", Line: 1,
			Message: "there is no agent, workflow, task or skill here; is this the directory you meant?",
		})
	}
	slices.SortStableFunc(report.Findings, func(a, b bundle.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	report.Findings = slices.Compact(report.Findings)
	return report, nil
}

// lintProjects lints a project and those inside it.
func lintProjects(dir, target string, o Options) (*Report, error) {
	report := &Report{Findings: []bundle.Finding{}}
	for projects := []string{dir}; len(projects) > 0; {
		nested, err := report.project(projects[0], target, o)
		if err != nil {
			return nil, err
		}
		projects = append(projects[1:], nested...)
	}
	return report, nil
}

// project lints a project and reports on as much of it as lies at or below target.
// The projects that it has inside are left out and returned.
func (r *Report) project(dir, target string, o Options) (nested []string, err error) {
	o.Shallow = true // each project inside is linted by itself
	catalog, err := bundle.Find(dir, o.Config)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, catalog.Close()) }()
	l, err := newLinter(catalog, o.Tools)
	if err != nil {
		return nil, err
	}
	defer l.close()
	l.everything()

	within := func(file string) (string, bool) {
		rel, err := filepath.Rel(target, filepath.Join(catalog.Project(), filepath.FromSlash(file)))
		if err != nil {
			return "", false
		}
		if _, isFile := l.homes[file]; isFile && rel == "." {
			rel = path.Base(file)
		}
		return filepath.ToSlash(rel), filepath.IsLocal(rel) || target == catalog.Project()
	}
	count := func(files []string) (n int) {
		for _, file := range files {
			if _, ok := within(file); ok {
				n++
			}
		}
		return n
	}
	r.Agents += count(l.agents)
	r.Workflows += count(l.workflows)
	r.Tasks += count(l.tasks)
	r.Skills += count(l.skills)
	for _, f := range l.found {
		var ok bool
		if f.File, ok = within(f.File); ok {
			r.Findings = append(r.Findings, f)
		}
	}
	return l.nested, nil
}

// landmarks are what a project has that consists of more than one bundle.
var landmarks = []string{
	"bmad/custom/bundles", "bmad/core/agents", "bmad/core/tasks", "bmad/core/workflows",
	"_bmad/core/agents", "_bmad/core/tasks", "_bmad/core/workflows", ".bmad/core/agents", ".bmad/core/tasks", ".bmad/core/workflows",
	"src/modules", "src/core/agents", "src/core/tasks", "src/core-skills",
	"bmad-core/agents", ".bmad-core/agents", "expansion-packs",
}

// hasLandmark says whether dir is a project of which rel could be a part.
func hasLandmark(dir, rel string) bool {
	return slices.ContainsFunc(landmarks, func(mark string) bool {
		first, _, _ := strings.Cut(mark, "/")
		if rel != "." && rel != first && !strings.HasPrefix(rel, first+"/") {
			return false
		}
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(mark)))
		return err == nil
	})
}

// projectAround returns the nearest directory at or above dir that dir may be a
// part of; dir itself if there is none.
func projectAround(dir string) string {
	const highest = 12
	above := dir
	for range highest {
		if rel, err := filepath.Rel(above, dir); err == nil && hasLandmark(above, filepath.ToSlash(rel)) {
			return above
		}
		above = filepath.Dir(above)
	}
	return dir
}

// everything lints all that the project has. The order matters: what agents have
// carried out is read after them, and whether a file is used is known at the end.
func (l *linter) everything() {
	l.found = append(l.found, l.catalog.Findings()...)
	for _, f := range l.catalog.Findings() {
		l.named[f.File] = l.named[f.File] || f.Code == bundle.CodeNoAgent || f.Code == bundle.CodeShadowed
	}
	var views []viewpoint
	for _, b := range l.catalog.Bundles() {
		ws, err := b.Files()
		if err != nil {
			l.wrong(bundle.CodeUnreadable, b.Dir, 1, "%v", err)
			continue
		}
		views = append(views, viewpoint{b, ws})
		l.known[b] = l.variables(b)
	}
	for _, view := range views {
		l.bundleAgents(view)
	}
	for _, view := range views {
		l.bundleWorkflows(view)
	}
	for file := range l.homes {
		if isTask(file) && (l.owner(file) != nil || strings.HasPrefix(file, "common/")) {
			l.tasks = append(l.tasks, file)
		}
	}
	l.sameAgents()
	l.projectFiles()
	l.allSkills()
	l.cycles()
	for _, view := range views {
		l.unreached(view.in)
	}
}
