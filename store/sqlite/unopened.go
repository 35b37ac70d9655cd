package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	codes "modernc.org/sqlite/lib"
)

var errNoPath = errors.New("the path of the file is empty")

// fileAt returns the absolute path of a file that may be there or not. SQLite does not say of
// a path that no file can have that this is what is wrong with it.
func fileAt(path string) (string, error) {
	if path == "" {
		return "", errNoPath
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", fmt.Errorf("%s is a directory; name a file in it, such as %s", path, filepath.Join(path, "troupe.db"))
	}
	return path, nil
}

// whyUnopened says of a file that SQLite could not open which one it is and why: SQLite
// says neither.
func whyUnopened(path string, err error) error {
	if primary(codeOf(err)) != codes.SQLITE_CANTOPEN {
		return err
	}
	for _, suffix := range fileSuffixes {
		// It is not opened: closing it would give up the locks that this process has on it.
		if denied := mayUse(path + suffix); errors.Is(denied, fs.ErrPermission) {
			return fmt.Errorf("open %s: %w%s", path+suffix, denied, whose(path+suffix))
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}
