package lint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/workspace"
)

// What a linter looks at. Real projects stay far below.
const (
	maxLintFiles = 50_000
	maxLintBytes = 64 << 20 // of text, in all
	maxLintDepth = 24
)

// A linter goes through one project. Files are named relative to it.
type linter struct {
	catalog *bundle.Catalog
	tools   []string
	trees   []*workspace.Workspace // the project, and bundles elsewhere
	homes   map[string]home
	texts   map[string]string
	bytes   int
	nested  []string // projects inside this one, on the host

	agents, workflows, tasks, skills []string
	found                            []bundle.Finding

	bases map[string][]string // all files, by the last element of their names
	known map[*bundle.Bundle]map[string]bool
	named map[string]bool // what references lead to
	// executed are the files that commands have carried out.
	executed map[string]bool
	// validated are the workflows whose checklists commands work through.
	validated map[string]bool
	calls     map[string][]call

	mentions map[string][]string // see readMentions; nil until needed
}

// A home is where a file is opened.
type home struct {
	files *workspace.Workspace
	name  string
	size  int64
}

func newLinter(c *bundle.Catalog, tools []string) (*linter, error) {
	l := &linter{
		catalog: c, tools: tools,
		homes: make(map[string]home), texts: make(map[string]string), bases: make(map[string][]string),
		known: make(map[*bundle.Bundle]map[string]bool), named: make(map[string]bool), executed: make(map[string]bool), validated: make(map[string]bool), calls: make(map[string][]call),
	}
	dirs := map[string]string{".": c.Project()}
	for _, b := range c.Bundles() {
		if b.IsElsewhere() {
			dirs[b.Dir] = b.Path()
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(dirs)) {
		// Under the name of a bundle root, so that .bmad-core is no secret.
		root := workspace.Root{Name: workspace.BundleRoot, Dir: dirs[prefix], Access: workspace.ReadOnly}
		ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{root}})
		if err != nil {
			l.close()
			return nil, err
		}
		l.trees = append(l.trees, ws)
		l.walk(ws, dirs[prefix], prefix, ".", maxLintDepth)
	}
	for _, file := range slices.Sorted(maps.Keys(l.homes)) {
		l.bases[path.Base(file)] = append(l.bases[path.Base(file)], file)
	}
	return l, nil
}

func (l *linter) close() {
	for _, ws := range l.trees {
		_ = ws.Close() // read handles: there is nothing to lose
	}
}

// walk lists what is in a directory and below. Links are left out, and so are
// other projects.
func (l *linter) walk(ws *workspace.Workspace, host, prefix, dir string, depth int) {
	loc, err := ws.Resolve("{" + workspace.BundleRoot + "}/" + dir)
	if err != nil {
		return // a name with braces, which no path can mean
	}
	list, err := ws.List(loc, 1)
	if err != nil {
		l.warn(bundle.CodeUnreadable, path.Join(prefix, dir), 1, "%v", err)
		return
	}
	if list.Truncated || depth == 0 || len(l.homes) > maxLintFiles {
		l.warn(CodeTooMuch, path.Join(prefix, dir), 1, "there are more files here than are looked at; lint a part of the project")
		return
	}
	for _, e := range list.Entries {
		name := path.Join(dir, e.Path)
		below := filepath.Join(host, e.Path)
		switch {
		case e.IsLink:
		case !e.IsDir:
			l.homes[path.Join(prefix, name)] = home{ws, name, e.Size}
		case isSkipped(e.Path) || dir != "." && strings.HasPrefix(path.Base(dir), ".") && e.Path != "skills" && !strings.HasPrefix(path.Base(dir), ".bmad"):
		case hasLandmark(below, "."):
			l.nested = append(l.nested, below)
		default:
			l.walk(ws, below, prefix, name, depth-1)
		}
	}
}

// isSkipped says whether a directory of this name holds what programs have made,
// or what is wrong on purpose.
func isSkipped(name string) bool {
	switch name {
	case "node_modules", "vendor", "agent-outputs", "__pycache__", "testdata", "fixtures":
		return true
	}
	isOurs := strings.HasPrefix(name, ".bmad") || name == ".claude" || name == ".agents"
	return strings.HasPrefix(name, ".") && !isOurs
}

// below lists the files in a directory and below it, in order.
func (l *linter) below(dir string) []string {
	var files []string
	for file := range l.homes {
		if dir == "." || strings.HasPrefix(file, dir+"/") {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}

// read returns the text of a file, empty if it cannot be read or is no text. The
// first time, the reason is a finding.
func (l *linter) read(file string) string {
	text, done := l.texts[file]
	if done {
		return text
	}
	at, ok := l.homes[file]
	if !ok || l.bytes > maxLintBytes {
		return ""
	}
	loc, err := at.files.Resolve("{" + workspace.BundleRoot + "}/" + at.name)
	var content workspace.Text
	if err == nil {
		content, err = at.files.ReadText(loc, 0, 0)
	}
	switch {
	case err != nil:
		l.wrong(cmp.Or(tooLarge(err), bundle.CodeUnreadable), file, 1, "%v", err)
	case content.Truncated():
		l.wrong(CodeTooLarge, file, 1, "the file has %d bytes; agents are shown %d at a time: split it", content.Size, content.Next)
	case !content.Binary:
		text = content.Content
	}
	if l.bytes += len(text); l.bytes > maxLintBytes {
		l.warn(CodeTooMuch, file, 1, "there is more text than is looked at, from this file on; lint a part of the project")
	}
	l.texts[file] = text
	return text
}

func tooLarge(err error) string {
	if errors.Is(err, workspace.ErrTooLarge) {
		return CodeTooLarge
	}
	return ""
}

func (l *linter) report(severity bundle.Severity, code, file string, line int, format string, args ...any) {
	l.found = append(l.found, bundle.Finding{
		Severity: severity, Code: code, File: file, Line: max(line, 1), Message: fmt.Sprintf(format, args...),
	})
}

func (l *linter) warn(code, file string, line int, format string, args ...any) {
	l.report(bundle.Warning, code, file, line, format, args...)
}

func (l *linter) wrong(code, file string, line int, format string, args ...any) {
	l.report(bundle.Error, code, file, line, format, args...)
}
