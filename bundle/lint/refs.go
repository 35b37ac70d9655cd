package lint

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/workspace"
)

// A viewpoint is from where, and with which variables, a path is read.
type viewpoint struct {
	in    *bundle.Bundle
	files *workspace.Workspace
}

// with adds variables to those of a viewpoint.
func (v viewpoint) with(vars *workspace.Vars) viewpoint {
	return viewpoint{v.in, v.files.With(vars)}
}

// expand fills in the variables of a path, as far as that goes.
func (v viewpoint) expand(name string) string {
	text, _, err := v.files.Vars().Expand(v.in.Here(name))
	if err != nil || text == "" {
		return name
	}
	return text
}

// follow finds the file that a reference means and remembers that it is used. One
// that leads nowhere is a finding, unless only a run can tell.
func (l *linter) follow(from viewpoint, ref bundle.Reference) (file string, ok bool) {
	var at workspace.Location
	var failure error
	for alternative := range strings.SplitSeq(ref.Path, "||") {
		loc, err := from.locate(ref.File, strings.TrimSpace(alternative))
		if err == nil {
			file := from.in.Shown(loc)
			l.named[file] = true
			l.size(ref, file)
			return file, true
		}
		if failure == nil || errors.Is(failure, workspace.ErrNotFound) {
			at, failure = loc, err // what cannot be judged goes before what is missing
		}
	}
	if !ref.Optional {
		l.judge(from, ref, at, failure)
	}
	return "", false
}

// size compares a file that is read whole with what agents can be given at once.
func (l *linter) size(ref bundle.Reference, file string) {
	limit := int64(bundle.MaxWorkflowBytes)
	switch ref.Use {
	case bundle.UseCritical:
		limit = bundle.MaxCriticalBytes
	case bundle.UseTemplate:
	default:
		return
	}
	if size := l.homes[file].size; size > limit {
		l.wrong(CodeTooLarge, ref.File, ref.Line, "%s: %s has %d bytes, and at most %d can be loaded; split it", what(ref), ref.Path, size, limit)
	}
}

// locate finds the file that a name in another file means. The names of an
// installed tree are understood without {project-root}, too. Where there is no such
// file, the place where it should be is returned beside the error, if there is one.
func (v viewpoint) locate(file, name string) (workspace.Location, error) {
	name = v.in.HerePath(strings.ReplaceAll(name, "{project_root}", "{"+workspace.ProjectRoot+"}"))
	from, err := v.in.Location(v.files, file)
	if err != nil {
		return from, err
	}
	at, err := v.stat(v.files.ResolveFrom(from, name))
	if !errors.Is(err, workspace.ErrNotFound) || name == "" || name[0] == '{' {
		return at, err
	}
	for _, near := range bundle.Relatives(v.in.ProjectPath(from), name) {
		if other, err := v.stat(v.files.Resolve(near)); err == nil {
			return other, nil
		}
	}
	for _, root := range []string{workspace.BundleRoot, workspace.ProjectRoot} {
		if other, err := v.stat(v.files.Resolve(v.in.Here("{" + root + "}/" + name))); err == nil {
			return other, nil
		}
	}
	return at, err
}

// stat passes on a location that there is a file at.
func (v viewpoint) stat(loc workspace.Location, err error) (workspace.Location, error) {
	if err == nil {
		_, err = v.files.Stat(loc)
	}
	return loc, err
}

