package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// standIns are empty places where there is nothing yet and the program is to make nothing: only
// what is there can be closed off. They are in the way of nobody else, and gone when the last
// program has ended that needs them. What a process leaves behind that was killed, the next one
// removes.
type standIns struct {
	dirs  []*os.File // those that they are in, with a lock that says that they are needed
	paths []string
}

// standInMark is set on them, and on nothing else that is empty.
const standInMark = fs.ModeSticky

// standIn makes the places that are missing: directories for what is kept, and files for what
// is hidden and has a hidden file's name. Other names are those of files that are read by
// programs which would stumble over an empty one.
func standIn(c *Command) (*standIns, error) {
	s := &standIns{}
	for _, path := range c.Keep {
		if filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")) == "" {
			if err := s.add(c, path, true); err != nil {
				return nil, errors.Join(err, s.leave())
			}
		}
	}
	for _, path := range c.Hide {
		if strings.HasPrefix(filepath.Base(path), ".") {
			if err := s.add(c, path, false); err != nil {
				return nil, errors.Join(err, s.leave())
			}
		}
	}
	return s, nil
}

func (s *standIns) add(c *Command, path string, isDir bool) error {
	parent := filepath.Dir(path)
	if !slices.Contains(c.Write, parent) {
		return nil
	}
	if info, err := os.Lstat(path); err == nil && !isStandIn(info) {
		return nil
	}
	if !slices.ContainsFunc(s.dirs, func(f *os.File) bool { return f.Name() == parent }) {
		dir, err := os.Open(parent)
		if err != nil {
			return err
		}
		s.dirs = append(s.dirs, dir)
		if err := unix.Flock(int(dir.Fd()), unix.LOCK_SH); err != nil {
			return &fs.PathError{Op: "lock", Path: parent, Err: err}
		}
	}
	err := makeStandIn(path, isDir)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	s.paths = append(s.paths, path)
	return err
}

func makeStandIn(path string, isDir bool) error {
	if isDir {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		return os.Chmod(path, 0o755|standInMark)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(0o600|standInMark), file.Close())
}

func isStandIn(info fs.FileInfo) bool {
	return info.Mode()&standInMark != 0 && (info.IsDir() || info.Mode().IsRegular() && info.Size() == 0)
}

// leave removes the places, unless somebody has put something there meanwhile or another
// program still needs them.
func (s *standIns) leave() error {
	for _, dir := range s.dirs {
		if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			for _, path := range s.paths {
				if info, err := os.Lstat(path); err == nil && filepath.Dir(path) == dir.Name() && isStandIn(info) {
					_ = os.Remove(path) // it stays where it is not empty any more
				}
			}
		}
		if err := dir.Close(); err != nil {
			return err
		}
	}
	return nil
}
