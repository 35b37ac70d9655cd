package workspace

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// manifestName is the file of a session's folder that Troupe computes from the log. What
// somebody else wrote there would be lost.
const manifestName = "manifest.json"

// A Location is a place in a root: a file, a directory, or the place for one. Its
// zero value is nowhere. Locations of one workspace can be compared.
type Location struct {
	root *root
	name string // relative to root, clean, with slashes; "." is the root itself
}

// String returns the location as an agent may write it, {bundle-root}/config.yaml.
func (l Location) String() string {
	if l.root == nil {
		return ""
	}
	root := cmp.Or(l.root.shownAs, l.root.Name)
	if l.name == "." {
		return "{" + root + "}"
	}
	return "{" + root + "}/" + l.name
}

// access says what may be done at the location.
func (l Location) access() Access {
	return min(l.granted(), l.root.mostAt(l.name))
}

// granted says what the root grants at the location, but for what is closed.
func (l Location) granted() Access {
	for _, dir := range l.root.open {
		if _, ok := relativeTo(dir, l.name); ok {
			return ReadWrite
		}
	}
	return l.root.Access
}

// Root returns the name of the location's root.
func (l Location) Root() string {
	if l.root == nil {
		return ""
	}
	return l.root.Name
}

// Name returns the location's name relative to its root, with slashes.
func (l Location) Name() string { return l.name }

// Resolve says which place a name means to somebody who reads or lists. Nothing
// is opened for a name that begins with a root.
//
// A plain name, workflows/x.yaml, is looked for in the session folder, among the
// documents, in the bundle, then as seen from the project where that is readable. Dots may lead
// upwards as far as the root. A name that ends up in a root that lies inside the
// named one, such as {project-root}/bmad/core/x.md, is a place in that inner root.
func (w *Workspace) Resolve(name string) (Location, error) {
	r, rel, err := w.split(name)
	if err != nil {
		return Location{}, err
	}
	if r != nil {
		return w.reading(place(name, r, rel))
	}
	for _, candidate := range []string{SessionFolder, documentsRoot, BundleRoot, ProjectRoot} {
		if r = w.roots[candidate]; r == nil {
			continue
		}
		loc, err := place(name, r, rel)
		if err != nil {
			return Location{}, err
		}
		if candidate == ProjectRoot && w.documents != nil {
			loc = w.documents.existing(loc)
		}
		if loc.access() != NoAccess && loc.isThere() {
			return loc, nil
		}
	}
	if w.documents != nil {
		if loc, ok := w.documents.plain(rel); ok { // it could be there
			return w.documents.existing(loc), nil
		}
	}
	return Location{}, &Error{Op: "resolve", Path: name, Err: ErrNotFound,
		Reason: "neither in the session folder nor in the bundle"}
}

// ResolveFrom is Resolve for a reference in the file at from: a plain name, such
// as ./steps/step-01.md, is relative to the directory of that file.
func (w *Workspace) ResolveFrom(from Location, ref string) (Location, error) {
	r, rel, err := w.split(ref)
	if err != nil {
		return Location{}, err
	}
	if r == nil {
		if !w.owns(from) {
			return Location{}, refuse("resolve", ref, "relative to nowhere")
		}
		r, rel = from.root, path.Dir(from.name)+"/"+rel
	}
	return w.reading(place(ref, r, rel))
}

// reading returns the place at which what is named is read.
func (w *Workspace) reading(loc Location, err error) (Location, error) {
	if err == nil && w.documents != nil {
		loc = w.documents.existing(loc)
	}
	return loc, err
}

// ResolveOutput says where a file of this name is written: a document at its own
// name, and a plain name that is none in the session folder. Where the agent may not
// write, that is refused, except in a workspace without documents: there it is the
// session folder, under the same name relative to its root, and moved says so.
func (w *Workspace) ResolveOutput(name string) (loc Location, moved bool, err error) {
	session := w.roots[SessionFolder]
	if session == nil && w.documents == nil {
		return Location{}, false, refuse("write", name, "there is no session folder")
	}
	r, rel, err := w.split(name)
	if err != nil {
		return Location{}, false, err
	}
	if loc, err = w.outputPlace(name, r, rel); err != nil {
		return Location{}, false, err
	}
	switch {
	case loc.access() == ReadWrite:
	case w.documents != nil:
		if loc, err = w.documents.output(loc, name); err != nil {
			return Location{}, false, err
		}
	case session == nil:
		return Location{}, false, refuse("write", name, "writing to {"+loc.root.Name+"} is not granted")
	default:
		loc, moved = session.land(loc.name), true
	}
	loc.name = norm.NFC.String(loc.name)
	return loc, moved, nil
}

