package outputs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// A View finds sessions by the manifests in their folders, and changes nothing. It
// may be used concurrently.
type View struct {
	store   troupe.Store
	dir     string
	base    *os.Root
	reading *workspace.Workspace // of all folders
	options Options
}

// Look opens the folders in dir for reading, beside the process that keeps them or
// where nothing may be written. Of the store it needs Events and Sessions alone.
func Look(store troupe.Store, dir string, options Options) (*View, error) {
	v, err := look(store, dir, options)
	if err != nil {
		return nil, fmt.Errorf("look at outputs: %w", err)
	}
	return v, nil
}

func look(store troupe.Store, dir string, options Options) (*View, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	base, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	reading, err := open(folderRoot, dir, workspace.ReadOnly)
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &View{store: store, dir: dir, base: base, reading: reading, options: options}, nil
}

// Close gives up the handles on the directory. The store is not closed.
func (v *View) Close() error { return errors.Join(v.reading.Close(), v.base.Close()) }

// Path returns the folder of a session on the host. It exists soon after the session's
// first event is stored.
func (v *View) Path(session string) (string, error) {
	if !hasFolder(session) {
		return "", fmt.Errorf("session %.64q: only a UUID in lower case has a folder", session)
	}
	return filepath.Join(v.dir, session), nil
}

// compute returns the manifest that a session's log and the file make together. It
// fails with [troupe.ErrNotFound] if the store does not know the session.
func (v *View) compute(ctx context.Context, session string) (Manifest, error) {
	r := &record{session: session, options: &v.options}
	for event, err := range v.store.Events(ctx, session, 0) {
		if err != nil {
			return Manifest{}, err
		}
		r.note(&event)
	}
	older := map[string]any{}
	if content, err := v.readFile(session); err == nil {
		if object, damage := parseAll(content, session); damage == nil {
			older = object
		}
	}
	updated, err := r.manifest.over(older)
	if err != nil {
		return Manifest{}, err
	}
	return parse(string(updated), session)
}
