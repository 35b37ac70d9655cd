package lint

import (
	"cmp"
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// A reading is a file that agents follow, while it is being linted.
type reading struct {
	*linter
	at     viewpoint
	file   string
	caller string // the workflow whose instructions these are, or the file itself
	// asked are the elements in which the user was asked, or a condition checked,
	// before what is read now.
	asked map[*markup.Node]bool
}

// text lints a file that agents follow. The owner is the workflow whose
// instructions it is, empty if it is none.
func (l *linter) text(at viewpoint, file, owner string) {
	src := l.read(file)
	if src == "" {
		return
	}
	if isStep(file) {
		at = l.step(at, file, src)
	}
	unknown := make(map[string]bool)
	doc, err := markup.Parse([]byte(src), markup.Options{Known: func(name string) bool {
		known := markup.IsTaskTag(name)
		if !known && len(unknown) < maxUnknownTags {
			unknown[name] = true
		}
		return known
	}})
	if limit, ok := err.(*markup.LimitError); ok {
		l.wrong(CodeTooLarge, file, limit.Line, "%v", limit)
		return
	}
	l.tags(file, src, doc, unknown)
	r := reading{linter: l, at: at, file: file, caller: cmp.Or(owner, file), asked: make(map[*markup.Node]bool)}
	r.jumps(doc)
	end := len(src)
	if root := cmp.Or(doc.Root.Find("workflow"), doc.Root.Find("task")); root != nil && !root.Unclosed {
		end = root.End // examples may follow
	}
	for n := range doc.Root.Descendants() {
		switch {
		case n.Start >= end:
			return
		case n.Kind == markup.Text:
			r.passage(n)
		case n.Is("check") || n.Is("ask"):
			r.asked[n.Parent] = true
		case n.Is("invoke-workflow"):
			if name, ok := n.Attr("path"); ok {
				r.invoke(bundle.Reference{Path: name, Use: bundle.UseWorkflow, Key: "invoke-workflow", File: file, Line: n.Line}, n)
			}
		}
	}
}

var (
	// numberedStep is the name of a step's file, and not step-XX.md.
	numberedStep = regexp.MustCompile(`^step-(?:[a-z]-)?\d+[a-z]?\b`)
	// plainPath is a path that leaves out {project-root}.
	plainPath = regexp.MustCompile(`(?:^|\s)[._]?bmad/[\w./-]+\.[a-z]{2,4}\b`)
	// directs recognises a line that sends the agent to another file.
	directs = regexp.MustCompile(`(?i)\b(?:read|load|follow|execute)\b`)
)

// passage looks for paths in a text between tags. What is shown as an example, or
// to the user, is passed over.
func (r *reading) passage(n *markup.Node) {
	within := make(map[string]*markup.Node)
	for up := n.Parent; up != nil; up = up.Parent {
		within[strings.ToLower(up.Name)] = up
	}
	for _, name := range []string{"example", "format", "output", "note"} {
		if within[name] != nil {
			return
		}
	}
	for line, text := range unfenced(n.Raw(), n.Line) {
		for _, name := range bundle.PathsIn(text) {
			ref := bundle.Reference{Path: name, Use: bundle.UseInput, File: r.file, Line: line}
			if numberedStep.MatchString(path.Base(name)) && directs.MatchString(text) {
				ref.Use = useStep
			}
			r.mention(ref, within)
		}
		if within["invoke-task"] != nil {
			for _, name := range plainPath.FindAllString(text, -1) {
				r.mention(bundle.Reference{Path: strings.TrimSpace(name), File: r.file, Line: line}, within)
			}
		}
	}
}

// unfenced yields the lines of a text that are not in code fences, with their
// numbers from first on.
func unfenced(text string, first int) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		number, fenced := first-1, false
		for line := range strings.Lines(text) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			} else if !fenced && !yield(number, line) {
				return
			}
		}
	}
}

// mention judges a path in a text. Where the text says to carry it out, it must be
// there; elsewhere it may be an example.
func (r *reading) mention(ref bundle.Reference, within map[string]*markup.Node) {
	workflow, task := within["invoke-workflow"], within["invoke-task"]
	if _, ok := workflow.Attr("path"); ok {
		workflow = nil // what is in it is passed on
	}
	switch {
	case isPattern(ref.Path):
	case workflow != nil:
		ref.Use, ref.Key = bundle.UseWorkflow, "invoke-workflow"
		r.invoke(ref, workflow)
	case task != nil:
		ref.Use, ref.Key = useTask, "invoke-task"
		r.invoke(ref, task)
	case ref.Use == useStep:
		r.follow(r.at, ref)
	case within[keyCritical] != nil && ref.Path[0] == '{' && !wasLoaded.MatchString(within[keyCritical].Raw()):
		ref.Key = keyCritical
		r.follow(r.at, ref)
	case within[keyCritical] != nil && ref.Path[0] == '{':
		r.loadedBefore(ref)
	default:
		if loc, err := r.at.locate(ref.File, ref.Path); err == nil {
			r.named[r.at.in.Shown(loc)] = true
		}
	}
}

// keyCritical is the tag of what binds an agent in any case.
const keyCritical = "critical"

// wasLoaded recognises a condition: You MUST have already loaded and processed X.
var wasLoaded = regexp.MustCompile(`(?i)\balready\s+(?:been\s+)?(?:loaded|read)\b`)

// loadedBefore judges the name of a file that was loaded before this one was read. Whatever it
// is called there, it was loaded.
func (r *reading) loadedBefore(ref bundle.Reference) {
	loc, err := r.at.locate(ref.File, ref.Path)
	switch {
	case err == nil:
		r.named[r.at.in.Shown(loc)] = true
	case errors.Is(err, workspace.ErrNotFound) && !bundle.IsProvided(ref.Path) && !isInstalled(r.at.in, ref.Path):
		r.warn(dangling[ref.Use], ref.File, ref.Line, "%s: there is no %s; it stands for what was loaded before this text: correct the path", keyCritical, ref.Path)
	}
}

// isPattern says whether a path stands for others: it has wildcards, or something
// to be filled in.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[]<>") }

// invoke follows a reference to something that element n has carried out, and notes
// the call.
func (r *reading) invoke(ref bundle.Reference, n *markup.Node) {
	if name := r.at.expand(ref.Path); ref.Use == bundle.UseWorkflow && !bundle.HasExtension(name) {
		if !strings.Contains(name, "/") {
			return // a workflow by its name, or a variable of the run
		}
		for _, file := range []string{"workflow.md", "workflow.xml", "workflow.yaml"} {
			ref.Path = strings.TrimSuffix(name, "/") + "/" + file
			if _, err := r.at.locate(ref.File, ref.Path); err == nil {
				break
			}
		}
	}
	if to, ok := r.follow(r.at, ref); ok {
		r.addCall(r.caller, call{to: to, file: ref.File, line: ref.Line, conditional: r.isConditional(n)})
	}
}

// isConditional says whether an element is carried out only now and then.
func (r *reading) isConditional(n *markup.Node) bool {
	for ; n != nil; n = n.Parent {
		for _, name := range []string{"if", "optional", "for-each", "repeat"} {
			if _, ok := n.Attr(name); ok {
				return true
			}
		}
		if n.Is("check") || n.Is("if") || n.Is("ask") || r.asked[n.Parent] {
			return true
		}
	}
	return false
}
