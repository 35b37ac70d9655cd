package skill

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/workspace"
)

// ErrNotFound is a skill that the library does not have.
var ErrNotFound = errors.New("no such skill")

// A Config says where skills are.
type Config struct {
	// Roots are directories. Of two skills with one name, that of the earlier root
	// is used. A root that does not exist has no skills until it does.
	Roots []string
	// IsOff says of a skill, by its name, that it is switched off: it is not listed, found or
	// loaded. It may say something else at another time. Default: none is.
	IsOff func(name string) bool
	// Log is told of findings as they come up. Default: nobody is.
	Log *slog.Logger
}

// A Skill is a methodology that agents may read, as its header describes it.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Category    string `json:"category,omitempty"`
	License     string `json:"license,omitempty"`
	// AllowedTools are as the skill has them. They grant nothing.
	AllowedTools []string `json:"allowed_tools,omitempty"`
	// Requires are the names of skills that this one builds upon.
	Requires []string `json:"requires,omitempty"`
	// Path is the file as agents may name it, {skills}/pdf/SKILL.md.
	Path string `json:"path"`
}

// A Library is the skills below some directories, as they are now. It may be used
// concurrently, holds nothing open, and needs no closing.
type Library struct {
	roots []root
	isOff func(name string) bool
	log   *slog.Logger

	mu       sync.Mutex
	looked   time.Time
	entries  map[place]*entry
	skills   []Skill // sorted by name
	byName   map[string]*entry
	findings []Finding
}

// A root is a directory of the host: as it was given, and as it is opened.
type root struct{ given, dir string }

// A place is a file in a root.
type place struct {
	root int
	name string // relative, with slashes
}

// Open finds the skills below the roots and reads their headers. It fails if a root
// is something else than a directory; whatever else is wrong is a finding.
func Open(c Config) (*Library, error) {
	l := &Library{isOff: c.IsOff, log: c.Log}
	if l.isOff == nil {
		l.isOff = func(string) bool { return false }
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	for _, given := range c.Roots {
		dir, err := filepath.Abs(given)
		if err != nil {
			return nil, fmt.Errorf("open skills %s: %w", given, err)
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("open skills %s: not a directory", given)
		}
		l.roots = append(l.roots, root{given, dir})
	}
	l.look()
	return l, nil
}

// List returns all skills that are not switched off, sorted by name.
func (l *Library) List() []Skill {
	return slices.DeleteFunc(l.all(), func(s Skill) bool { return l.isOff(s.Name) })
}

// Off returns the skills that are switched off, sorted by name.
func (l *Library) Off() []Skill {
	return slices.DeleteFunc(l.all(), func(s Skill) bool { return !l.isOff(s.Name) })
}

func (l *Library) all() []Skill {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookAgain()
	return slices.Clone(l.skills)
}

// Find returns the skill of that name.
func (l *Library) Find(name string) (Skill, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookAgain()
	if e := l.byName[name]; e != nil && !l.isOff(name) {
		return e.skill, true
	}
	return Skill{}, false
}

// Categories returns all categories that skills are in, sorted.
func (l *Library) Categories() []string {
	var all []string
	for _, s := range l.List() {
		if s.Category != "" {
			all = append(all, s.Category)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Findings returns what is wrong with the files, as far as their headers tell, in
// order of file and line.
func (l *Library) Findings() []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookAgain()
	return slices.Clone(l.findings)
}

// Roots returns what an agent must be granted to read the files of skills: the
// directories that exist, for reading only.
func (l *Library) Roots() []workspace.Root {
	var granted []workspace.Root
	for i, r := range l.roots {
		if info, err := os.Stat(r.dir); err == nil && info.IsDir() {
			granted = append(granted, l.grant(i))
		}
	}
	return granted
}

// grant names the first root skills, the second skills-2.
func (l *Library) grant(i int) workspace.Root {
	name := "skills"
	if i > 0 {
		name += "-" + strconv.Itoa(i+1)
	}
	return workspace.Root{Name: name, Dir: l.roots[i].dir, Access: workspace.ReadOnly}
}

// told is how agents name a place.
func (l *Library) told(p place) string {
	return path.Join("{"+l.grant(p.root).Name+"}", p.name)
}

// shown is how findings name a place.
func (l *Library) shown(p place) string {
	return path.Join(filepath.ToSlash(l.roots[p.root].given), p.name)
}

// folder is the name of the folder that a SKILL.md is in. A single file has none.
func (l *Library) folder(p place) string {
	if !isSkillFile(p.name) {
		return ""
	}
	if dir := path.Dir(p.name); dir != "." {
		return path.Base(dir)
	}
	return filepath.Base(l.roots[p.root].dir)
}
