package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// buildRoot makes the view that the command has of the file system and enters it: all
// of it read-only, homes and temporary directories empty, and what the command may see
// or write put back in its place.
func buildRoot(sp *spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	root := sp.Root
	if err := unix.Mount("/", root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make a new root: %w", err)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, root, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}); err != nil {
		return fmt.Errorf("make the new root read-only: %w", err)
	}
	empty := hiddenDirs()
	for _, dir := range empty {
		info, err := os.Lstat(root + dir)
		if err != nil || !info.IsDir() {
			continue
		}
		if err := unix.Mount("tmpfs", root+dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=2g,mode=1777"); err != nil {
			return fmt.Errorf("empty %s: %w", dir, err)
		}
	}
	for _, file := range []string{"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-"} {
		if _, err := os.Lstat(root + file); err == nil {
			if err := unix.Mount("/dev/null", root+file, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("hide %s: %w", file, err)
			}
		}
	}
	for _, path := range slices.Sorted(slices.Values(sp.Read)) {
		if err := putBack(root, path, true); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(slices.Values(sp.Write)) {
		if err := putBack(root, path, false); err != nil {
			return err
		}
	}
	if err := hideAround(root, sp); err != nil {
		return err
	}
	for _, o := range sp.Overlays {
		overlay(root, o)
	}
	if err := closeOff(root, sp); err != nil {
		return err
	}
	// A fresh view of processes; where the kernel refuses it, the old one stays, which
	// shows more and gives no access.
	if unix.Mount("proc", root+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") == nil {
		_ = os.WriteFile(root+"/proc/sys/kernel/pid_max", []byte("4096"), 0o644)
	}
	sp.Home = "/tmp/home"
	if err := os.Mkdir(root+sp.Home, 0o755); err != nil {
		return fmt.Errorf("make a home: %w", err)
	}
	return enter(root)
}

// hiddenDirs are the directories that a person's own things are in.
func hiddenDirs() []string {
	dirs := []string{"/tmp", "/var/tmp", "/run", "/home", "/root", "/dev/shm", "/mnt", "/media"}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, home)
	}
	if u, err := user.Current(); err == nil {
		dirs = append(dirs, u.HomeDir)
	}
	var list []string
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != "/" && !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	slices.Sort(list)
	return list
}

// putBack shows a path in the new root as it is in the old one.
func putBack(root, path string, readOnly bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	target := root + path
	if _, err := os.Lstat(target); errors.Is(err, os.ErrNotExist) {
		if err := makeTarget(target, info.IsDir()); err != nil {
			return fmt.Errorf("show %s: %w", path, err)
		}
	}
	if err := unix.Mount(path, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, attr); err != nil {
		return fmt.Errorf("protect %s: %w", path, err)
	}
	return nil
}

// hideAround empties the hidden directories that something is in which is shown: that alone
// is there then.
func hideAround(root string, sp *spec) error {
	for _, path := range slices.Sorted(slices.Values(sp.Hide)) {
		if _, err := os.Lstat(root + path); err != nil || !sp.showsIn(path) {
			continue
		}
		if err := unix.Mount("tmpfs", root+path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,mode=0755"); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
		for _, shown := range slices.Sorted(slices.Values(sp.Read)) {
			if isIn(shown, path) {
				if err := putBack(root, shown, true); err != nil {
					return err
				}
			}
		}
		for _, shown := range slices.Sorted(slices.Values(sp.Write)) {
			if isIn(shown, path) {
				if err := putBack(root, shown, false); err != nil {
					return err
				}
			}
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, root+path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	return nil
}

// showsIn reports whether something is shown that is in a directory.
func (sp *spec) showsIn(dir string) bool {
	return slices.ContainsFunc(slices.Concat(sp.Read, sp.Write), func(shown string) bool { return isIn(shown, dir) })
}

func isIn(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// closeOff takes back what lies in the directories that may be written and is not to be
// changed, or not to be seen.
func closeOff(root string, sp *spec) error {
	for _, path := range slices.Sorted(slices.Values(sp.Keep)) {
		if _, err := os.Lstat(root + path); err != nil {
			continue // it is not shown
		}
		if err := putBack(root, path, true); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(slices.Values(sp.Hide)) {
		info, err := os.Lstat(root + path)
		switch {
		case err != nil || sp.showsIn(path):
			continue // it is hidden already
		case info.IsDir():
			err = unix.Mount("tmpfs", root+path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY, "size=4k,mode=0555")
		default:
			err = unix.Mount("/dev/null", root+path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

func makeTarget(target string, isDir bool) error {
	if isDir {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o644)
}

// overlay shows a directory as another one is, where the kernel can: it only saves time.
func overlay(root string, o Overlay) {
	work := o.Upper + ".work"
	for _, dir := range []string{o.Upper, work, root + o.Target} {
		if os.MkdirAll(dir, 0o755) != nil {
			return
		}
	}
	_ = unix.Mount("overlay", root+o.Target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, "lowerdir="+o.Lower+",upperdir="+o.Upper+",workdir="+work+",userxattr")
}

// enter makes the new root the root, and the old one unreachable.
func enter(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return os.Chdir("/")
}

// systemDirs are those that programs need to read whatever they do. Nothing else of the
// system is shown, wherever a person keeps their things.
func systemDirs() []string {
	return []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/proc", "/sys", "/dev", "/nix", "/gnu", "/snap", "/var/lib"}
}
