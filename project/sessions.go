package project

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
)

// ErrNoSessions reports a project in which nothing has run yet.
var ErrNoSessions = errors.New("there are no sessions here yet")

// Sessions reads the manifests of the project's sessions, beside whoever has them
// open. Where there are none, it makes no directory for them. Where there is a store, folders
// of sessions that it does not have are nobody's: they cannot be read, continued or deleted.
func (p *Project) Sessions(ctx context.Context, filter outputs.Filter) (found []outputs.Manifest, err error) {
	if _, err := os.Stat(p.outputsDir()); errors.Is(err, fs.ErrNotExist) {
		if !p.sharesStore() {
			return nil, nil
		}
		if err := os.MkdirAll(p.outputsDir(), 0o700); err != nil { // others have sessions
			return nil, err
		}
	}
	var store troupe.Store = troupe.NewMemoryStore()
	reader, err := p.OpenReader(ctx)
	switch {
	case errors.Is(err, ErrNoSessions): // the folders are all there is
	case err != nil:
		return nil, err
	default:
		store, filter.Stored = reader, true
		defer func() { err = errors.Join(err, reader.Close()) }()
	}
	view, err := outputs.Look(store, p.outputsDir(), outputs.Options{Describe: p.describe, Log: p.log})
	if err != nil {
		return nil, err
	}
	found, err = view.Find(ctx, filter)
	return found, errors.Join(err, view.Close())
}
