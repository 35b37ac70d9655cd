package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/store/sqlite"
)

// ErrNoSessions reports a project in which nothing has run yet.
var ErrNoSessions = errors.New("there are no sessions here yet")

func (p *Project) storeFile() string { return filepath.Join(p.DataDir(), "troupe.db") }

// OpenReader opens the store for reading, beside whoever writes to it. It fails with
// [ErrNoSessions] where nothing has run yet, and makes no file. Whoever opens it
// closes it.
func (p *Project) OpenReader(ctx context.Context) (*sqlite.Reader, error) {
	reader, err := sqlite.OpenReadOnly(ctx, p.storeFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s", ErrNoSessions, p.shown(p.storeFile()))
	}
	return reader, err
}

// Sessions reads the manifests of the project's sessions, beside whoever has them
// open. Where there are none, it makes no directory for them.
func (p *Project) Sessions(ctx context.Context, filter outputs.Filter) (found []outputs.Manifest, err error) {
	if _, err := os.Stat(p.outputsDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var store troupe.Store = troupe.NewMemoryStore()
	reader, err := p.OpenReader(ctx)
	switch {
	case errors.Is(err, ErrNoSessions): // the folders are all there is
	case err != nil:
		return nil, err
	default:
		store = reader
		defer func() { err = errors.Join(err, reader.Close()) }()
	}
	view, err := outputs.Look(store, p.outputsDir(), outputs.Options{Describe: p.describe, Log: p.log})
	if err != nil {
		return nil, err
	}
	found, err = view.Find(ctx, filter)
	return found, errors.Join(err, view.Close())
}
