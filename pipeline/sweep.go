package pipeline

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sweepFolder removes what interrupted writes left behind in a delivery's folder: files
// that were not complete yet, last changed before the given time.
func sweepFolder(folder string, before time.Time) {
	_ = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(d.Name(), newFile) && !strings.HasPrefix(d.Name(), ".troupe-tmp-") {
			return nil // what cannot be looked at stays
		}
		if info, err := d.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(name) // at the latest with the delivery
		}
		return nil
	})
}

// newFile begins the names of files of a delivery that are not complete yet.
const newFile = ".new-"

// sweepOnce sweeps a session's folder the first time that it is worked in: what is there
// from before this process is of nobody who still writes.
func (s *workshop) sweepOnce(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept == nil {
		s.swept = map[string]bool{}
	}
	if !s.swept[session] {
		s.swept[session] = true
		sweepFolder(s.folder(session), s.opened)
	}
}
