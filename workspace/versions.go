package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
	"time"
)

// versionsDir is where earlier versions are kept, in the directory of the documents.
const versionsDir = ".troupe-versions"

// latestName is the copy of what was written here last, among the earlier versions of a document that
// is in place: an editor or git may replace the document, and nobody else has that version then.
const latestName = "latest"

// maxVersions is how many earlier versions of a document are kept.
const maxVersions = 20

// A Version is an earlier content of a document.
type Version struct {
	Number   int
	Size     int64
	Modified time.Time // when it was replaced
}

// Versions lists the earlier versions of a document that are kept, oldest first. What it still holds is
// none of them: that was kept for a write that failed.
func (w *Workspace) Versions(loc Location) ([]Version, error) {
	dir, err := w.versionsOf(loc)
	if err != nil || dir == "" {
		return nil, err
	}
	files := w.documents.versionFiles(dir)
	var list []Version
	for number, info := range files {
		list = append(list, Version{number, info.Size(), info.ModTime()})
	}
	slices.SortFunc(list, func(a, b Version) int { return a.Number - b.Number })
	if content, ok := w.documents.replacedAt(loc, dir, lastOf(files)); ok {
		list = append(list, Version{lastOf(files) + 1, int64(len(content)), modified(loc)})
	} else if n := len(list); n > 0 && w.holds(loc, dir, list[n-1]) {
		list = list[:n-1]
	}
	return list, nil
}

// holds says whether a document has the content of a version.
func (w *Workspace) holds(loc Location, dir string, v Version) bool {
	target, err := w.allow("read", loc, ReadOnly)
	if err != nil {
		return false
	}
	info, err := target.root.dir.Lstat(target.name)
	if err != nil || info.Size() != v.Size { // most are told apart by that, and not read
		return false
	}
	now, err := target.root.dir.ReadFile(target.name)
	return err == nil && w.documents.isVersion(dir, v.Number, now)
}

