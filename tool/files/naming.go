package files

import (
	"errors"
	"strings"

	"github.com/troupe-dev/troupe/workspace"
)

// A naming is how an agent names the files of its workspace.
type naming interface {
	// reading, writing and listing tell the agent how to name files and directories,
	// in the descriptions of tools.
	reading() string
	writing() string
	listing() string
	// tops are the directories meant by the path of a listing or a search, which
	// may be empty: as a rule that one alone.
	tops(path string) []string
	resolve(ws *workspace.Workspace, name string) (workspace.Location, error)
	// resolveOutput says where a file of this name is written, and whether that is
	// another place than the one named.
	resolveOutput(ws *workspace.Workspace, name string) (loc workspace.Location, moved bool, err error)
	// show is a location as the agent may write it.
	show(workspace.Location) string
	// explain says an error of the workspace in the agent's terms.
	explain(err error, asked string) error
}

// variables is the naming of a session's workspace: its own.
type variables struct{}

func (variables) reading() string {
	return "Begin the path with a variable, such as {bundle-root}, {core-root} or {session-folder}; other variables may follow. " +
		"A plain name is looked for in the session folder, among the project's documents, then in the bundle. Absolute paths are refused."
}

func (variables) writing() string {
	return "Begin the path with a variable, such as {session-folder} or {output_folder}; a plain name means a place in the session folder, " +
		"unless it is that of a document. If the file had to be written elsewhere, `path` in the result says where it is."
}

func (variables) listing() string {
	return "Begin the path with a variable, such as {session-folder} or {bundle-root}. Without `path` it is the session folder."
}

func (variables) tops(path string) []string {
	if strings.TrimSpace(path) == "" {
		return []string{"{" + workspace.SessionFolder + "}"}
	}
	return []string{path}
}

func (variables) resolve(ws *workspace.Workspace, name string) (workspace.Location, error) {
	return ws.Resolve(name)
}

func (variables) resolveOutput(ws *workspace.Workspace, name string) (workspace.Location, bool, error) {
	return ws.ResolveOutput(name)
}

func (variables) show(loc workspace.Location) string { return loc.String() }
func (variables) explain(err error, _ string) error  { return err }

// A view is a workspace as one agent sees it.
type view struct {
	*workspace.Workspace
	names naming
}

// resolve says which place a name means to somebody who reads or lists, and the
// name by which it was found: spaces around it count only if there is such a file.
func (v view) resolve(name string) (loc workspace.Location, used string, err error) {
	used = strings.TrimSpace(name)
	if used != name {
		if loc, err := v.names.resolve(v.Workspace, name); err == nil && v.exists(loc) {
			return loc, name, nil
		}
	}
	loc, err = v.names.resolve(v.Workspace, used)
	return loc, used, err
}

// resolveOutput is resolve for somebody who writes.
func (v view) resolveOutput(name string) (loc workspace.Location, used string, moved bool, err error) {
	used = strings.TrimSpace(name)
	if used != name {
		if loc, moved, err := v.names.resolveOutput(v.Workspace, name); err == nil && v.exists(loc) {
			return loc, name, moved, nil
		}
	}
	loc, moved, err = v.names.resolveOutput(v.Workspace, used)
	return loc, used, moved, err
}

func (v view) exists(loc workspace.Location) bool {
	_, err := v.Stat(loc)
	return err == nil || errors.Is(err, workspace.ErrNotRegular)
}

// literals are variables for the characters that mean something in a path of a
// workspace, so that a name which is on disk can be said as it is.
var literals = map[string]string{"literal-brace": "{", "literal-dollar": "$"}

var escaper = strings.NewReplacer("{", "{literal-brace}", "$", "{literal-dollar}")

// placed returns the place of a clean name in a root, whatever characters it has.
func placed(ws *workspace.Workspace, root, name string) (workspace.Location, error) {
	escaped := escaper.Replace(name)
	if len(escaped) > maxPath-64 {
		return workspace.Location{}, &workspace.Error{Op: "resolve", Path: name, Err: workspace.ErrTooLarge, Reason: "the path is too long"}
	}
	return ws.With(workspace.NewVars(literals, root)).Resolve("{" + root + "}/" + escaped)
}
