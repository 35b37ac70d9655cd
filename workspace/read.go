package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"
)

// A Text is a part of a file, fit to be shown to a model.
type Text struct {
	Location Location
	// Content is valid UTF-8. For a binary file it is one line that says so.
	Content string
	// Size is that of the whole file, in bytes.
	Size int64
	// Content shows the bytes of the file from Offset up to Next.
	Offset, Next int64
	// Repaired says that bytes which are not UTF-8 were replaced by U+FFFD.
	Repaired bool
	Binary   bool
}

// Truncated says whether the file goes on after Content, at t.Next.
func (t Text) Truncated() bool { return !t.Binary && t.Next < t.Size }

// ReadText reads from a file about limit bytes, starting at offset: as many whole
// characters as fit. A limit of 0 means as much as Limits.TextBytes allows. It reads
// what ReadCurrent does.
func (w *Workspace) ReadText(loc Location, offset, limit int64) (Text, error) {
	if offset < 0 || limit < 0 {
		return Text{}, &Error{Op: "read", Path: loc.String(), Err: syscall.EINVAL, Reason: "offset and limit are not negative"}
	}
	content, err := w.ReadCurrent(loc)
	if err != nil {
		return Text{}, err
	}
	if limit == 0 || limit > w.limits.TextBytes {
		limit = w.limits.TextBytes
	}
	t := Text{Location: loc, Size: int64(len(content))}
	if isBinary(content) {
		t.Binary = true
		t.Content = fmt.Sprintf("[binary file of %d bytes, not shown]", t.Size)
		return t, nil
	}
	start := runeStart(content, int(min(offset, t.Size)))
	shown, length, repaired := fit(content[start:], int(max(limit, utf8.UTFMax)))
	t.Content, t.Repaired = shown, repaired
	t.Offset, t.Next = int64(start), int64(start+length)
	return t, nil
}

// runeStart moves i back to the beginning of the character that it is inside of.
func runeStart(s string, i int) int {
	for start := i; start > 0 && start > i-utf8.UTFMax; start-- {
		if start == len(s) {
			return start
		}
		if utf8.RuneStart(s[start]) {
			if _, size := utf8.DecodeRuneInString(s[start:]); start+size > i {
				return start
			}
			return i
		}
	}
	return i
}

// fit returns the beginning of s as valid UTF-8 of at most limit bytes, and how
// much of s that is.
func fit(s string, limit int) (text string, length int, repaired bool) {
	length = min(limit, len(s))
	if length < len(s) {
		length = runeStart(s, length)
	}
	if utf8.ValidString(s[:length]) {
		return s[:length], length, false
	}
	var b strings.Builder
	for length = 0; length < len(s); {
		r, size := utf8.DecodeRuneInString(s[length:])
		if b.Len()+utf8.RuneLen(r) > limit {
			break
		}
		b.WriteRune(r)
		length += size
	}
	return b.String(), length, true
}

// isBinary judges by the beginning: text has no NUL and is mostly UTF-8.
func isBinary(content string) bool {
	sample := content[:min(len(content), 8000)]
	if strings.IndexByte(sample, 0) >= 0 {
		return true
	}
	bad := 0
	for i, r := range sample {
		if r == utf8.RuneError && sample[i] != "\ufffd"[0] {
			bad++
		}
	}
	return bad > 3+len(sample)/5
}

// ReadFile reads a whole file, byte for byte. A file beyond Limits.FileBytes is
// refused.
func (w *Workspace) ReadFile(loc Location) (string, error) {
	f, info, err := w.open(loc)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := w.readOpen(f, info)
	if errors.Is(err, ErrTooLarge) {
		return "", w.tooLarge("read", loc)
	}
	if err != nil {
		return "", failed("read", loc.String(), err)
	}
	return content, nil
}

func (w *Workspace) tooLarge(op string, loc Location) error {
	return &Error{Op: op, Path: loc.String(), Err: ErrTooLarge, Reason: fmt.Sprintf("a file has at most %d bytes", w.limits.FileBytes)}
}

// readOpen reads a file that info described when it was opened. What changed
// since then is read as it is now, and not kept.
func (w *Workspace) readOpen(f *os.File, info fs.FileInfo) (string, error) {
	limit := w.limits.FileBytes
	if info.Size() > limit {
		return "", ErrTooLarge
	}
	before, known := identify(info)
	if known {
		if content, ok := w.cache.get(before); ok {
			return content, nil
		}
	}
	var b strings.Builder
	b.Grow(int(info.Size()))
	n, err := io.Copy(&b, io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	if n > limit {
		return "", ErrTooLarge
	}
	if info, err = f.Stat(); err == nil && known {
		if after, _ := identify(info); after == before {
			w.cache.put(before, b.String())
		}
	}
	return b.String(), nil
}

// Stat describes a file without reading it. It fails where ReadFile would, except
// for the size.
func (w *Workspace) Stat(loc Location) (Entry, error) {
	f, info, err := w.open(loc)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close()
	return entryOf(loc.name, info), nil
}

// open opens a regular file for reading. What it is, is asked of the open file,
// so nothing can be put in its place in between, and it never waits: a pipe is
// opened without waiting for a writer, and refused.
func (w *Workspace) open(loc Location) (*os.File, fs.FileInfo, error) {
	target, err := w.allow("read", loc, ReadOnly)
	if err != nil {
		return nil, nil, err
	}
	f, err := target.root.dir.OpenFile(target.name, os.O_RDONLY|openWithoutWaiting, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, nil, &Error{Op: "read", Path: loc.String(), Err: ErrNotRegular}
	}
	if err != nil {
		return nil, nil, failed("read", loc.String(), err)
	}
	info, err := f.Stat()
	if err == nil {
		err = target.root.checkFile(loc, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, failed("read", loc.String(), err)
	}
	return f, info, nil
}

// checkFile refuses what is not a regular file of this root alone.
func (r *root) checkFile(loc Location, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &Error{Op: "read", Path: loc.String(), Err: ErrNotRegular}
	}
	if r.Trusted {
		return nil
	}
	if links(info) > 1 {
		return refuse("read", loc.String(), "it has several hard links")
	}
	if device(info) != device(r.info) {
		return refuse("read", loc.String(), "it is on another device than its root")
	}
	return nil
}