// judge says what is wrong with a reference that could not be followed to a place.
func (l *linter) judge(from viewpoint, ref bundle.Reference, at workspace.Location, err error) {
	b := from.in
	if bundle.IsProvided(ref.Path) {
		return
	}
	if unknown, ok := errors.AsType[*workspace.UnknownVariable](err); ok {
		l.unknownVariable(b, ref, unknown.Name)
		return
	}
	if cycle, ok := errors.AsType[*workspace.Cycle](err); ok {
		l.wrong(CodeVariableCycle, ref.File, ref.Line, "%s: %v; give one of them a value of its own", what(ref), cycle)
		return
	}
	severity := bundle.Error
	if isTolerated(ref) {
		severity = bundle.Warning
	}
	switch {
	case isInstalled(b, ref.Path):
		l.notInstalled(b, ref)
	case errors.Is(err, workspace.ErrDenied):
		l.outside(ref, at)
	case errors.Is(err, workspace.ErrNotFound) && l.usedInstead(from, ref) != "":
		l.warn(dangling[ref.Use], ref.File, ref.Line, "%s: there is no %s; %s is used instead: correct the path", what(ref), ref.Path, l.usedInstead(from, ref))
	case errors.Is(err, workspace.ErrNotFound) && l.isUnread(ref):
		l.warn(dangling[ref.Use], ref.File, ref.Line, "%s: there is no %s, and no text here asks for {%s}; remove the line, or %s", what(ref), ref.Path, lastKey(ref), l.advice(ref))
	case errors.Is(err, workspace.ErrNotFound):
		l.report(severity, dangling[ref.Use], ref.File, ref.Line, "%s: there is no %s; %s", what(ref), ref.Path, l.advice(ref))
	default:
		l.report(severity, dangling[ref.Use], ref.File, ref.Line, "%s: %v", what(ref), err)
	}
}

// usedInstead returns the workflow or step that is found in spite of a path, empty if none
// is.
func (l *linter) usedInstead(from viewpoint, ref bundle.Reference) string {
	if at, err := from.in.Location(from.files, ref.File); err == nil {
		if found := bundle.FoundInstead(from.files, from.in.ProjectPath(at), from.in.HerePath(from.expand(ref.Path))); found != "" {
			if loc, err := from.files.Resolve(found); err == nil {
				return from.in.Shown(loc)
			}
		}
	}
	if ref.Use != bundle.UseWorkflow && ref.Use != bundle.UseValidate {
		return ""
	}
	w, err := from.in.Workflow(ref.Path)
	if err != nil {
		return ""
	}
	return w.File
}

// isUnread says whether a file stands under a key of a workflow or of a step whose texts do
// not make use of it: nothing goes wrong where it is missing. Steps are led on by theirs in
// any case.
func (l *linter) isUnread(ref bundle.Reference) bool {
	key := lastKey(ref)
	switch {
	case ref.Use == useChecklist && l.validated[ref.File], ref.Use != useChecklist && ref.Use != bundle.UseInput:
		return false
	case !identifier.MatchString(key), key == keyCritical, leadsOn.MatchString(key):
		return false
	}
	texts := []string{ref.File}
	if !isStep(ref.File) {
		texts = l.below(path.Dir(ref.File))
	}
	use := regexp.MustCompile(`(?m)^(.*[^\w.-])?` + regexp.QuoteMeta(key) + `([^\w:-]|:[^\s]|$)`)
	if key == strings.ToLower(key) && !strings.Contains(key, "_") { // a word like any other
		use = regexp.MustCompile(`\{` + regexp.QuoteMeta(key) + `\}`)
	}
	return !slices.ContainsFunc(texts, func(file string) bool { return isText(file) && use.MatchString(l.read(file)) })
}

// leadsOn is the key of a step's front matter under which there is another step.
var leadsOn = regexp.MustCompile(`(?i)step`)

// lastKey returns the key of a reference without those that it is below.
func lastKey(ref bundle.Reference) string { return ref.Key[strings.LastIndexByte(ref.Key, '.')+1:] }

// isTolerated says whether a workflow can do without the file.
func isTolerated(r bundle.Reference) bool {
	return strings.HasPrefix(r.Key, "recommended") || r.Key == "config_source" || r.Key == "main_config"
}

// unknownVariable judges a variable in a path. What agents follow must be known
// beforehand; other names may come about in a run, or be filled in by an installer.
func (l *linter) unknownVariable(b *bundle.Bundle, ref bundle.Reference, name string) {
	if strings.Contains(ref.Path, "{{") || l.known[b][name] {
		return
	}
	severity := bundle.Error
	switch ref.Use {
	case bundle.UseInput, bundle.UseData, bundle.UseConfig, useStep, useTask, useChecklist:
		return
	}
	if b.Layout == bundle.LayoutSource || ref.Key == "invoke-workflow" {
		severity = bundle.Warning
	}
	l.report(severity, CodeVariable, ref.File, ref.Line, "%s: nothing gives {%s} a value; set it in config.yaml, or correct the name", what(ref), name)
}

