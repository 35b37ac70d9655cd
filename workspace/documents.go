package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Documents say where the documents of a project are kept. A document is whatever is
// named inside {project-root} and outside of the other roots: {project-root}/docs/prd.md,
// or docs/prd.md where docs is one of the folders. It is read and written by that name.
type Documents struct {
	// Dir is the directory on the host that holds the documents, under their names in
	// the project, and their earlier versions. It must exist. Without it there are no
	// documents, and the project is written only where a root says so.
	Dir string
	// InPlace has the documents be the project's own files. Then only those in Folders
	// may be read and written beside what the project's access allows, and Dir holds
	// earlier versions alone.
	InPlace bool
	// Folders are directories in the project, with slashes. A plain name that begins
	// with one of them is a document's.
	Folders []string
}

// documentsRoot is the name of the root that documents are kept in. Its places are shown
// by the names that the documents have in the project.
const documentsRoot = "documents"

// documents are the open Documents of a workspace.
type documents struct {
	Documents
	kept    *root // holds versions, and the documents unless they are in place
	project *root
}

func (w *Workspace) openDocuments(c Documents) error {
	project := w.roots[ProjectRoot]
	if c.Dir == "" || project == nil {
		return nil
	}
	if err := w.openRoot(Root{Name: documentsRoot, Dir: c.Dir, Access: ReadWrite, Opens: true}); err != nil {
		return err
	}
	d := &documents{Documents: c, kept: w.roots[documentsRoot], project: project}
	d.Folders = nil
	for _, folder := range c.Folders {
		if folder = path.Clean(folder); folder != "." && fs.ValidPath(folder) {
			d.Folders = append(d.Folders, folder)
		}
	}
	d.kept.shownAs = ProjectRoot
	if c.InPlace {
		project.open = d.Folders
	}
	w.documents = d
	return nil
}

// inFolder says whether a name in the project lies in one of the folders of documents.
func (d *documents) inFolder(name string) bool {
	return slices.ContainsFunc(d.Folders, func(folder string) bool {
		_, ok := relativeTo(folder, name)
		return ok
	})
}

// nameOf returns the name in the project of a place in the project or in a root inside
// it, if that is a document's: what an installation holds is none, except for what its
// agents remember.
func (d *documents) nameOf(loc Location) (name string, ok bool) {
	switch loc.root {
	case d.project:
		return loc.name, true
	case d.kept:
		return loc.name, !d.InPlace
	}
	for _, inner := range d.project.nested {
		if inner.root == loc.root {
			name = path.Join(inner.at, loc.name)
			return name, loc.root.Access == ReadOnly && isMemory(name)
		}
	}
	return "", false
}

// isMemory says whether a name is that of something agents write down for themselves.
func isMemory(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		if element == "_memory" || strings.HasSuffix(element, "-sidecar") || strings.HasSuffix(element, "-user-memory") {
			return true
		}
	}
	return false
}

// existing returns the place at which a document is read: where it was written, or else
// where the project has it.
func (d *documents) existing(loc Location) Location {
	name, ok := d.nameOf(loc)
	if !ok || d.InPlace {
		return loc
	}
	kept := Location{d.kept, name}
	if kept.isThere() || loc.access() == NoAccess {
		return kept
	}
	return loc
}

// output returns the place at which a document is written.
func (d *documents) output(loc Location, written string) (Location, error) {
	name, ok := d.nameOf(loc)
	switch {
	case !ok:
		return Location{}, refuse("write", written, fmt.Sprintf("{%s} is not written to; %s", loc.root.Name, d.advice()))
	case !d.InPlace:
		return Location{d.kept, name}, nil
	case loc.access() == ReadWrite:
		return loc, nil
	}
	return Location{}, refuse("write", written, d.advice())
}

// advice says where documents go.
func (d *documents) advice() string {
	if !d.InPlace {
		return "write documents to {project-root}/docs/name.md or where the configuration says, other files to {session-folder}"
	}
	return "documents are written to " + cmp.Or(strings.Join(d.Folders, ", "), "no folder: the configuration names none") + "; other files to {session-folder}"
}

// plain returns the document that a plain name means, if it means one: in one of the
// folders, or there already.
func (d *documents) plain(rel string) (Location, bool) {
	loc, err := place(rel, d.project, rel)
	if err != nil {
		return Location{}, false
	}
	name, ok := d.nameOf(loc)
	if !ok {
		return Location{}, false
	}
	if loc.root != d.project {
		return loc, true // a memory
	}
	return loc, d.inFolder(name) || !d.InPlace && Location{d.kept, name}.isThere() && strings.Contains(name, "/")
}

// isThere says whether there is anything at a place.
func (l Location) isThere() bool {
	_, err := l.root.dir.Lstat(l.name)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
