package workspace

import (
	"path/filepath"
	"unicode/utf8"
)

// Buffers are files as they stand in a person's editor, which may not be saved. They are
// asked about files that may be opened, and about no others.
type Buffers interface {
	// Read returns the text of a file of the host, and false where the editor has nothing
	// to say about it.
	Read(path string) (text string, ok bool)
	// Write has the editor replace a file, and reports false where it does not.
	Write(path, text string) bool
}

// ReadCurrent is ReadFile with what a person has changed in an editor and not saved, where
// [Config.Buffers] knows of it. It asks the editor, so it is not for reading many files.
func (w *Workspace) ReadCurrent(loc Location) (string, error) {
	saved, err := w.ReadFile(loc)
	if err != nil || w.buffers == nil {
		return saved, err
	}
	target, err := w.allow("read", loc, ReadOnly)
	if err != nil {
		return "", err
	}
	path, ok := target.edited()
	if !ok || isBinary(saved) {
		return saved, nil
	}
	text, ok := w.buffers.Read(path)
	switch {
	case !ok:
		return saved, nil
	case int64(len(text)) > w.limits.FileBytes:
		return "", w.tooLarge("read", loc)
	}
	return text, nil
}

// edited returns the path of a file that a person may be editing: one of the project or of
// a directory that was granted, not of what Troupe keeps itself.
func (l Location) edited() (path string, ok bool) {
	switch l.root.Name {
	case BundleRoot, CoreRoot, SessionFolder, documentsRoot:
		return "", false
	}
	dir, err := filepath.Abs(l.root.Dir)
	return filepath.Join(dir, filepath.FromSlash(l.name)), err == nil
}

// writeThrough has the editor write a file that may be written.
func (w *Workspace) writeThrough(target Location, content []byte) bool {
	if w.buffers == nil || !utf8.Valid(content) {
		return false
	}
	path, ok := target.edited()
	return ok && w.buffers.Write(path, string(content))
}
