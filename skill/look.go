package skill

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"syscall"
	"time"
)

// moment is how long a file must have been left alone to be taken for finished, and
// how old a look may be that an answer is based on.
const moment = 250 * time.Millisecond

// An entry is a skill file and what is known of it.
type entry struct {
	place
	header *header // the last good one, or nil
	skill  Skill   // what header says
	// The state of the file that was read. An unsettled one is read again.
	info     fs.FileInfo
	settled  bool
	findings []Finding
	good     *Document // what was loaded last, or nil
}

// lookAgain looks, unless that was done a moment ago. The library is locked.
func (l *Library) lookAgain() {
	if time.Since(l.looked) >= moment {
		l.look()
	}
}

// look brings the library up to date with the files. The library is locked.
func (l *Library) look() {
	logged := make(map[Finding]bool, len(l.findings))
	for _, f := range l.findings {
		logged[f] = true
	}
	known := l.entries
	l.entries, l.findings = make(map[place]*entry), nil
	for i := range l.roots {
		l.lookInto(i, known)
	}
	l.arrange()
	l.looked = time.Now()
	for _, f := range l.findings {
		if !logged[f] {
			l.log.Warn("skill found wanting", "file", f.File, "line", f.Line, "code", f.Code, "err", f.Message)
		}
	}
}

// lookInto takes in the files of a root. If the root cannot be read, what is known
// of it stays.
func (l *Library) lookInto(i int, known map[place]*entry) {
	dir, err := os.OpenRoot(l.roots[i].dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w := walk{library: l, root: i, left: maxEntries}
	if err == nil {
		defer dir.Close()
		w.dir = dir
		err = w.visit(".", maxDepth)
	}
	if err != nil {
		l.findings = append(l.findings, problem(CodeUnreadable, l.shown(place{i, ""}), 1, "the directory cannot be read: %v", causeOf(err)))
		for p, e := range known {
			if p.root == i {
				l.keep(e)
			}
		}
		return
	}
	l.findings = append(l.findings, w.findings...)
	for name, info := range w.files {
		p := place{i, name}
		l.keep(l.refresh(dir, p, info, known[p]))
	}
}

func (l *Library) keep(e *entry) {
	l.entries[e.place] = e
	l.findings = append(l.findings, e.findings...)
}

// refresh returns what is to be known of a file from now on. Only a good version
// that has settled takes the place of a good one.
func (l *Library) refresh(dir *os.Root, p place, info fs.FileInfo, known *entry) *entry {
	if known != nil && known.settled && sameState(known.info, info) {
		return known
	}
	fresh := l.readEntry(dir, p)
	if known == nil || known.header == nil {
		return fresh
	}
	if fresh.header != nil && (fresh.settled || sameState(known.info, fresh.info)) {
		fresh.good = known.good
		return fresh
	}
	kept := *known
	kept.settled = false
	why := "the file cannot be used as it is now"
	if fresh.info != nil && !fresh.settled {
		why = "the file is being written"
	}
	kept.findings = append(fresh.findings, warning(CodeStale, l.shown(p), 1, "%s; the version before stays in use", why))
	return &kept
}

// readEntry reads the header of a file.
func (l *Library) readEntry(dir *os.Root, p place) *entry {
	e := &entry{place: p}
	f, info, err := openFile(dir, p.name)
	if err == nil {
		defer f.Close()
		e.info, e.settled = info, waitFor(info) == 0
		var top []byte
		if top, err = readTop(f); err == nil {
			e.header, e.findings = parseHeader(l.shown(p), l.folder(p), top)
		}
	}
	if err != nil {
		e.findings = append(e.findings, problem(CodeUnreadable, l.shown(p), 1, "the file cannot be read: %v", causeOf(err)))
	}
	if e.header != nil {
		e.skill = l.skillOf(p, e.header)
	}
	return e
}

func (l *Library) skillOf(p place, h *header) Skill {
	s := Skill{Name: h.name, Description: h.description, Category: h.category, License: h.license, Path: l.told(p)}
	if s.Category == "" {
		above := path.Dir(p.name)
		if isSkillFile(p.name) {
			above = path.Dir(above)
		}
		if above != "." {
			s.Category = category(above)
		}
	}
	for _, tool := range h.allowed {
		s.AllowedTools = append(s.AllowedTools, tool.name)
	}
	for _, other := range h.requires {
		s.Requires = append(s.Requires, other.name)
	}
	return s
}

// arrange decides which file every name stands for.
func (l *Library) arrange() {
	l.skills, l.byName = nil, make(map[string]*entry)
	for _, p := range l.places() {
		e := l.entries[p]
		if e.header == nil {
			continue
		}
		if first := l.byName[e.skill.Name]; first != nil {
			l.findings = append(l.findings, warning(CodeDuplicate, l.shown(p), 1, "the skill %s is also in %s, which is used", e.skill.Name, first.skill.Path))
			continue
		}
		l.byName[e.skill.Name] = e
		l.skills = append(l.skills, e.skill)
	}
	slices.SortFunc(l.skills, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	sortFindings(l.findings)
}

// places returns all files, those of the first root first.
func (l *Library) places() []place {
	return slices.SortedFunc(maps.Keys(l.entries), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.name, b.name))
	})
}

// openFile opens a regular file. It never waits: a pipe is opened without waiting
// for a writer, and refused.
func openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// waitFor says how long it takes until a file counts as finished, if it is left
// alone. One from the future tells nothing, and is taken as it is.
func waitFor(info fs.FileInfo) time.Duration {
	age := time.Since(info.ModTime())
	if age < 0 || age >= moment {
		return 0
	}
	return moment - age
}

func sameState(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}
