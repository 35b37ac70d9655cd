// Package workspace names the few directories an agent may touch, expands names
// such as {bundle-root}/config.yaml, and opens files only inside those directories.
//
// An agent names files; only a [Workspace] opens them. A name resolves to a
// [Location], which is a root and a name relative to it, never a path of the
// host. Every root is held by handle (an [os.Root]), so no check compares paths:
// a name that leaves its root has nothing to be opened with.
//
// What is not configured is not reachable. A root has no access until its [Root]
// says so, agents write to their session folder unless another root is granted
// for writing, and roots other than the bundle, the core and the session folder
// never show keys, .env, .git and what Troupe keeps for itself. What [Config.Closed]
// names is open to no root, whatever is granted.
package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// The names of the roots that a workspace gives a meaning to. Any other name may
// be given to a further root, such as a session folder that is read from this one.
//
// Whoever grants the project should also list the directory of all sessions if it
// lies there: as a root without access it stays closed.
const (
	BundleRoot    = "bundle-root"
	CoreRoot      = "core-root"
	ProjectRoot   = "project-root"
	SessionFolder = "session-folder"
)

// An Access says what may be done with the files of a root.
type Access int

// The zero Access opens nothing: the root's name resolves, and what lies in it is
// out of reach, also by way of a root that contains it.
const (
	NoAccess Access = iota
	ReadOnly
	ReadWrite
)

// A Root is a directory of the host, under the name that agents know it by.
type Root struct {
	// Name is written {Name} in paths. Upper case and _ for - mean the same.
	Name string
	// Dir is the directory on the host. It must exist.
	Dir    string
	Access Access
	// Trusted roots may hold files with several hard links and mounted file
	// systems. In others both are refused: they could belong to anybody.
	Trusted bool
	// Opens says that the root is open although it lies in a place of [Config.Closed], as a
	// session's folder does.
	Opens bool
}

// A Config says what an agent may touch.
type Config struct {
	Roots []Root
	// Closed are places that no root opens further than they say, also where one lies in
	// them, unless it has Opens.
	Closed []Closed
	// Values are the variables that the engine sets, such as session-id and date.
	// Config files and workflows cannot override them, and they are never
	// expanded themselves.
	Values map[string]string
	Limits Limits
	// Documents are those of the project.
	Documents Documents
	// Cache may be shared by many workspaces. Nil means one of 8 MiB for this one.
	Cache *Cache
	// Buffers are files as they stand in a person's editor. Nil means those on disk.
	Buffers Buffers
	// Temporary says that what is written is thrown away with the process: nothing waits
	// until it is on disk, and earlier versions and who wrote what are not kept.
	Temporary bool
	// Logger gets what went wrong beside a call that did what it was to do. Default: nobody.
	Logger *slog.Logger
}

// Limits bound what one call may take. A zero field means its default.
type Limits struct {
	FileBytes int64 // of a file read or written: 10 MiB
	TextBytes int64 // of a text given to a model: 1 MiB
	Entries   int   // of a listing, and of a directory that gets a new name: 10,000
	Depth     int   // of a listing, and of a name written to: 32
}

// A Workspace opens the files that an agent names. It may be used concurrently.
type Workspace struct {
	roots  map[string]*root
	vars   *Vars
	limits Limits
	cache  *Cache
	// writing is held while a file is written: of two new names that only differ
	// in case the second one must see the first.
	writing *sync.Mutex
	// documents is nil where there are none.
	documents *documents
	buffers   Buffers // nil where nobody edits
	isDurable bool    // what is written is on disk before a call returns
	log       *slog.Logger
}

// root is an open [Root].
type root struct {
	Root
	dir    *os.Root
	info   fs.FileInfo
	real   string // Dir without links; used to guess at relations, never to open
	nested []nested
	// guarded roots keep keys to themselves.
	guarded bool
	// open are the directories that may be written whatever Access says.
	open []string
	// most bounds what may be done anywhere in the root, barriers in parts of it.
	most     Access
	barriers []barrier
	// shownAs is the name of the root that places in this one are shown in, if it is
	// not its own.
	shownAs string
}

// nested is a root that lies inside another, at a name relative to it.
type nested struct {
	at   string
	root *root
}

