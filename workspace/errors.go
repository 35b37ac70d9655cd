package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// What callers decide on; test for it with [errors.Is].
const (
	// ErrDenied is what an agent must not do, whether or not the file exists.
	ErrDenied sentinel = "Security violation: Access denied"
	// ErrNotFound is a file or directory that does not exist.
	ErrNotFound sentinel = "not found"
	// ErrTooLarge is a file, a name or a value beyond its limit.
	ErrTooLarge sentinel = "too large"
	// ErrNotRegular is a directory, pipe, socket or device where a file is wanted.
	ErrNotRegular sentinel = "not a regular file"
	// ErrBadName is a name that an agent may not give to a new file.
	ErrBadName sentinel = "name not allowed"
)

type sentinel string

func (s sentinel) Error() string { return string(s) }

// An Error is an act that was not carried out. Its text can be shown to a model:
// it holds no path of the host and is shorter than 2 KiB.
type Error struct {
	Op     string // what was tried: resolve, read, write, list, remove
	Path   string // as the agent wrote it, or as a [Location] prints
	Err    error  // one of the sentinels, or an error number of the system
	Reason string // may be empty
}

// Error begins with the words of ErrDenied where that is the cause.
func (e *Error) Error() string {
	parts := []string{e.Op + " " + shown(e.Path), e.Err.Error()}
	if e.Err == ErrDenied {
		parts[0], parts[1] = parts[1], parts[0]
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	return strings.Join(parts, ": ")
}

func (e *Error) Unwrap() error { return e.Err }

// An UnknownVariable is a path that cannot be opened because a variable in it has
// no value.
type UnknownVariable struct {
	Name  string
	Known []string // the variables that have one, sorted
}

// Error lists as many of the known variables as fit.
func (e *UnknownVariable) Error() string {
	return fmt.Sprintf("variable {%s} is unknown or empty; available variables: %s", shown(e.Name), enumerate(e.Known, ", "))
}

// A Cycle is a variable whose value depends on itself.
type Cycle struct {
	Names []string // each refers to the next; the first is also the last
}

// Error shows the way round.
func (e *Cycle) Error() string {
	return "variables depend on each other: " + enumerate(e.Names, " -> ")
}

// enumerate lists as many names as fit into a message.
func enumerate(names []string, separator string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(separator)
		}
		if b.Len() > 1000 {
			fmt.Fprintf(&b, "and %d more", len(names)-i)
			break
		}
		b.WriteString(shown(name))
	}
	return b.String()
}

// shown makes text that somebody else chose fit for a message: at most 200 bytes
// or so, and nothing in it that a terminal would obey.
func shown(s string) string {
	const most = 200
	cut := s[:min(len(s), most)]
	if strings.IndexFunc(cut, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) >= 0 {
		cut = strconv.QuoteToASCII(cut)
		cut = cut[:min(len(cut), most)]
	}
	if len(s) > most {
		return cut + "..."
	}
	return cut
}

// refuse is a security refusal.
func refuse(op, path, reason string) error {
	return &Error{Op: op, Path: path, Err: ErrDenied, Reason: reason}
}

// failed wraps an error of the system without the path of the host that is in it.
// Beside error numbers and closed handles, os.Root only has an error for a path
// that escapes, which it does not export: so that is what any other is taken for.
func failed(op, path string, err error) error {
	if _, ours := errors.AsType[*Error](err); ours {
		return err
	}
	e := &Error{Op: op, Path: path, Err: withoutPath(err)}
	if errors.Is(err, fs.ErrNotExist) {
		e.Err = ErrNotFound
	}
	switch e.Err.(type) {
	case syscall.Errno, sentinel:
		return e
	}
	if !errors.Is(err, fs.ErrClosed) {
		e.Err, e.Reason = ErrDenied, "a link leads out of its root"
	}
	return e
}

// withoutPath returns the cause inside an error of package os.
func withoutPath(err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		return onPath.Err
	}
	if onLink, ok := errors.AsType[*os.LinkError](err); ok {
		return onLink.Err
	}
	return err
}
