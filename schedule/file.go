package schedule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// A Folder is a [Shelf] of files in a directory, for one machine. It may be used
// concurrently, by several processes.
type Folder string

// Read implements [Shelf].
func (f Folder) Read(_ context.Context, name string) ([]byte, error) {
	data, err := os.ReadFile(f.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func (f Folder) file(name string) string { return filepath.Join(string(f), name+".json") }

// Change implements [Shelf]. A reader sees what was there before or what is there after.
func (f Folder) Change(_ context.Context, name string, change func(before []byte) (after []byte, err error)) (err error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	lock := flock.New(f.file(name) + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	before, err := f.Read(context.Background(), name)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return err
	}
	made := f.file(name) + ".new"
	if err := os.WriteFile(made, after, 0o600); err != nil {
		return err
	}
	return os.Rename(made, f.file(name))
}
