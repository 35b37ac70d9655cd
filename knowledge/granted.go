package knowledge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

var errOutside = errors.New("files are not read from there")

// readGranted reads a file that somebody names, inside the directory that the
// operator granted. It does not wait for pipes, and reads regular files only.
func readGranted(granted *os.Root, path string) (string, error) {
	if granted == nil {
		return "", fmt.Errorf("%w: no directory is granted; send the content", errOutside)
	}
	name := filepath.Clean(path)
	if filepath.IsAbs(name) {
		dir, err := filepath.Abs(granted.Name())
		if err != nil {
			return "", errOutside
		}
		if name, err = filepath.Rel(dir, name); err != nil {
			return "", errOutside
		}
	}
	if !filepath.IsLocal(name) {
		return "", errOutside
	}
	file, err := granted.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", errors.New("the file cannot be opened")
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxContent+1))
	if err != nil {
		return "", errors.New("the file cannot be read")
	}
	return string(data), nil
}
