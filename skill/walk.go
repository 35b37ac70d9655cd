package skill

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// What is looked at in a root. The files of a skill do not count.
const (
	maxEntries = 20_000
	maxDepth   = 8
)

// skillFile is what makes a directory a skill.
const skillFile = "SKILL.md"

func isSkillFile(name string) bool { return strings.EqualFold(path.Base(name), skillFile) }

// A walk finds the skill files of a root.
type walk struct {
	library  *Library
	root     int
	dir      *os.Root
	left     int // how many names may still be read
	files    map[string]fs.FileInfo
	findings []Finding
}

// visit finds the files in a directory and those below it. A directory that is a
// skill is not gone into: its files are its own.
func (w *walk) visit(name string, depth int) error {
	entries, err := w.read(name)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return isSkillFile(e.Name()) && !e.IsDir() }); i >= 0 {
		w.file(path.Join(name, entries[i].Name()))
		return nil
	}
	for _, e := range entries {
		at := path.Join(name, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && depth == 1:
			w.note(CodeTooMuch, at, "what lies deeper than %d directories is not looked at", maxDepth)
		case e.IsDir():
			if err := w.visit(at, depth-1); err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.note(CodeUnreadable, at, "the directory cannot be read: %v", causeOf(err))
			}
		case isMarkdown(e.Name()):
			w.file(at)
		case e.Type() == fs.ModeSymlink:
			if info, err := w.dir.Stat(at); err != nil || info.IsDir() {
				w.note(CodeUnreadable, at, "links to directories are not followed; give the directory as a root of its own")
			}
		}
	}
	return nil
}

// read returns what is in a directory, sorted.
func (w *walk) read(name string) ([]fs.DirEntry, error) {
	f, err := w.dir.Open(name + "/.") // a pipe put in its place by now is no directory
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(w.left + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > w.left {
		if w.left > 0 {
			w.note(CodeTooMuch, name, "more than %d files and directories; the rest is not looked at", maxEntries)
		}
		entries = entries[:w.left]
	}
	w.left -= len(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// file takes a file in. One that is gone by now was never there.
func (w *walk) file(name string) {
	info, err := w.dir.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.note(CodeUnreadable, name, "the file cannot be read: %v", causeOf(err))
	default:
		if w.files == nil {
			w.files = make(map[string]fs.FileInfo)
		}
		w.files[name] = info
	}
}

func isMarkdown(name string) bool {
	return strings.EqualFold(path.Ext(name), ".md") && !strings.EqualFold(name, "README.md")
}

func (w *walk) note(code, name, format string, args ...any) {
	w.findings = append(w.findings, warning(code, w.library.shown(place{w.root, name}), 1, format, args...))
}
