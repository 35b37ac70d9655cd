package project

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store/sqlite"
)

// A Backup says what a backup holds.
type Backup struct {
	// Version is that of the format.
	Version int       `json:"version"`
	Began   time.Time `json:"began"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
	// Sums are the SHA-256 of the files, by their names.
	Sums map[string]string `json:"sums"`
}

const (
	backupVersion  = 1
	backupManifest = "backup.json"
	// maxRestored bounds a file that is restored, in bytes.
	maxRestored = 64 << 30
)

// Backup writes the project's data directory as a compressed archive, while others go on
// working in it: databases as they are at one moment, then the files of sessions and the
// documents. Everything that was acknowledged before it began is in it.
func (p *Project) Backup(ctx context.Context, w io.Writer) (_ Backup, err error) {
	b := Backup{Version: backupVersion, Began: time.Now().UTC(), Sums: map[string]string{}}
	if err := p.canBackUp(); err != nil {
		return b, err
	}
	if _, err := os.Stat(p.storeFile()); errors.Is(err, fs.ErrNotExist) {
		return b, fmt.Errorf("%w: there is no %s", ErrNoSessions, p.shown(p.storeFile()))
	}
	copies, err := os.MkdirTemp("", "troupe-backup-")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(copies)) }()
	packed := gzip.NewWriter(w)
	archive := &archiver{tar: tar.NewWriter(packed), backup: &b}
	root, err := os.OpenRoot(p.DataDir())
	if err != nil {
		return b, err
	}
	defer root.Close()
	names, err := databases(root)
	if err != nil {
		return b, err
	}
	// The databases go first: a file is there before an event says so. Folders of sessions
	// that began since are not in the copy, and are left out.
	for i, name := range names {
		copied := filepath.Join(copies, fmt.Sprint(i))
		if err := sqlite.Snapshot(ctx, filepath.Join(p.DataDir(), filepath.FromSlash(name)), copied); err != nil {
			return b, err
		}
		if err := archive.addFile(name, copied); err != nil {
			return b, err
		}
	}
	if archive.sessions, err = p.sessionsIn(ctx, copies, names); err != nil {
		return b, err
	}
	if err := archive.addTree(ctx, root, names); err != nil {
		return b, err
	}
	manifest, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return b, err
	}
	if err := archive.add(backupManifest, manifest); err != nil {
		return b, err
	}
	return b, errors.Join(archive.tar.Close(), packed.Close())
}

// sessionsIn are the ids of the sessions in the copy of the store.
func (p *Project) sessionsIn(ctx context.Context, copies string, databases []string) (ids map[string]bool, err error) {
	copied := filepath.Join(copies, fmt.Sprint(slices.Index(databases, filepath.Base(p.storeFile()))))
	reader, err := sqlite.OpenReadOnly(ctx, copied)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	ids = map[string]bool{}
	for info, err := range reader.Sessions(ctx, troupe.SessionFilter{}) {
		if err != nil {
			return nil, fmt.Errorf("backup: %w", err)
		}
		ids[info.ID] = true
	}
	return ids, nil
}

// canBackUp fails where sessions are elsewhere than in the data directory.
func (p *Project) canBackUp() error {
	if p.sharesStore() {
		return fmt.Errorf("backup: the sessions are in a PostgreSQL database, which saves itself while it is used:\n"+
			"  pg_dump --format=custom --file=troupe.dump \"$DATABASE_URL\"     # the address that store in %s names\n"+
			"  pg_restore --clean --if-exists --dbname=\"$DATABASE_URL\" troupe.dump\n"+
			"then copy the data directory %s as files", Name, p.shown(p.DataDir()))
	}
	if file, err := filepath.Abs(p.storeFile()); err != nil || filepath.Dir(file) != filepath.Clean(p.DataDir()) {
		return fmt.Errorf("backup: store in %s is outside of the data directory %s; only what is in there can be saved", Name, p.shown(p.DataDir()))
	}
	return nil
}

// databases are the SQLite files in a data directory.
func databases(root *os.Root) (names []string, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if e.Type().IsRegular() && path.Ext(e.Name()) == ".db" {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// An archiver writes files into an archive.
type archiver struct {
	tar    *tar.Writer
	backup *Backup
	// sessions are those whose folders are saved.
	sessions map[string]bool
}

func (a *archiver) add(name string, content []byte) error {
	header := &tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600, ModTime: a.backup.Began, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	if _, err := a.tar.Write(content); err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	if name != backupManifest {
		sum := sha256.Sum256(content)
		a.backup.Sums[name] = hex.EncodeToString(sum[:])
		a.backup.Files++
		a.backup.Bytes += int64(len(content))
	}
	return nil
}

// addFile adds a file that nobody changes, however long it is.
func (a *archiver) addFile(name, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Size: info.Size(), Mode: 0o600, ModTime: a.backup.Began, Format: tar.FormatPAX}); err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(a.tar, hash), f)
	if err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	a.backup.Sums[name] = hex.EncodeToString(hash.Sum(nil))
	a.backup.Files++
	a.backup.Bytes += n
	return nil
}

// passedOver are files that mean something to running processes alone.
var passedOver = []string{".db-wal", ".db-shm", ".db-journal", ".lock", ".unfinished"}

// ownerMark is in the name of a file that a process keeps locked which has a store open.
const ownerMark = ".db.owner-"

// addTree adds the files that are no databases. One that goes away meanwhile is left out.
func (a *archiver) addTree(ctx context.Context, root *os.Root, databases []string) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case d.IsDir() && path.Dir(name) == outputsName && !a.sessions[path.Base(name)]:
			return fs.SkipDir
		case !d.Type().IsRegular() || slices.Contains(databases, name) || strings.Contains(path.Base(name), ownerMark):
			return nil
		}
		for _, suffix := range passedOver {
			if strings.HasSuffix(name, suffix) {
				return nil
			}
		}
		content, err := root.ReadFile(filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		return a.add(name, content)
	})
}

// Restore unpacks a backup into the project's data directory, which must be empty or not
// be there. Nothing is there before all of it was read and found to be whole. What root
// restores belongs to whom the project's directory belongs to.
func (p *Project) Restore(ctx context.Context, r io.Reader) (Backup, error) {
	dir := p.DataDir()
	if err := p.canBackUp(); err != nil {
		return Backup{}, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return Backup{}, fmt.Errorf("restore: %s is not empty; move it away first", p.shown(dir))
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return Backup{}, err
	}
	unpacked, err := os.MkdirTemp(filepath.Dir(dir), ".restore-")
	if err != nil {
		return Backup{}, err
	}
	b, err := unpack(ctx, r, unpacked)
	if err == nil {
		err = giveTo(unpacked, p.dir)
	}
	if err == nil {
		if err = os.Remove(dir); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(unpacked, dir)
	}
	if err != nil {
		return b, errors.Join(fmt.Errorf("restore: %w", err), os.RemoveAll(unpacked))
	}
	return b, nil
}

// errNotWhole reports a backup that was cut off or changed.
var errNotWhole = errors.New("the backup is not whole")

// unpack unpacks an archive into a directory, and compares what it holds with its list.
func unpack(ctx context.Context, r io.Reader, dir string) (b Backup, err error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return b, fmt.Errorf("it is no backup of troupe's: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return b, err
	}
	defer root.Close()
	sums := map[string]string{}
	archive := tar.NewReader(packed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return b, fmt.Errorf("%w: %w", errNotWhole, err)
		}
		if err := context.Cause(ctx); err != nil {
			return b, err
		}
		if header.Name == backupManifest {
			if err := json.NewDecoder(io.LimitReader(archive, maxRestored)).Decode(&b); err != nil {
				return b, fmt.Errorf("%w: %w", errNotWhole, err)
			}
			continue
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(header.Name)) {
			return b, fmt.Errorf("%w: %q is no file of a data directory", errNotWhole, header.Name)
		}
		if sums[header.Name], err = unpackFile(root, filepath.FromSlash(header.Name), archive); err != nil {
			return b, err
		}
	}
	switch {
	case b.Version == 0:
		return b, fmt.Errorf("%w: its list is missing", errNotWhole)
	case b.Version > backupVersion:
		return b, fmt.Errorf("the backup is of a newer troupe (format %d, this one knows %d)", b.Version, backupVersion)
	case len(sums) != len(b.Sums):
		return b, fmt.Errorf("%w: it has %d files, and should have %d", errNotWhole, len(sums), len(b.Sums))
	}
	for name, sum := range b.Sums {
		if sums[name] != sum {
			return b, fmt.Errorf("%w: %s is not what was saved", errNotWhole, name)
		}
	}
	return b, nil
}

func unpackFile(root *os.Root, name string, content io.Reader) (sum string, err error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, hash), io.LimitReader(content, maxRestored))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("%w: %w", errNotWhole, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
