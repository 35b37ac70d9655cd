package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// An Entry is a file or directory in a Listing.
type Entry struct {
	// Path is relative to the directory that was listed, with slashes.
	Path     string
	IsDir    bool
	IsLink   bool // symbolic; Size and Modified are its own
	Size     int64
	Modified time.Time
}

func entryOf(name string, info fs.FileInfo) Entry {
	return Entry{
		Path:     name,
		IsDir:    info.IsDir(),
		IsLink:   info.Mode().Type() == fs.ModeSymlink,
		Size:     info.Size(),
		Modified: info.ModTime(),
	}
}

// A Listing is what a directory holds.
type Listing struct {
	Location Location
	// Entries are sorted by name within a directory, which precedes what is in it.
	Entries []Entry
	// Truncated says that there was more than the limits allow, or a directory
	// that could not be opened.
	Truncated bool
}

// List lists a directory, and below it as many levels as depth says: 1 is the
// directory alone. Links are listed, not followed; pipes, sockets, devices and
// what the agent may not read are left out.
//
// Of documents that were written and of those that the project has, both are listed.
func (w *Workspace) List(loc Location, depth int) (Listing, error) {
	if d := w.documents; d != nil && !d.InPlace && (loc.root == d.project || loc.root == d.kept) {
		return w.listDocuments(loc, depth)
	}
	return w.list(loc, depth)
}

// listDocuments lists a directory of documents and the same one of the project.
func (w *Workspace) listDocuments(loc Location, depth int) (Listing, error) {
	d := w.documents
	kept, err := w.list(Location{d.kept, loc.name}, depth)
	if d.project.Access < ReadOnly {
		return kept, err
	}
	own, ownErr := w.list(Location{d.project, loc.name}, depth)
	switch {
	case err != nil:
		return own, ownErr
	case ownErr != nil:
		return kept, nil
	}
	for _, e := range own.Entries {
		if !slices.ContainsFunc(kept.Entries, func(k Entry) bool { return k.Path == e.Path }) {
			kept.Entries = append(kept.Entries, e)
		}
	}
	slices.SortFunc(kept.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	kept.Truncated = kept.Truncated || own.Truncated
	return kept, nil
}

func (w *Workspace) list(loc Location, depth int) (Listing, error) {
	target, err := w.allow("list", loc, ReadOnly)
	if err != nil {
		return Listing{}, err
	}
	dir, err := target.root.openDir(target.name)
	if err != nil {
		return Listing{}, failed("list", loc.String(), err)
	}
	defer dir.Close()
	list := Listing{Location: loc}
	k := walk{root: target.root, need: ReadOnly, left: w.limits.Entries, bounded: depth > w.limits.Depth}
	k.found = func(_ *os.Root, at string, info fs.FileInfo) error {
		if !isTemp(info.Name()) {
			name, _ := relativeTo(target.name, at)
			list.Entries = append(list.Entries, entryOf(name, info))
		}
		return nil
	}
	if err := k.visit(dir, target.name, min(depth, w.limits.Depth)); err != nil {
		return Listing{}, failed("list", loc.String(), err)
	}
	list.Truncated = k.truncated
	return list, nil
}

// A walk visits the entries of a directory and of those below it, by handle.
type walk struct {
	root      *root
	need      Access // of roots inside, or they are passed over
	left      int    // how many entries may still be looked at
	bounded   bool   // the depth is that of the limits, not the one asked for
	truncated bool
	found     func(dir *os.Root, at string, info fs.FileInfo) error
}

// visit calls found for what is in dir, whose name in the root is at.
func (k *walk) visit(dir *os.Root, at string, depth int) error {
	names, more, err := readNames(dir, k.left)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since it was opened
	}
	if err != nil {
		return err
	}
	k.left -= len(names)
	k.truncated = k.truncated || more
	slices.Sort(names)
	for _, name := range names {
		full := path.Join(at, name)
		secret := k.root.guarded && IsSecret(name) && !isTemp(name)
		if secret || k.root.land(full).access() < k.need && !k.leadsTo(full) {
			continue
		}
		info, err := dir.Lstat(name)
		if err != nil {
			continue // gone since its name was read
		}
		if !info.IsDir() && !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink {
			continue
		}
		if err := k.found(dir, full, info); err != nil {
			return err
		}
		if info.IsDir() {
			if err := k.descend(dir, full, info, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// leadsTo says whether a directory that may be read lies below a name.
func (k *walk) leadsTo(name string) bool {
	return slices.ContainsFunc(k.root.open, func(dir string) bool {
		_, ok := relativeTo(name, dir)
		return ok
	})
}

func (k *walk) descend(dir *os.Root, at string, info fs.FileInfo, depth int) error {
	if depth <= 0 {
		k.truncated = k.truncated || k.bounded
		return nil
	}
	if !k.root.Trusted && device(info) != device(k.root.info) {
		return nil
	}
	below, err := openSame(dir, info)
	if err != nil {
		k.truncated = true
		return nil
	}
	defer below.Close()
	return k.visit(below, at, depth)
}

// openDir opens a directory of r that is on the same device.
func (r *root) openDir(name string) (*os.Root, error) {
	dir, err := openOnlyDir(r.dir, name)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	if err == nil && !r.Trusted && device(info) != device(r.info) {
		err = refuse("open", Location{r, name}.String(), "it is on another device than its root")
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// openSame opens the directory that info, an entry of dir, describes. If anything
// else is there by now, a link for example, it fails.
func openSame(dir *os.Root, info fs.FileInfo) (*os.Root, error) {
	below, err := openOnlyDir(dir, info.Name())
	if err != nil {
		return nil, err
	}
	if now, err := below.Stat("."); err != nil || !os.SameFile(info, now) {
		below.Close()
		return nil, refuse("open", info.Name(), "it changed while it was opened")
	}
	return below, nil
}

// openOnlyDir opens a directory. Asked for a pipe, OpenRoot would wait for a
// writer; asked for what is in the pipe, it sees that it is no directory.
func openOnlyDir(dir *os.Root, name string) (*os.Root, error) {
	return dir.OpenRoot(name + "/.")
}

// readNames reads up to limit names from dir, and says whether there are more.
func readNames(dir *os.Root, limit int) (names []string, more bool, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for {
		chunk, err := f.Readdirnames(256)
		if room := limit - len(names); len(chunk) > room {
			return append(names, chunk[:room]...), true, nil
		}
		names = append(names, chunk...)
		if errors.Is(err, io.EOF) {
			return names, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}