// outputPlace returns the place that a name means to somebody who writes, whether or
// not that may be written.
func (w *Workspace) outputPlace(name string, r *root, rel string) (Location, error) {
	if r != nil {
		return place(name, r, rel)
	}
	session, project := w.roots[SessionFolder], w.roots[ProjectRoot]
	loc, err := Location{}, error(nil)
	if session != nil {
		if loc, err = place(name, session, rel); err != nil {
			return Location{}, err
		}
	}
	if project != nil {
		// data/agent-outputs/<session>/x.md is not a folder in the session folder.
		if seen, _ := place(name, project, rel); session != nil && seen.root == session {
			return seen, nil
		}
	}
	if w.documents != nil && (session == nil || !loc.isThere()) {
		if document, ok := w.documents.plain(rel); ok {
			return document, nil
		}
	}
	if session == nil {
		return Location{}, refuse("write", name, w.documents.advice())
	}
	return loc, nil
}

// split expands a name and cuts off the root it begins with, which is nil for a
// plain name. The rest is neither clean nor checked.
func (w *Workspace) split(name string) (r *root, rel string, err error) {
	pieces, err := w.vars.path(name)
	if err != nil {
		return nil, "", err
	}
	if len(pieces) > 0 && pieces[0].kind == rootName {
		if r = w.roots[pieces[0].name]; r == nil {
			return nil, "", refuse("resolve", name, "{"+pieces[0].name+"} is not a root of this workspace")
		}
		pieces = pieces[1:]
	}
	for _, p := range pieces {
		if p.kind == rootName {
			return nil, "", refuse("resolve", name, "a root stands only at the beginning of a path")
		}
		rel += p.text
	}
	switch {
	case strings.IndexByte(rel, 0) >= 0:
		return nil, "", refuse("resolve", name, "it contains a NUL byte")
	case r != nil && rel != "" && rel[0] != '/':
		return nil, "", refuse("resolve", name, "a root is followed by a slash")
	case r == nil && rel == "":
		return nil, "", &Error{Op: "resolve", Path: name, Err: ErrNotFound, Reason: "the path is empty"}
	case r == nil && rel[0] == '/':
		return nil, "", refuse("resolve", name, "it is absolute; begin with {session-folder}, {bundle-root} or another root")
	}
	return r, rel, nil
}

// place returns the place of rel in r, or in a root inside r.
func place(written string, r *root, rel string) (Location, error) {
	rel = path.Clean("./" + rel)
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return Location{}, refuse("resolve", written, "it leaves {"+r.Name+"}")
	}
	return r.land(rel), nil
}

// land returns the location of a clean name: in the innermost root that it is in.
func (r *root) land(name string) Location {
	for _, inner := range r.nested {
		if rest, ok := relativeTo(inner.at, name); ok {
			return Location{inner.root, rest}
		}
	}
	return Location{r, name}
}

// relativeTo returns a clean name as seen from dir, which is a clean name too, if
// it lies there.
func relativeTo(dir, name string) (rest string, ok bool) {
	switch rest, ok = strings.CutPrefix(name, dir); {
	case dir == ".":
		return name, true
	case ok && rest == "":
		return ".", true
	case ok && rest[0] == '/':
		return rest[1:], true
	}
	return "", false
}

func (w *Workspace) owns(loc Location) bool {
	return loc.root != nil && w.roots[loc.root.Name] == loc.root
}

// allow returns the location that may be opened for need in place of loc. Where a
// link could lead to a key, or into a root that lies inside, that is the one
// without links.
func (w *Workspace) allow(op string, loc Location, need Access) (Location, error) {
	if !w.owns(loc) {
		return Location{}, refuse(op, loc.String(), "it is not a place in this workspace")
	}
	if err := loc.permits(op, need); err != nil {
		return Location{}, err
	}
	if !loc.root.guarded && len(loc.root.nested) == 0 && len(loc.root.barriers) == 0 {
		return loc, nil
	}
	name, err := followLinks(loc.root.dir, loc.name)
	if err != nil {
		return Location{}, failed(op, loc.String(), err)
	}
	target := loc.root.land(name)
	if err := target.permits(op, need); err != nil {
		return Location{}, err
	}
	return target, nil
}

// permits checks a location by its name alone.
func (l Location) permits(op string, need Access) error {
	access := l.access()
	switch {
	case need == ReadWrite && access >= need && l.root.Name == SessionFolder && !l.root.Trusted && foldPath(l.name) == manifestName:
		return refuse(op, l.String(), "Troupe writes the session's manifest.json itself, with every file that was saved; give yours another name, such as notes-manifest.json")
	case access >= need && !(l.root.guarded && IsSecret(l.name)):
		return nil
	case access >= need:
		return refuse(op, l.String(), "keys, .env, .git and the like stay closed")
	case l.granted() >= need && need == ReadWrite:
		return refuse(op, l.String(), "what agents are made of and what is kept of their work stays closed to writing, whatever is granted")
	case l.granted() >= need:
		return refuse(op, l.String(), "what is kept of the work of others stays closed, whatever is granted")
	case need == ReadWrite:
		return refuse(op, l.String(), "writing to {"+l.root.Name+"} is not granted")
	}
	return refuse(op, l.String(), "reading {"+l.root.Name+"} is not granted")
}
