package workspace

import (
	"io/fs"
	"syscall"
)

// identify returns the state that an open file is in.
func identify(info fs.FileInfo) (identity, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{uint64(s.Dev), s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano()}, true
}