// modified is when somebody last wrote at a place.
func modified(loc Location) time.Time {
	if info, err := loc.root.dir.Lstat(loc.name); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

// lastOf is the number of the latest of the versions, 0 where there are none.
func lastOf(files map[int]fs.FileInfo) int {
	last := 0
	for number := range files {
		last = max(last, number)
	}
	return last
}

// replacedAt is replaced for a document of which only the place is known. Nothing is read of those
// that are not in place.
func (d *documents) replacedAt(loc Location, dir string, last int) ([]byte, bool) {
	if !d.InPlace {
		return nil, false
	}
	now, err := loc.root.dir.ReadFile(loc.name)
	if err != nil {
		return nil, false
	}
	return d.replaced(dir, now, last)
}

// replaced returns what was written last, and whether something else has taken its place since: then it is
// a version that no file has yet, the one after the last.
func (d *documents) replaced(dir string, now []byte, last int) ([]byte, bool) {
	if !d.InPlace {
		return nil, false
	}
	content, err := d.kept.dir.ReadFile(path.Join(dir, latestName))
	if err != nil || string(content) == string(now) {
		return nil, false
	}
	if d.isVersion(dir, last, content) {
		return nil, false // whoever wrote the next one was killed before its copy was made
	}
	if d.isVersion(dir, last, now) && d.isVersion(dir, last-1, content) {
		return nil, false // both were kept for a write that failed
	}
	return content, true
}

// isVersion says whether a version is kept and has a content.
func (d *documents) isVersion(dir string, number int, content []byte) bool {
	kept, err := d.kept.dir.ReadFile(path.Join(dir, versionName(number)))
	return err == nil && string(kept) == string(content)
}

// ReadVersion reads an earlier version of a document.
func (w *Workspace) ReadVersion(loc Location, number int) (string, error) {
	dir, err := w.versionsOf(loc)
	if err != nil {
		return "", err
	}
	if dir == "" {
		return "", &Error{Op: "read", Path: loc.String(), Err: ErrNotFound, Reason: "it is no document"}
	}
	content, err := w.documents.kept.dir.ReadFile(path.Join(dir, versionName(number)))
	if errors.Is(err, fs.ErrNotExist) && number == lastOf(w.documents.versionFiles(dir))+1 {
		if latest, ok := w.documents.replacedAt(loc, dir, number-1); ok {
			return string(latest), nil
		}
	}
	if err != nil {
		return "", failed("read", loc.String(), err)
	}
	return string(content), nil
}

// versionsOf returns the directory of a document's versions; empty if it is none.
func (w *Workspace) versionsOf(loc Location) (string, error) {
	if _, err := w.allow("read", loc, ReadOnly); err != nil {
		return "", err
	}
	if w.documents == nil {
		return "", nil
	}
	name, ok := w.documents.nameOf(loc)
	if !ok {
		return "", nil
	}
	return path.Join(versionsDir, name), nil
}

func versionName(number int) string { return fmt.Sprintf("%06d", number) }

// versionFiles returns the versions in a directory, by their numbers.
func (d *documents) versionFiles(dir string) map[int]fs.FileInfo {
	found := map[int]fs.FileInfo{}
	in, err := openOnlyDir(d.kept.dir, dir)
	if err != nil {
		return nil
	}
	defer in.Close()
	names, _, err := readNames(in, 10*maxVersions)
	if err != nil {
		return nil
	}
	for _, name := range names {
		number := 0
		if _, err := fmt.Sscanf(name, "%06d", &number); err != nil || versionName(number) != name {
			continue
		}
		if info, err := in.Lstat(name); err == nil && info.Mode().IsRegular() {
			found[number] = info
		}
	}
	return found
}

// versioned returns the directory of the versions of a place, and whether it has any.
func (w *Workspace) versioned(target Location) (dir string, ok bool) {
	d := w.documents
	if d == nil || !w.isDurable {
		return "", false
	}
	name, ok := d.nameOf(target)
	return path.Join(versionsDir, name), ok && (!d.InPlace || d.inFolder(name))
}

// keepVersion keeps what is at a place that is about to be replaced by content, and what was written
// there last, where somebody else has replaced it since. What is kept last already is not kept again:
// the write that it was kept for may have failed, as often as it was tried.
func (w *Workspace) keepVersion(target Location, content []byte) error {
	at, ok := w.versioned(target)
	if !ok {
		return nil
	}
	old, err := target.root.dir.ReadFile(target.name)
	isMissing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if err != nil && !isMissing {
		return err
	}
	var all [][]byte
	last := lastOf(w.documents.versionFiles(at))
	if latest, ok := w.documents.replaced(at, old, last); ok {
		all = append(all, latest)
	}
	if !isMissing && string(old) != string(content) && (all != nil || !w.documents.isVersion(at, last, old)) {
		all = append(all, old)
	}
	for _, version := range all {
		if err := w.addVersion(at, version); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) addVersion(at string, content []byte) error {
	d := w.documents
	dir, err := w.openVersions(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	files := d.versionFiles(at)
	if err := w.replaceFile(dir, versionName(lastOf(files)+1), content, 0o644); err != nil {
		return err
	}
	return d.prune(dir, files)
}

// keepLatest keeps a copy of what was written in place. Where it fails there is none: one of something
// earlier would be taken for what was written last.
func (w *Workspace) keepLatest(target Location, content []byte) error {
	at, ok := w.versioned(target)
	if !ok || !w.documents.InPlace {
		return nil
	}
	dir, err := w.openVersions(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := w.replaceFile(dir, latestName, content, 0o644); err != nil {
		_ = dir.Remove(latestName) // the error that matters is the first
		return err
	}
	return nil
}

func (w *Workspace) openVersions(at string) (*os.Root, error) {
	if err := w.documents.kept.dir.MkdirAll(at, 0o755); err != nil {
		return nil, err
	}
	return openOnlyDir(w.documents.kept.dir, at)
}

// prune removes the oldest versions beyond those that are kept.
func (d *documents) prune(dir *os.Root, files map[int]fs.FileInfo) error {
	numbers := make([]int, 0, len(files))
	for number := range files {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for len(numbers) >= maxVersions {
		if err := dir.Remove(versionName(numbers[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		numbers = numbers[1:]
	}
	return nil
}
