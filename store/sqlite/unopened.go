package sqlite

import (
	"errors"
	"fmt"
	"io/fs"

	codes "modernc.org/sqlite/lib"
)

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
