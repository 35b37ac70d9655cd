package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Directory checks that files can be written to a directory, or that it could be
// made. It leaves nothing behind.
func Directory(name, dir, shown string) Check {
	existing := dir
	for {
		info, err := os.Stat(existing)
		if err == nil && !info.IsDir() {
			return Check{Name: name, Status: Broken, Message: fmt.Sprintf("%s is not a directory", existing), Fix: "remove it, or set data in troupe.yaml to another directory"}
		}
		parent := filepath.Dir(existing)
		if !errors.Is(err, fs.ErrNotExist) || parent == existing {
			break
		}
		existing = parent
	}
	f, err := os.CreateTemp(existing, ".troupe-doctor-*")
	if err != nil {
		return Check{Name: name, Status: Broken, Message: fmt.Sprintf("%s cannot be written to: %v", shown, cause(err)), Fix: "change its permissions, or set data in troupe.yaml to another directory"}
	}
	_, err = f.WriteString("troupe doctor was here\n")
	if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return Check{Name: name, Status: Broken, Message: fmt.Sprintf("%s cannot be written to: %v", shown, cause(err)), Fix: "is the disk full?"}
	}
	message := shown + " can be written to"
	if existing != dir {
		message = shown + " will be made when it is needed"
	}
	return Check{Name: name, Status: OK, Message: message}
}

// cause leaves out the name of the file that was only made for the check.
func cause(err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		return onPath.Err
	}
	return err
}
