package outputs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/workspace"
)

const (
	manifestFile = "manifest.json"
	// damagedFile is where a manifest goes that is of no use.
	damagedFile = "manifest.damaged.json"
	// maxManifest bounds a manifest, in bytes.
	maxManifest = 4 << 20
	// tempPrefix begins the names of files in the making, as those of a workspace do:
	// what a killed process leaves of them is swept with the others.
	tempPrefix = ".troupe-tmp-"
	// folderRoot names the directory of all folders where they are read.
	folderRoot = "agent-outputs"
)

// open opens a directory as a workspace. It is the engine's own, and nothing in it
// is opened this way but manifests, to which a backup may hold hard links.
func open(name, dir string, access workspace.Access) (*workspace.Workspace, error) {
	return workspace.Open(workspace.Config{
		Roots:  []workspace.Root{{Name: name, Dir: dir, Access: access, Trusted: true}},
		Limits: workspace.Limits{FileBytes: maxManifest},
	})
}

// create makes sure that a session has a folder, and opens it for writing.
func (f *Folders) create(session string) (*workspace.Workspace, error) {
	if err := f.makeFolder(session); err != nil {
		return nil, err
	}
	return open(workspace.SessionFolder, filepath.Join(f.dir, session), workspace.ReadWrite)
}

// makeFolder makes sure that a session has a folder.
func (f *Folders) makeFolder(session string) error {
	there, err := f.isThere(session)
	if err != nil || there {
		return err
	}
	if err := f.makeDir(session); !errors.Is(err, fs.ErrExist) {
		return err
	}
	_, err = f.isThere(session) // somebody else was quicker
	return err
}

// isThere reports whether a session has a folder. A link in its place is an error.
func (f *Folders) isThere(session string) (bool, error) {
	info, err := f.base.Lstat(session)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !info.IsDir():
		err = fmt.Errorf("folder of session %s: it is no directory", session)
	}
	return err == nil, err
}

// makeDir makes a session's folder. It does not wait for the disk: see settle.
func (f *Folders) makeDir(session string) error {
	err := f.base.Mkdir(session, 0o700)
	if err == nil {
		failpoint.Here(failpoint.FolderMade)
	}
	return err
}

// settle waits until the disk has the folders that there are: what is on record as saved
// must be found, and a file is, after the power was lost, only in a folder that is.
func (f *Folders) settle() error {
	dir, err := f.base.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// settleOnce settles what is there when a session says for the first time that it has
// saved something.
func (f *Folders) settleOnce(session string) error {
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settled {
		return nil
	}
	err := f.settle()
	r.settled = err == nil
	return err
}

// isSaved reports whether an event says that a file is saved.
func isSaved(e troupe.Event) bool {
	_, is := e.Body.(*troupe.ArtifactSaved)
	return is
}

// write brings the session's manifest.json up to date, with outputs registered.
func (f *Folders) write(r *record, registered ...Output) error {
	if err := f.makeFolder(r.session); err != nil {
		return err
	}
	// Every turn comes by here: the folder is found once for all that is done in it.
	folder, err := f.base.OpenRoot(r.session)
	if err != nil {
		return err
	}
	defer folder.Close()
	updated, err := f.updated(folder, r, registered)
	if err != nil || updated == nil {
		return err
	}
	failpoint.Here(failpoint.ManifestBehind)
	return replace(folder, r, updated)
}

// updated returns what the manifest's file is to have, nil if it has it already. What
// others have added to it stays. That takes no reading where the file is the one that
// was written last, and nobody else's words are in it.
func (f *Folders) updated(folder *os.Root, r *record, registered []Output) ([]byte, error) {
	if info, err := folder.Lstat(manifestFile); err == nil && r.plain != nil && isSame(info, r.plain) && len(registered) == 0 {
		return r.manifest.alone()
	}
	r.plain, r.ours = nil, false
	content, older, err := f.existing(r.session)
	if err != nil {
		return nil, err
	}
	r.ours = len(older) == 0 && len(registered) == 0
	updated, err := r.manifest.over(older, registered...)
	if err != nil || string(updated) == content {
		return nil, err
	}
	return updated, nil
}

// isSame reports whether a file is what it was.
func isSame(now, before fs.FileInfo) bool {
	return os.SameFile(now, before) && now.Size() == before.Size() && now.ModTime().Equal(before.ModTime())
}

// replace puts a manifest into its place. It does not wait for the disk: what is lost
// with the power is made again from the log.
func replace(folder *os.Root, r *record, content []byte) error {
	temp := tempPrefix + rand.Text()
	file, err := folder.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	info, lost := file.Stat()
	if err = errors.Join(err, lost, file.Close()); err == nil {
		err = swap(folder, temp, manifestFile)
	}
	if err != nil {
		return errors.Join(err, folder.Remove(temp))
	}
	if r.ours {
		r.plain = info
	}
	return nil
}

// existing returns the manifest that is there, as it is and as an object, which is
// empty if there is none. One that is of no use is set aside.
func (f *Folders) existing(session string) (string, map[string]any, error) {
	content, err := f.readFile(session)
	switch {
	case err == nil:
		object, damage := parseAll(content, session)
		if damage == nil {
			return content, object, nil
		}
		err = damage
	case errors.Is(err, workspace.ErrNotFound):
		return "", map[string]any{}, nil
	case !errors.Is(err, workspace.ErrTooLarge) && !errors.Is(err, workspace.ErrNotRegular) && !errors.Is(err, workspace.ErrDenied):
		return "", nil, err // it may well be there
	}
	f.options.Log.Warn("manifest made again from the log", "session", session, "err", err)
	return "", map[string]any{}, f.setAside(session)
}

// setAside renames a damaged manifest. It replaces none that was set aside before.
func (f *Folders) setAside(session string) error {
	aside := session + "/" + damagedFile
	if _, err := f.base.Lstat(aside); err == nil {
		aside = strings.TrimSuffix(aside, ".json") + "-" + rand.Text() + ".json"
	}
	return f.base.Rename(session+"/"+manifestFile, aside)
}

// read returns the manifest that is in a session's folder.
func (v *View) read(session string) (Manifest, error) {
	content, err := v.readFile(session)
	if err != nil {
		return Manifest{}, err
	}
	return parse(content, session)
}

func (v *View) readFile(session string) (string, error) {
	loc, err := v.reading.Resolve("{" + folderRoot + "}/" + session + "/" + manifestFile)
	if err != nil {
		return "", err
	}
	return v.reading.ReadFile(loc)
}

// sweep removes what interrupted writes left behind.
func (f *Folders) sweep(session string) error {
	ws, err := f.create(session)
	if err != nil {
		return err
	}
	defer ws.Close()
	_, err = ws.Sweep(f.started)
	return err
}
