package bundle

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// maxTrail is how many of the files that were read last are remembered.
const maxTrail = 32

// find returns the path that a name means to somebody who reads: as it is, or relative
// to the files that were read before, the last one first.
func (x *session) find(name string) string {
	name = strings.TrimSpace(name)
	ws := x.workspace()
	isRelative := strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
	isRooted := name != "" && name[0] == '{'
	if name == "" || name[0] == '/' || isRooted && !isStepName(name) && otherWorkflow(name) == "" {
		return name
	}
	if !isRelative && isThere(ws, name) {
		return name
	}
	x.mu.Lock()
	trail := slices.Clone(x.trail)
	x.mu.Unlock()
	for _, at := range slices.Backward(trail) {
		for _, found := range Relatives(at, name) {
			if !isRooted && isThere(ws, found) {
				return found
			}
		}
	}
	for _, at := range slices.Backward(trail) {
		if found := FoundInstead(ws, at, name); found != "" {
			return found
		}
	}
	return name
}

func isStepName(name string) bool { return strings.HasPrefix(path.Base(name), "step-") }

// otherWorkflow is what the file of a workflow was called in other versions, empty for
// other files.
func otherWorkflow(name string) string {
	dir, base := path.Split(name)
	switch base {
	case "workflow.yaml":
		return dir + "workflow.md"
	case "workflow.md":
		return dir + "workflow.yaml"
	}
	return ""
}

// FoundInstead returns the path of what is read where a name in the file at a path leads
// nowhere, empty if nothing is: a workflow.md for a workflow.yaml, or the only step of
// that name in the directory of the file and those below it. Workflows name ./step-01.md
// where they mean ./steps/step-01.md, and steps {workflow_path}/step-02.md.
func FoundInstead(ws *workspace.Workspace, at, name string) string {
	if other := otherWorkflow(name); other != "" && other[0] == '{' && isThere(ws, other) {
		return other
	}
	dir, base := path.Dir(at), path.Base(name)
	loc, err := ws.Resolve(dir)
	if err != nil || !isStepName(name) {
		return ""
	}
	list, err := ws.List(loc, 2)
	if err != nil {
		return ""
	}
	found := ""
	for _, e := range list.Entries {
		if !e.IsDir && path.Base(e.Path) == base {
			if found != "" {
				return ""
			}
			found = dir + "/" + e.Path
		}
	}
	return found
}

// Relatives returns the paths that a plain name in the file at a path may mean, the most
// likely first: from the file, or else from the folders around it, for bare paths are
// meant from the root of a skill, and steps lie in a folder of it.
func Relatives(at, name string) []string {
	var paths []string
	dir := path.Dir(at)
	for range 3 {
		if found := relativePath(dir, name); found[0] == '{' {
			paths = append(paths, found)
		}
		if dir = path.Dir(dir); dir == "." || strings.HasPrefix(name, "../") {
			break
		}
	}
	return paths
}

// isThere says whether a path leads to a file or a directory.
func isThere(ws *workspace.Workspace, name string) bool {
	loc, err := ws.Resolve(name)
	if err != nil {
		return false
	}
	if _, err := ws.Stat(loc); err == nil {
		return true
	}
	_, err = ws.List(loc, 1)
	return err == nil
}

// visited remembers that a file was read: names in it are relative to it, and what
// stands above its text are variables of it.
func (x *session) visited(at, src string) {
	values := StepValues(x.workspace(), at, src)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.trail = slices.DeleteFunc(x.trail, func(other string) bool { return other == at })
	x.trail = append(x.trail, at)
	if len(x.trail) > maxTrail {
		x.trail = x.trail[1:]
	}
	x.local = overlaid(x.local, values)
	x.see()
}

// overlaid has the variables of a file lie over those of the files before it: who reads a
// table or turns to elicitation in the middle of a step comes back to that step.
func overlaid(before, values map[string]string) map[string]string {
	all := maps.Clone(before)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, values)
	return all
}

