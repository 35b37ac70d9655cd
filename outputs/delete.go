package outputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/workspace"
)

// deletedFolder holds the folders whose sessions are being deleted. Whoever finds one
// there goes on with that, and need not look at all the others for it.
const deletedFolder = ".deleted"

func asideOf(session string) string { return deletedFolder + "/" + session }

// Delete removes a session's folder, without following links or crossing devices, and
// forgets the session. A process that is killed meanwhile leaves either the session or
// a folder that says it is being deleted: the next [Keep] finishes that. If only the
// folder is left of a session, that is removed.
func (f *Folders) Delete(ctx context.Context, session string) error {
	if !hasFolder(session) {
		return f.store.Delete(ctx, session)
	}
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.reset()
	return f.delete(ctx, session)
}

func (f *Folders) delete(ctx context.Context, session string) error {
	aside := asideOf(session)
	hadFolder, err := f.putAside(session)
	if err != nil {
		return fmt.Errorf("session %s: remove folder: %w", session, err)
	}
	failpoint.Here(failpoint.FolderSetAside)
	err = f.store.Delete(ctx, session)
	if err != nil && !(hadFolder && errors.Is(err, troupe.ErrNotFound)) {
		if hadFolder {
			err = errors.Join(err, f.base.Rename(aside, session))
		}
		return err
	}
	failpoint.Here(failpoint.SessionForgotten)
	if !hadFolder {
		return nil
	}
	if err := f.removeAside(session); err != nil {
		return fmt.Errorf("session %s: remove folder: %w", session, err)
	}
	return nil
}

// Discard removes a session's folder as Delete does, and leaves the session alone: the folder is a copy of
// one that is gone.
func (f *Folders) Discard(session string) error {
	if !hasFolder(session) {
		return nil
	}
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.reset()
	hadFolder, err := f.putAside(session)
	if err == nil && hadFolder {
		err = f.removeAside(session)
	}
	if err != nil {
		return fmt.Errorf("session %s: remove folder: %w", session, err)
	}
	return nil
}

// putAside sets a session's folder aside and reports whether there is one, also where a
// killed process had done it.
func (f *Folders) putAside(session string) (hadFolder bool, err error) {
	f.forget(session)
	err = f.setFolderAside(session, asideOf(session))
	_, missing := f.base.Lstat(asideOf(session))
	return missing == nil, err
}

// removeAside removes a folder that was set aside.
func (f *Folders) removeAside(session string) error {
	deleted, err := f.base.OpenRoot(deletedFolder)
	if err != nil {
		return err
	}
	defer deleted.Close()
	return workspace.RemoveAll(deleted, session)
}

// setFolderAside renames a session's folder, if it has one. What was set aside before
// and not removed goes first.
func (f *Folders) setFolderAside(session, aside string) error {
	if _, err := f.base.Lstat(session); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := f.base.Lstat(aside); err == nil {
		if err := f.removeAside(session); err != nil {
			return err
		}
	}
	if err := f.base.Mkdir(deletedFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.base.Rename(session, aside)
}

// finishDeleting deletes the sessions that a killed process was deleting.
func (f *Folders) finishDeleting(ctx context.Context) {
	dir, err := f.base.Open(deletedFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		f.options.Log.Warn("folders not listed", "err", err)
		return
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			session := e.Name()
			if !hasFolder(session) || f.isOwned(ctx, session) {
				continue
			}
			if err := f.delete(ctx, session); err != nil {
				f.options.Log.Warn("session not deleted", "session", session, "err", err)
			}
		}
		if err != nil {
			return
		}
	}
}

// isOwned reports whether somebody has the session.
func (f *Folders) isOwned(ctx context.Context, session string) bool {
	for info, err := range f.store.Sessions(ctx, troupe.SessionFilter{ID: session}) {
		return err != nil || info.Owner != (troupe.Owner{})
	}
	return false
}
