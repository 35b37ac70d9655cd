package workspace

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A Closed place is a file or directory of the host that roots do not open, whatever
// their own access is: what a program keeps for itself, and what makes the cage. It need
// not exist: nobody may make it either.
type Closed struct {
	Path string
	// Most is what may be done there at most.
	Most Access
}

// A barrier is a closed place inside a root.
type barrier struct {
	at     string // relative to the root
	folded string
	host   string
	most   Access
}

// realPlaces returns the same places without links on the way to them.
func realPlaces(closed []Closed) []Closed {
	list := make([]Closed, len(closed))
	for i, c := range closed {
		list[i] = Closed{realPath(c.Path), c.Most}
	}
	return list
}

// closeOff finds out which closed places, as realPlaces returns them, concern the root.
func (r *root) closeOff(closed []Closed) {
	r.most = ReadWrite
	if r.Opens {
		return
	}
	for _, c := range closed {
		host := c.Path
		if at, err := filepath.Rel(r.real, host); err == nil && filepath.IsLocal(at) && at != "." {
			at = filepath.ToSlash(at)
			r.barriers = append(r.barriers, barrier{at, foldPath(at), host, c.Most})
		} else if within, err := filepath.Rel(host, r.real); err == nil && filepath.IsLocal(within) {
			r.most = min(r.most, c.Most)
		}
	}
}

// realPath returns a path of the host without links, as far as it exists.
func realPath(name string) string {
	name, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	rest := ""
	for at := name; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return name
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// foldPath returns the same for names that some file systems take for one.
func foldPath(name string) string {
	return strings.ToLower(strings.ToUpper(norm.NFC.String(name)))
}

// mostAt says what may be done at most at a clean name.
func (r *root) mostAt(name string) Access {
	most := r.most
	if len(r.barriers) == 0 {
		return most
	}
	folded := foldPath(name)
	for i := range r.barriers {
		b := &r.barriers[i]
		if b.most >= most {
			continue
		}
		if _, below := relativeTo(b.folded, folded); below && r.isBehind(b, name) {
			most = b.most
		}
	}
	return most
}

// isBehind says whether a name that reads like a closed one, in whatever case, means it.
// Two files whose names differ in case are two only where both are there.
func (r *root) isBehind(b *barrier, name string) bool {
	if _, ok := relativeTo(b.at, name); ok {
		return true
	}
	elements := strings.Split(name, "/")
	beginning := path.Join(elements[:min(len(elements), strings.Count(b.at, "/")+1)]...)
	other, err := r.dir.Stat(beginning)
	if err != nil {
		return true
	}
	closed, err := os.Stat(b.host)
	return err != nil || os.SameFile(other, closed)
}
