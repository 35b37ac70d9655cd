package outputs

import (
	"os"

	"golang.org/x/sys/unix"
)

// swap puts the file temp into the place of name, both in folder, at once for whoever
// reads it. Two files change places, and what was there goes: a file that is renamed
// over another is sent to the disk before that on ext4, which for a manifest at the
// end of every run costs more than all else that is done with it.
func swap(folder *os.Root, temp, name string) error {
	dir, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	fd := int(dir.Fd())
	if err := unix.Renameat2(fd, temp, fd, name, unix.RENAME_EXCHANGE); err != nil {
		// There is none yet, or the filesystem cannot do it.
		return folder.Rename(temp, name)
	}
	return folder.Remove(temp)
}