// Open opens all roots, or none. Its errors name roots, not directories.
func Open(c Config) (*Workspace, error) {
	w := &Workspace{
		roots:   make(map[string]*root),
		limits:  c.Limits.orDefault(),
		cache:   cmp.Or(c.Cache, NewCache(8<<20)),
		writing: new(sync.Mutex),
		buffers: c.Buffers,

		isDurable: !c.Temporary,
		log:       cmp.Or(c.Logger, slog.New(slog.DiscardHandler)),
	}
	for _, r := range c.Roots {
		r.Name = foldName(r.Name)
		if err := w.openRoot(r); err != nil {
			return nil, errors.Join(fmt.Errorf("open root {%s}: %w", shown(r.Name), withoutPath(err)), w.Close())
		}
	}
	if err := w.openDocuments(c.Documents); err != nil {
		return nil, errors.Join(fmt.Errorf("open documents: %w", withoutPath(err)), w.Close())
	}
	closed := realPlaces(c.Closed)
	for _, outer := range w.roots {
		w.relate(outer)
		outer.closeOff(closed)
	}
	w.vars = NewVars(c.Values, slices.Collect(maps.Keys(w.roots))...)
	return w, nil
}

func (l Limits) orDefault() Limits {
	return Limits{
		FileBytes: cmp.Or(l.FileBytes, 10<<20),
		TextBytes: cmp.Or(l.TextBytes, 1<<20),
		Entries:   cmp.Or(l.Entries, 10_000),
		Depth:     cmp.Or(l.Depth, 32),
	}
}

// A noDirectory says that a root's directory is not there, in words for people.
type noDirectory struct{}

func (*noDirectory) Error() string { return "there is no such directory" }

func (*noDirectory) Unwrap() error { return fs.ErrNotExist }

func (w *Workspace) openRoot(c Root) error {
	if !isName(c.Name) {
		return errors.New("not a name of letters, digits, _, - and dots")
	}
	if w.roots[c.Name] != nil {
		return errors.New("named twice")
	}
	dir, err := os.OpenRoot(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &noDirectory{}
	}
	if err != nil {
		return err
	}
	r := &root{Root: c, dir: dir}
	w.roots[c.Name] = r
	if r.info, err = dir.Stat("."); err != nil {
		return err
	}
	if r.real, err = filepath.Abs(c.Dir); err != nil {
		return err
	}
	r.real, err = filepath.EvalSymlinks(r.real)
	return err
}

// relate finds the roots that lie inside outer, deepest first, and decides
// whether outer is guarded.
func (w *Workspace) relate(outer *root) {
	for _, inner := range w.roots {
		at, inside := outer.contains(inner)
		// Two names of one directory keep their own access, but a root without
		// any leaves its files to the one that has some.
		if inside && inner != outer && (at != "." || outer.Access == NoAccess) {
			outer.nested = append(outer.nested, nested{at, inner})
		}
	}
	slices.SortFunc(outer.nested, func(a, b nested) int {
		return cmp.Or(cmp.Compare(len(b.at), len(a.at)), cmp.Compare(a.root.Name, b.root.Name))
	})
	switch outer.Name {
	case BundleRoot, CoreRoot, SessionFolder:
		if project := w.roots[ProjectRoot]; project != nil {
			_, outer.guarded = outer.contains(project)
		}
	default:
		outer.guarded = true
	}
}

// contains says where in outer inner lies. The host's paths only suggest a
// place; that the same directory is found there decides.
func (outer *root) contains(inner *root) (at string, inside bool) {
	at, err := filepath.Rel(outer.real, inner.real)
	if err != nil || !filepath.IsLocal(at) {
		return "", false
	}
	info, err := outer.dir.Stat(at)
	if err != nil || !os.SameFile(info, inner.info) {
		return "", false
	}
	return filepath.ToSlash(at), true
}

// Close closes the roots, also for every view made by With.
func (w *Workspace) Close() error {
	var errs []error
	for _, r := range w.roots {
		errs = append(errs, r.dir.Close())
	}
	return errors.Join(errs...)
}

// Vars returns the variables that names are resolved with.
func (w *Workspace) Vars() *Vars { return w.vars }

// With returns a view of the same roots that resolves names with other
// variables, which as a rule extend those of w.
func (w *Workspace) With(vars *Vars) *Workspace {
	view := *w
	view.vars = vars
	return &view
}
