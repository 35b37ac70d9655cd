package project

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project/internal/mirror"
	"github.com/troupe-dev/troupe/store"
	"github.com/troupe-dev/troupe/store/postgres"
)

// filesInStore reports whether files are kept in the database, so that machines need not
// share a directory.
func (p *Project) filesInStore() bool { return p.sharesStore() && p.config.Files != "directory" }

// A sharedFiles store keeps the files of sessions and the project's documents beside the events that
// speak of them. The folders on this machine are working copies.
type sharedFiles struct {
	store.Log
	mirror    *mirror.Mirror
	outputs   string
	documents string // empty where they are in place
	copies    string // says which folders are working copies
}

const documentSpace = "documents"

// withFiles returns the store with files, where they are kept in it.
func (p *Project) withFiles(s store.Log) (store.Log, *sharedFiles) {
	shared, ok := s.(*postgres.Store)
	if !ok || !p.filesInStore() {
		return s, nil
	}
	files := p.filesIn(shared)
	files.Log = s
	return files, files
}

// filesIn returns this project's folders as working copies of what blobs have.
func (p *Project) filesIn(blobs mirror.Blobs) *sharedFiles {
	files := &sharedFiles{mirror: mirror.New(blobs, p.log), outputs: p.outputsDir(), copies: p.copiesDir()}
	if p.config.Documents != "in-place" && !p.documents().InPlace {
		files.documents = filepath.Join(p.DataDir(), "documents")
	}
	return files
}

func (f *sharedFiles) folder(session string) (space, dir string) {
	return "session/" + session, filepath.Join(f.outputs, session)
}

// push stores what was changed in a session's folder and among the documents.
func (f *sharedFiles) push(ctx context.Context, session string) error {
	space, dir := f.folder(session)
	if err := f.mirror.Push(ctx, space, dir); err != nil {
		return err
	}
	if err := f.noteCopy(session); err != nil {
		return err
	}
	if f.documents == "" {
		return nil
	}
	return f.mirror.Push(ctx, documentSpace, f.documents)
}

// pull brings a session's folder up to date.
func (f *sharedFiles) pull(ctx context.Context, session string) error {
	space, dir := f.folder(session)
	if err := f.mirror.Pull(ctx, space, dir); err != nil {
		return err
	}
	return f.noteCopy(session)
}

// pullDocuments brings the documents up to date.
func (f *sharedFiles) pullDocuments(ctx context.Context) error {
	if f.documents == "" {
		return nil
	}
	return f.mirror.Pull(ctx, documentSpace, f.documents)
}

// Append implements [troupe.Store]. A file is stored before that it was saved is.
func (f *sharedFiles) Append(ctx context.Context, session string, events ...troupe.Event) error {
	for i := range events {
		switch events[i].Body.(type) {
		case *troupe.ArtifactSaved, *troupe.SessionForked:
			if err := f.push(ctx, session); err != nil {
				return err
			}
		default:
			continue
		}
		break
	}
	return f.Log.Append(ctx, session, events...)
}

// Acquire implements [troupe.Store]: whoever has a session has its files.
func (f *sharedFiles) Acquire(ctx context.Context, session string) (troupe.Lease, error) {
	lease, err := f.Log.Acquire(ctx, session)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.pull(ctx, session), f.pullDocuments(ctx)); err != nil {
		return nil, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	return &fileLease{lease, f, session}, nil
}

// Delete implements [troupe.Store].
func (f *sharedFiles) Delete(ctx context.Context, session string) error {
	err := f.Log.Delete(ctx, session)
	if err != nil && !errors.Is(err, troupe.ErrNotFound) {
		return err
	}
	// Whoever was killed between the two left only the files.
	space, _ := f.folder(session)
	return errors.Join(err, f.mirror.Forget(ctx, space), f.forgetCopy(session))
}

// A fileLease stores what else was changed in a session's folder before another has it.
type fileLease struct {
	troupe.Lease
	files   *sharedFiles
	session string
}

// Release implements [troupe.Lease].
func (l *fileLease) Release(ctx context.Context) error {
	return errors.Join(l.files.push(ctx, l.session), l.Lease.Release(ctx))
}

// fileChanged stores what a person has changed in a session's folder.
func (s *stage) fileChanged(ctx context.Context, session string) error {
	if s.files == nil {
		return nil
	}
	return s.files.push(ctx, session)
}

// sharedFolders are folders whose files may have been saved on other machines.
type sharedFolders struct {
	*outputs.Folders
	files *sharedFiles // nil where they are all here
}

// Path implements [server.Folders]: the folder is up to date.
func (s sharedFolders) Path(session string) (string, error) {
	path, err := s.Folders.Path(session)
	if err != nil || s.files == nil {
		return path, err
	}
	return path, s.files.pull(context.Background(), session)
}

// Copy implements [server.Folders].
func (s sharedFolders) Copy(ctx context.Context, from, to string, names []string) (missing []string, err error) {
	if s.files != nil {
		if err := s.files.pull(ctx, from); err != nil {
			return nil, err
		}
	}
	if missing, err = s.Folders.Copy(ctx, from, to, names); err != nil || s.files == nil {
		return missing, err
	}
	return missing, s.files.push(ctx, to)
}

// Append implements [troupe.Store]. A fork begins with the files of the session that it goes on
// from, which may be on another machine.
func (s sharedFolders) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if s.files != nil {
		for i := range events {
			if forked, ok := events[i].Body.(*troupe.SessionForked); ok {
				if err := s.files.pull(ctx, forked.From); err != nil {
					return err
				}
			}
		}
	}
	return s.Folders.Append(ctx, session, events...)
}
