// Package scaffold holds the project that newcomers begin with.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

//go:embed all:project
var embedded embed.FS

// Written says what became of the project's files, by their names.
type Written struct {
	Made []string `json:"made"`
	// Kept are those that were there already and were left as they are.
	Kept []string `json:"kept"`
}

// Write writes the project's files into a directory, which it creates. A file that
// is there already is left alone, whatever it holds.
func Write(dir string) (Written, error) {
	written := Written{Made: []string{}, Kept: []string{}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return written, fmt.Errorf("write project: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return written, fmt.Errorf("write project: %w", err)
	}
	defer root.Close()
	project, err := fs.Sub(embedded, "project")
	if err != nil {
		return written, err
	}
	err = fs.WalkDir(project, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(project, name)
		if err != nil {
			return err
		}
		switch err := create(root, name, content); {
		case errors.Is(err, fs.ErrExist):
			written.Kept = append(written.Kept, name)
		case err != nil:
			return fmt.Errorf("write project: %w", err)
		default:
			written.Made = append(written.Made, name)
		}
		return nil
	})
	return written, err
}

// WriteFile writes one file of a project into a directory as Write does.
func WriteFile(dir, name string, content []byte) (Written, error) {
	written := Written{Made: []string{}, Kept: []string{}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return written, fmt.Errorf("write project: %w", err)
	}
	defer root.Close()
	switch err := create(root, name, content); {
	case errors.Is(err, fs.ErrExist):
		written.Kept = append(written.Kept, name)
	case err != nil:
		return written, fmt.Errorf("write project: %w", err)
	default:
		written.Made = append(written.Made, name)
	}
	return written, nil
}

// create writes a file that must not exist.
func create(root *os.Root, name string, content []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