// StepValues are the variables of a step, the file at a path: what its front matter says.
// A path is relative to the file. Where the workflow is not in the directory that the
// step gives it, or the step gives none, it is in the one around the steps.
func StepValues(ws *workspace.Workspace, at, src string) map[string]string {
	values := map[string]string{}
	dir := path.Dir(at)
	matter, _, _ := markup.FrontMatter([]byte(src))
	root, _, err := ParseYAML("", 1, matter)
	if err != nil {
		root = nil
	}
	for k, v := range laxyaml.Fields(root) {
		text := laxyaml.Scalar(v)
		if text == "" || k.Value == "name" || k.Value == "description" {
			continue
		}
		if strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
			text = relativePath(dir, text)
		}
		values[k.Value] = text
	}
	inSteps := strings.Contains(path.Base(dir), "steps")
	isPart := inSteps || strings.HasPrefix(path.Base(at), "workflow")
	if inSteps {
		dir = path.Dir(dir)
	}
	for _, key := range []string{"workflow_path", "installed_path"} {
		if said := values[key]; said != "" && !isThere(ws, said) || said == "" && isPart {
			values[key] = dir
		}
	}
	return values
}

// relativePath joins a path that begins with a root and one that is relative to it, as
// long as that stays in the root.
func relativePath(dir, name string) string {
	root, rest, _ := strings.Cut(dir, "/")
	joined := path.Join("/", rest, name)
	if strings.Count(name, "../") > strings.Count("/"+rest, "/") {
		return name
	}
	return root + joined
}

// see makes the variables of the workflow and of the step known to the tools; x.mu is held.
func (x *session) see() {
	vars := x.base.Vars()
	if x.flow != nil {
		vars = x.flow
	}
	if len(x.local) > 0 {
		vars = vars.With(x.local)
	}
	x.view = x.base.With(vars)
}

// isInstruction says whether a file is the bundle's, and not one that agents or users
// have written.
func isInstruction(loc workspace.Location) bool {
	return !strings.HasPrefix(loc.String(), "{"+workspace.ProjectRoot+"}") && loc.Root() != workspace.SessionFolder
}

// findPaths rewrites the arguments of a tool that reads, so that relative names are found.
func (x *session) findPaths(arguments json.RawMessage) json.RawMessage {
	var in map[string]any
	if err := json.Unmarshal(arguments, &in); err != nil {
		return arguments
	}
	changed := false
	for _, key := range []string{"file_path", "path"} {
		if name, ok := in[key].(string); ok {
			if found := x.find(name); found != name {
				in[key], changed = found, true
			}
		}
	}
	if !changed {
		return arguments
	}
	out, err := json.Marshal(in)
	if err != nil {
		return arguments
	}
	return out
}

// noteRead remembers the file that a call has read.
func (s *sessions) noteRead(ctx context.Context, run *troupe.Run, x *session, arguments json.RawMessage) error {
	var in struct {
		FilePath string `json:"file_path"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil || in.FilePath == "" {
		return nil
	}
	ws := x.workspace()
	loc, err := ws.Resolve(in.FilePath)
	if err != nil || !isInstruction(loc) {
		return nil
	}
	src, err := ws.ReadFile(loc)
	if err != nil {
		return nil
	}
	x.visited(s.agent.bundle.projectPath(loc), src)
	return s.keepNote(ctx, run, x.note())
}

// projectPath returns the path of a place by way of the project, where it lies in it:
// from there a relative name may lead from one root into another.
func (b *Bundle) projectPath(loc workspace.Location) string {
	for _, r := range b.roots() {
		if r.Name != loc.Root() {
			continue
		}
		if rel, err := filepath.Rel(b.projectDir(), r.Dir); err == nil && filepath.IsLocal(rel) {
			return "{" + workspace.ProjectRoot + "}/" + path.Join(filepath.ToSlash(rel), loc.Name())
		}
	}
	return loc.String()
}

// note returns what the session has come to.
func (x *session) note() note {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.begun
	n.Read = slices.Clone(x.trail)
	return n
}
