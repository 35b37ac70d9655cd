//go:build !linux

package outputs

import "os"

// swap puts the file temp into the place of name, both in folder, at once for whoever
// reads it.
func swap(folder *os.Root, temp, name string) error { return folder.Rename(temp, name) }
