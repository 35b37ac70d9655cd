package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// tempPrefix begins the names of files that are not complete yet.
const tempPrefix = ".troupe-tmp-"

func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// Write puts content at loc, which ResolveOutput gave, and creates the directories
// on the way. Readers, and whoever comes after a crash, find the old file or the
// new one, complete: content goes to a temporary file beside it that is moved
// over the old one. A link there, hard or symbolic, is replaced, not written through.
//
// When Write has returned nil, the content is on disk, unless [Config.Temporary] says that
// it need not be. A file that a person may be editing
// is left to [Config.Buffers], where they take it.
func (w *Workspace) Write(loc Location, content []byte) error {
	if int64(len(content)) > w.limits.FileBytes {
		return w.tooLarge("write", loc)
	}
	target, err := w.allow("write", loc, ReadWrite)
	if err != nil {
		return err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	dir, err := w.makeDirs(Location{target.root, path.Dir(target.name)})
	if err != nil {
		return failed("write", loc.String(), err)
	}
	defer dir.Close()
	unlock := lockDir(dir)
	defer unlock()
	name := path.Base(target.name)
	perm, err := w.checkTarget(dir, target, name)
	if err == nil {
		err = w.keepVersion(target, content)
	}
	if err == nil && !w.isWrittenThrough(dir, name, target, content) {
		err = w.replaceFile(dir, name, content, perm)
	}
	if err != nil {
		return failed("write", loc.String(), err)
	}
	if err := w.keepLatest(target, content); err != nil { // the content is written all the same
		w.log.Warn("what was written is not kept as a version where an editor replaces it", "file", loc.String(), "err", err)
	}
	return nil
}

// isWrittenThrough has the editor write a file, and says whether it has: one that keeps it to
// itself has not. Links are none of the editor's business, because it would follow them.
func (w *Workspace) isWrittenThrough(dir *os.Root, name string, target Location, content []byte) bool {
	if info, err := dir.Lstat(name); err == nil && (!info.Mode().IsRegular() || links(info) > 1) {
		return false
	}
	if !w.writeThrough(target, content) {
		return false
	}
	info, err := dir.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// MakeDir makes the directory at loc, which ResolveOutput gave, and those on the
// way to it. One that is there already is as good, a link to one inside its root
// too.
func (w *Workspace) MakeDir(loc Location) error {
	target, err := w.allow("write", loc, ReadWrite)
	if err != nil {
		return err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	dir, err := w.makeDirs(target)
	if err != nil {
		return failed("write", loc.String(), err)
	}
	return dir.Close()
}

// makeDirs opens the directory at loc, made if need be.
func (w *Workspace) makeDirs(loc Location) (*os.Root, error) {
	var elements []string
	if loc.name != "." {
		elements = strings.Split(loc.name, "/")
	}
	if len(elements) >= w.limits.Depth {
		return nil, &Error{Op: "write", Path: loc.String(), Err: ErrTooLarge, Reason: fmt.Sprintf("a file's name has at most %d elements", w.limits.Depth)}
	}
	dir, err := loc.root.openDir(".")
	if err != nil {
		return nil, err
	}
	for i, element := range elements {
		err := w.makeDir(dir, element, loc.root.dirPerm())
		dir.Close()
		if err != nil {
			return nil, err
		}
		// Not from dir: a link may lead out of dir and stay inside the root.
		if dir, err = loc.root.openDir(path.Join(elements[:i+1]...)); err != nil {
			return nil, err
		}
	}
	return dir, nil
}

func (w *Workspace) makeDir(dir *os.Root, name string, perm fs.FileMode) error {
	if _, err := dir.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unlock := lockDir(dir)
	defer unlock()
	if _, err := dir.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := checkNew(dir, name, w.limits.Entries); err != nil {
		return err
	}
	if err := dir.Mkdir(name, perm); err != nil {
		return err
	}
	return w.syncDir(dir)
}

// checkTarget says whether a file may be put at name, and with which permissions.
func (w *Workspace) checkTarget(dir *os.Root, loc Location, name string) (fs.FileMode, error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return loc.root.filePerm(), checkNew(dir, name, w.limits.Entries)
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, &Error{Op: "write", Path: loc.String(), Err: ErrNotRegular, Reason: "it is a directory"}
	case info.Mode().IsRegular():
		return info.Mode().Perm(), nil
	}
	return loc.root.filePerm(), nil
}

// A session's files are for its owner; what else is written is like its surroundings.
func (r *root) filePerm() fs.FileMode {
	if r.Name == SessionFolder {
		return 0o600
	}
	return 0o644
}

func (r *root) dirPerm() fs.FileMode {
	if r.Name == SessionFolder {
		return 0o700
	}
	return 0o755
}

func (w *Workspace) replaceFile(dir *os.Root, name string, content []byte, perm fs.FileMode) error {
	temp := tempPrefix + rand.Text()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	failpoint.Here(failpoint.FileBegun)
	_, err = f.Write(content)
	if err == nil && w.isDurable {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	failpoint.Here(failpoint.FileBeforeRename)
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		// The error that matters is the first; Sweep finds what stays behind.
		_ = dir.Remove(temp)
		return err
	}
	failpoint.Here(failpoint.FileAfterRename)
	return w.syncDir(dir)
}

// syncDir makes the names in dir as durable as the files.
func (w *Workspace) syncDir(dir *os.Root) error {
	if !w.isDurable {
		return nil
	}
	return syncDir(dir)
}
