//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

// openWithoutWaiting is nothing where opening never waits.
const openWithoutWaiting = 0

// device says that all files are on one file system: here nobody tells.
func device(fs.FileInfo) uint64 { return 0 }

// links says that every file has one name: here nobody tells.
func links(fs.FileInfo) uint64 { return 1 }

// syncDir does nothing where directories cannot be synchronised.
func syncDir(*os.Root) error { return nil }

// lockDir does nothing: names that differ only in case are one name here.
func lockDir(*os.Root) (unlock func()) { return func() {} }
