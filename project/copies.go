package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/outputs"
)

// copiesName is the directory that says which folders of sessions are working copies of what a
// database has, by database. A folder that it does not name may be of a session that the database is yet to
// be told of: one that is copied into it later, or whose draft has files.
const copiesName = "working-copies"

func (p *Project) copiesDir() string {
	address := p.config.Store
	if parsed, err := url.Parse(address); err == nil { // whoever comes as somebody else finds the same
		address = parsed.Host + parsed.Path + "?" + parsed.Query().Get("schema")
	}
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(p.DataDir(), copiesName, hex.EncodeToString(sum[:8]))
}

// noteCopy notes that a session's folder, if there is one, is a working copy.
func (f *sharedFiles) noteCopy(session string) error {
	if !sessionid.Is(session) || f.isCopy(session) {
		return nil
	}
	if _, dir := f.folder(session); !isDir(dir) {
		return nil
	}
	if err := os.MkdirAll(f.copies, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.copies, session), nil, 0o600)
}

func (f *sharedFiles) isCopy(session string) bool {
	_, err := os.Lstat(filepath.Join(f.copies, session))
	return err == nil
}

// forgetCopy takes back noteCopy for a folder that is removed.
func (f *sharedFiles) forgetCopy(session string) error {
	if err := os.Remove(filepath.Join(f.copies, session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// RunSweep removes the working copies of sessions that were deleted on other machines, now and every hour
// until ctx is done. It returns at once where files are not kept in a database.
func (p *Project) RunSweep(ctx context.Context) error {
	if !p.filesInStore() {
		return nil
	}
	pause := time.NewTicker(retentionPause)
	defer pause.Stop()
	for {
		removed, err := p.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			p.log.Warn("files of deleted sessions not removed", "err", err)
		case removed > 0:
			p.log.Info("files of deleted sessions removed", "sessions", removed)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Sweep removes the working copies of sessions that the database has no more, once, and returns how
// many. What the database may not know yet stays.
func (p *Project) Sweep(ctx context.Context) (removed int, err error) {
	s, err := p.stage(ctx)
	if err != nil || s.files == nil {
		return 0, err
	}
	entries, err := os.ReadDir(s.files.outputs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, e := range entries {
		if !e.IsDir() || !sessionid.Is(e.Name()) {
			continue
		}
		isGone, err := s.files.sweep(ctx, s.folders, e.Name())
		if err != nil {
			return removed, fmt.Errorf("session %s: %w", e.Name(), err)
		}
		if isGone {
			removed++
		}
	}
	return removed, nil
}

// sweep removes a session's folder if it is a working copy of a session that is no more.
func (f *sharedFiles) sweep(ctx context.Context, folders *outputs.Folders, session string) (isGone bool, err error) {
	for _, err := range f.Log.Sessions(ctx, troupe.SessionFilter{ID: session, Limit: 1}) {
		if err != nil {
			return false, err
		}
		return false, f.noteCopy(session)
	}
	if !f.isCopy(session) {
		return false, nil
	}
	space, _ := f.folder(session)
	isGone, err = f.mirror.Discard(ctx, space, func() error { return folders.Discard(session) })
	if err != nil || !isGone {
		return false, err
	}
	return true, f.forgetCopy(session)
}
