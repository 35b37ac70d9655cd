package workspace

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"
)

// maxRemovalDepth bounds the directories that RemoveAll holds open at once.
const maxRemovalDepth = 256

// RemoveAll removes an entry of parent and everything below it. It works by handle
// and follows no link. If any directory below is on another device, as a mounted
// one is, nothing is removed at all. A name that does not exist is no error.
func RemoveAll(parent *os.Root, name string) error {
	return removal{device}.all(parent, name)
}

// removal is how a tree is removed; a test has its own idea of devices.
type removal struct {
	deviceOf func(fs.FileInfo) uint64
}

func (r removal) all(parent *os.Root, name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return refuse("remove", name, "not the name of an entry")
	}
	info, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		if err = r.eachBelow(parent, info, maxRemovalDepth, keep); err == nil {
			err = r.eachBelow(parent, info, maxRemovalDepth, (*os.Root).Remove)
		}
	}
	if err == nil {
		err = parent.Remove(name)
	}
	if err != nil {
		return failed("remove", name, err)
	}
	return nil
}

func keep(*os.Root, string) error { return nil }

// eachBelow calls act for every entry below the directory that info, an entry of
// parent, describes; for what is in a directory before the directory.
func (r removal) eachBelow(parent *os.Root, info fs.FileInfo, depth int, act func(*os.Root, string) error) error {
	here, err := parent.Stat(".")
	if err != nil {
		return err
	}
	if r.deviceOf(info) != r.deviceOf(here) {
		return refuse("remove", info.Name(), "it is on another device")
	}
	if depth == 0 {
		return &Error{Op: "remove", Path: info.Name(), Err: ErrTooLarge, Reason: "it is nested too deeply"}
	}
	dir, err := openSame(parent, info)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, _, err := readNames(dir, math.MaxInt)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err == nil && info.IsDir() {
			err = r.eachBelow(dir, info, depth-1, act)
		}
		if err == nil {
			err = act(dir, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes what interrupted writes left behind in the roots that may be
// written to: temporary files last changed before the given time. The start of
// the process is a good choice, since no write that is under way is older. It
// looks as far into each root as a listing does.
func (w *Workspace) Sweep(before time.Time) (removed int, err error) {
	for _, r := range w.roots {
		if r.Access != ReadWrite {
			continue
		}
		k := walk{root: r, need: ReadWrite, left: w.limits.Entries}
		k.found = func(dir *os.Root, at string, info fs.FileInfo) error {
			if !isTemp(info.Name()) || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
				return nil
			}
			if err := dir.Remove(info.Name()); err != nil {
				return err
			}
			removed++
			return nil
		}
		if err := k.visit(r.dir, ".", w.limits.Depth); err != nil {
			return removed, failed("sweep", "{"+r.Name+"}", err)
		}
	}
	return removed, nil
}
