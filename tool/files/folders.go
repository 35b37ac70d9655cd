package files

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// Dir returns the tools for one directory, which must exist: read_file, list_files
// and search_files, and with [workspace.ReadWrite] write_file, edit_file and
// make_directory. The agent names files relative to the directory, and reaches
// nothing outside of it, nor dot-files and keys in it.
//
// The directory stays open for as long as the tools are in use.
func Dir(dir string, access workspace.Access) ([]troupe.Tool, error) {
	return open(plain{}, []workspace.Root{{Dir: dir, Access: access}})
}

// Roots is [Dir] for several directories. A path begins with the name of its root:
// docs/plan.md is plan.md in the root docs. A name is one element of a path.
func Roots(roots ...workspace.Root) ([]troupe.Tool, error) {
	var names plain
	for _, r := range roots {
		if r.Name == "" || r.Name == "." || r.Name == ".." || strings.ContainsAny(r.Name, "/\\\x00") {
			return nil, fmt.Errorf("root %q: its name must be one element of a path", r.Name)
		}
		if slices.Contains(names.folders, r.Name) {
			return nil, fmt.Errorf("root %q: named twice", r.Name)
		}
		names.folders = append(names.folders, r.Name)
	}
	if len(roots) == 0 {
		return nil, errors.New("no root is given")
	}
	return open(names, roots)
}

// open opens the roots under names of its own and returns the tools that their
// access allows.
func open(names plain, roots []workspace.Root) ([]troupe.Tool, error) {
	writable, readable := false, false
	roots = slices.Clone(roots)
	for i := range roots {
		writable = writable || roots[i].Access == workspace.ReadWrite
		readable = readable || roots[i].Access != workspace.NoAccess
		names.writable = append(names.writable, roots[i].Access == workspace.ReadWrite)
		roots[i].Name = internalName(i)
	}
	if !readable {
		return nil, errors.New("no root may be read: set its access to workspace.ReadOnly or workspace.ReadWrite")
	}
	ws, err := workspace.Open(workspace.Config{Roots: roots})
	if err != nil {
		return nil, errors.New(names.replacer("your folder").Replace(err.Error()))
	}
	at := place{func(string) (*workspace.Workspace, error) { return ws, nil }, names}
	tools := []troupe.Tool{readAt(at), listAt(at), searchAt(at)}
	if writable {
		tools = append(tools, writeAt(at), editAt(at), makeDirAt(at))
	}
	return tools, nil
}

// internalName is what the workspace calls a folder; agents do not see it.
func internalName(i int) string { return fmt.Sprintf("folder-%d", i) }

// plain is the naming by relative paths.
type plain struct {
	folders  []string // none where a path is relative to the only one
	writable []bool
}

func (n plain) reading() string {
	if n.folders == nil {
		return "Paths are relative to your folder, such as docs/plan.md. Absolute paths, and paths that lead out of the folder, are refused."
	}
	return "A path begins with the name of one of your folders: " + n.list() + ". Absolute paths, and paths that lead out of these folders, are refused."
}

func (n plain) writing() string { return n.reading() }

func (n plain) listing() string {
	if n.folders == nil {
		return n.reading() + " Without `path` it is the whole folder."
	}
	return n.reading() + " Without `path` it is all of them."
}

func (n plain) list() string {
	var list []string
	for i, name := range n.folders {
		if !n.writable[i] {
			name += " (read only)"
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

func (n plain) tops(name string) []string {
	switch {
	case path.Clean(strings.TrimSpace(name)) != ".":
		return []string{name}
	case n.folders == nil:
		return []string{"."}
	}
	return n.folders
}

func (n plain) resolve(ws *workspace.Workspace, name string) (workspace.Location, error) {
	refused := &workspace.Error{Op: "resolve", Path: name}
	clean := path.Clean(name)
	switch {
	case name == "":
		refused.Err, refused.Reason = workspace.ErrNotFound, "the path is empty"
		return workspace.Location{}, refused
	case path.IsAbs(clean):
		refused.Err, refused.Reason = workspace.ErrDenied, "it is absolute; name files by relative paths"
		return workspace.Location{}, refused
	case clean == ".." || strings.HasPrefix(clean, "../"):
		refused.Err, refused.Reason = workspace.ErrDenied, "it leads out of what you may use"
		return workspace.Location{}, refused
	case n.folders == nil:
		return placed(ws, internalName(0), clean)
	}
	first, rest, _ := strings.Cut(clean, "/")
	i := slices.Index(n.folders, first)
	if i < 0 {
		refused.Err, refused.Reason = workspace.ErrNotFound, "a path begins with the name of a folder: "+n.list()
		return workspace.Location{}, refused
	}
	return placed(ws, internalName(i), rest)
}

// resolveOutput finds a file that is there by any spelling of its name, and gives
// new ones the composed form.
func (n plain) resolveOutput(ws *workspace.Workspace, name string) (workspace.Location, bool, error) {
	if !norm.NFC.IsNormalString(name) {
		loc, err := n.resolve(ws, name)
		if err == nil && (view{ws, n}).exists(loc) {
			return loc, false, nil
		}
	}
	loc, err := n.resolve(ws, norm.NFC.String(name))
	return loc, false, err
}

func (n plain) show(loc workspace.Location) string { return n.replacer(".").Replace(loc.String()) }

// replacer replaces what the workspace calls folders by what the agent calls them.
func (n plain) replacer(only string) *strings.Replacer {
	if n.folders == nil {
		return strings.NewReplacer("{"+internalName(0)+"}/", "", "{"+internalName(0)+"}", only)
	}
	var pairs []string
	for i, name := range n.folders {
		pairs = append(pairs, "{"+internalName(i)+"}", name)
	}
	return strings.NewReplacer(pairs...)
}

func (n plain) explain(err error, asked string) error {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Path, told.Reason = n.replacer(".").Replace(e.Path), n.replacer("your folder").Replace(e.Reason)
	if e.Op == "resolve" {
		told.Path = asked
	}
	return &told
}