// isInstalled says whether a source tree lacks a file because an installer makes it
// or puts it there, as it does with what agents remember.
func isInstalled(b *bundle.Bundle, name string) bool {
	return b.IsGenerated(name) || b.Layout == bundle.LayoutSource && (strings.Contains(name, "/_memory/") || strings.Contains(name, "-sidecar/"))
}

// what names the use of a reference for people.
func what(r bundle.Reference) string {
	switch {
	case r.Key == "":
		return string(r.Use)
	case r.Use == bundle.UseInput || strings.HasSuffix(r.Key, string(r.Use)):
		return r.Key
	}
	return r.Key + " (" + string(r.Use) + ")"
}

// notInstalled notes once per bundle that it lacks what its installer would make.
func (l *linter) notInstalled(b *bundle.Bundle, ref bundle.Reference) {
	for _, f := range l.found {
		if f.Code == CodeNotInstalled && f.File == b.Dir {
			return
		}
	}
	l.warn(CodeNotInstalled, b.Dir, 1, "these are sources: an installer makes %s and the like; install them before agents rely on it", ref.Path)
}

// outside judges a path that agents may not read. What they are given to read may
// be anywhere, for it can be granted; what they follow belongs into the bundle.
func (l *linter) outside(ref bundle.Reference, at workspace.Location) {
	switch ref.Use {
	case bundle.UseData, bundle.UseConfig, bundle.UseInput, useChecklist:
		return
	}
	if at.Root() == "" {
		l.wrong(CodeOutside, ref.File, ref.Line, "%s: agents can never read %s; begin with {bundle-root} or {core-root}", what(ref), ref.Path)
		return
	}
	l.warn(CodeOutside, ref.File, ref.Line, "%s: %s lies outside of the bundle, where agents read only what the operator grants; move it into the bundle", what(ref), ref.Path)
}

// advice says what to do about a missing file: name the one that was meant, if
// there is one of the same name, in a directory of the same name if there are many.
func (l *linter) advice(ref bundle.Reference) string {
	dir, base := path.Split(ref.Path)
	stem := stemOf(base)
	in := func(parent string, files []string) (found []string) {
		for _, file := range files {
			if path.Base(path.Dir(file)) == parent {
				found = append(found, file)
			}
		}
		return found
	}
	like := in(path.Base(dir), l.bases[base])
	if ref.Use == bundle.UseWorkflow && len(like) == 0 {
		like = in(stem, l.bases["workflow.yaml"])
	}
	if len(like) == 0 && !slices.Contains([]string{"workflow", "instructions", "template", "checklist", "config"}, stem) {
		like = l.bases[base]
	}
	if len(like) == 1 {
		return "did you mean " + like[0] + "?"
	}
	return "create it, or correct the path"
}

// variables lists what a bundle's config files set, and what its installer asks for.
func (l *linter) variables(b *bundle.Bundle) map[string]bool {
	known := make(map[string]bool)
	for _, name := range []string{"user_name", "communication_language", "document_output_language", "output_folder", "project_name", "date", "now", "timestamp"} {
		known[name] = true // every installation has these
	}
	dirs := []string{b.Dir}
	if core := b.CoreDir(); core != "" {
		dirs = append(dirs, core)
	}
	for _, dir := range dirs {
		for _, name := range []string{
			"config.yaml", "core-config.yaml", "module.yaml", "_module-installer/install-menu-config.yaml", "_module-installer/install-config.yaml",
		} {
			file := path.Join(dir, name)
			root, notes, err := bundle.ParseYAML(file, 1, []byte(l.read(file)))
			l.found = append(l.found, notes...)
			if err != nil {
				l.found = append(l.found, bundle.AsFinding(err, file))
			}
			for k := range laxyaml.Fields(root) {
				known[k.Value] = true
			}
		}
	}
	return known
}
