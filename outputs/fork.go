package outputs

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// forkFolder holds the folders of forks that are not stored yet. A fork has the files
// that its log speaks of, or it is not there: they are copied here first, and moved to
// their place when the log is stored. The next [Keep] finishes what a kill has cut.
const forkFolder = ".forking"

// forkIn returns what a log that is stored as a whole is forked from, nil if it is not.
func forkIn(events []troupe.Event) *troupe.SessionForked {
	if len(events) == 0 || events[0].Seq != 1 {
		return nil
	}
	for _, e := range slices.Backward(events) { // a fork of a fork has those before it, too
		if forked, ok := e.Body.(*troupe.SessionForked); ok {
			return forked
		}
	}
	return nil
}

// stageFork puts the files of a fork that is about to be stored where they wait for that. Each is
// as it was at the end of the fork's log, if an agent has saved it again since and the log has
// its text; any other is as it is now, with what people have made of it.
func (f *Folders) stageFork(ctx context.Context, session, from string, events []troupe.Event) error {
	there, err := f.isThere(from)
	if err != nil || !there || !hasFolder(from) {
		return err
	}
	kept := newShelf()
	for i := range events {
		kept.note(&events[i])
	}
	if len(kept.files) == 0 {
		return nil
	}
	now := newShelf()
	for e, err := range f.store.Events(ctx, from, 0) {
		if errors.Is(err, troupe.ErrNotFound) {
			break // it was deleted, and its folder stays for a while
		}
		if err != nil {
			return err
		}
		if saved, ok := e.Body.(*troupe.ArtifactSaved); ok {
			now.noteSaved(saved)
		}
	}
	staged := forkFolder + "/" + session
	for _, dir := range []string{forkFolder, staged} {
		if err := f.base.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	var same []string
	earlier := map[string]string{}
	for _, name := range kept.files {
		text, isKnown := kept.text(name)
		if isKnown && now.saves[name] > kept.saves[name] {
			earlier[name] = text
		} else {
			same = append(same, name)
		}
	}
	_, err = f.copyInto(ctx, from, filepath.Join(f.dir, staged), same) // those that are gone were deleted since
	if err == nil {
		err = writeInto(filepath.Join(f.dir, staged), earlier)
	}
	if err != nil {
		f.dropStaged(session)
	}
	return err
}

// writeInto writes files of a session's folder into a directory.
func writeInto(dir string, files map[string]string) error {
	if len(files) == 0 {
		return nil
	}
	target, err := openFiles(dir, workspace.ReadWrite)
	if err != nil {
		return err
	}
	defer target.Close()
	for name, text := range files {
		loc, _, err := target.ResolveOutput("{" + workspace.SessionFolder + "}/" + name)
		if err == nil {
			err = target.Write(loc, []byte(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placeFork moves the files of a fork that is stored to their place.
func (f *Folders) placeFork(session string) error {
	err := f.base.Rename(forkFolder+"/"+session, session)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has none, or another process has done it
	}
	return err
}

// dropStaged removes the files of a fork that is not stored. What stays is removed at a
// later start.
func (f *Folders) dropStaged(session string) {
	if staged, err := f.base.OpenRoot(forkFolder); err == nil {
		defer staged.Close()
		if err := workspace.RemoveAll(staged, session); err != nil {
			f.options.Log.Warn("files of a fork not removed", "session", session, "err", err)
		}
	}
}

// finishForking goes on with the forks that a killed process has begun. One that is not
// stored may be in the making, unless it is old.
func (f *Folders) finishForking(ctx context.Context) {
	dir, err := f.base.Open(forkFolder)
	if err != nil {
		return // as a rule there is none
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	for _, e := range entries {
		session := e.Name()
		if !hasFolder(session) {
			continue
		}
		isStored := false
		for _, err := range f.store.Sessions(ctx, troupe.SessionFilter{ID: session}) {
			isStored = err == nil
		}
		info, err := e.Info()
		switch {
		case isStored:
			if err := f.placeFork(session); err != nil {
				f.options.Log.Warn("files of a fork not moved", "session", session, "err", err)
			}
		case err == nil && time.Since(info.ModTime()) > aftermath:
			f.dropStaged(session)
		}
	}
}
