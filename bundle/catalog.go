package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe/workspace"
)

// Config says where bundles are looked for, beside the usual places.
type Config struct {
	// Core is the directory that {core-root} means. By default it is bmad/core or
	// _bmad/core in the project; an installed or source tree has its own.
	Core string
	// Bundles are patterns of further bundle directories. A relative one is
	// relative to the project.
	Bundles []string
	// Shallow leaves out the projects inside this one. They are looked into only if
	// there is nothing else.
	Shallow bool
}

// A Catalog is the bundles of a project. It does not notice what changes on disk
// after Find. It may be used concurrently.
type Catalog struct {
	project string
	core    string
	bundles []*Bundle
	entries []*entry
	found   []Finding
	cache   *workspace.Cache
	skills  map[string]string // directories, by name
	// skillFiles are the names of files that are not called SKILL.md, by directory.
	skillFiles map[string]string

	mu     sync.Mutex
	troops []*sessions // of the agents that were made
}

// An Entry is an agent as far as it is known without reading its file: the name
// and what follows it are empty where no manifest says them.
type Entry struct {
	// ID is unique in the catalog: bundle/id where the id alone is not.
	ID          string
	Bundle      string
	Name        string
	Title       string
	Icon        string
	Description string
	// EntryPoint agents are those a user begins with.
	EntryPoint bool
	// File is relative to the project.
	File string
}

// entry is an agent that was found, and what its file says once it was read.
type entry struct {
	Entry
	bundle *Bundle
	plain  string // its ID within the bundle
	name   string // of its file, relative to the bundle

	// missing says why there is nothing to read, empty if there is.
	missing string

	mu         sync.Mutex
	definition *Definition
}

// Find looks for bundles in a project directory. A bundle that cannot be read is
// a finding, and the others are found all the same; so is a project that is not
// there, or has no bundles. The error is that of a directory that cannot be read.
func Find(project string, c Config) (*Catalog, error) {
	catalog := &Catalog{cache: workspace.NewCache(8 << 20)}
	var err error
	if catalog.project, err = filepath.Abs(project); err != nil {
		return nil, fmt.Errorf("find bundles: %w", err)
	}
	f, err := newFinder(catalog.project)
	if errors.Is(err, fs.ErrNotExist) {
		return catalog, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find bundles: %w", err)
	}
	defer f.close()
	catalog.core = f.coreOf(c)
	if err := f.everywhere(c); err != nil {
		return nil, fmt.Errorf("find bundles: %w", err)
	}
	for _, b := range f.bundles {
		b.catalog = catalog
		b.core = cmp.Or(b.core, catalog.core)
		catalog.entries = append(catalog.entries, b.entries...)
	}
	catalog.bundles, catalog.found = f.bundles, f.found
	catalog.skills = make(map[string]string, len(f.skills))
	catalog.skillFiles = make(map[string]string)
	for name, dir := range f.skills {
		catalog.skills[name] = f.shown(dir)
		if file := path.Base(f.skillFile(dir)); file != SkillFile {
			catalog.skillFiles[f.shown(dir)] = file
		}
	}
	catalog.shadow()
	catalog.nameEntries()
	return catalog, nil
}

// nameEntries makes the entries' IDs unique.
func (c *Catalog) nameEntries() {
	count := make(map[string]int)
	for _, e := range c.entries {
		count[e.plain]++
	}
	for _, e := range c.entries {
		e.ID = e.plain
		if count[e.plain] > 1 {
			e.ID = e.bundle.Name + "/" + e.plain
		}
	}
}

// relative returns a directory of the host as seen from the project.
func (c *Catalog) relative(dir string) string {
	rel, err := filepath.Rel(c.project, dir)
	if err != nil {
		return filepath.Base(dir) // on another volume
	}
	return filepath.ToSlash(rel)
}

// Bundles returns the bundles in the order they were found.
func (c *Catalog) Bundles() []*Bundle { return slices.Clone(c.bundles) }

// Dirs returns the directories of the host that bundles are read from, with what they
// share: nobody who may change one of them is held by what is in it.
func (c *Catalog) Dirs() []string {
	dirs := map[string]bool{c.core: c.core != ""}
	for _, b := range c.bundles {
		if b.virtual == nil {
			dirs[b.host] = true
		}
		dirs[b.core] = b.core != ""
		for _, r := range b.further {
			dirs[r.Dir] = true
		}
	}
	maps.DeleteFunc(dirs, func(_ string, there bool) bool { return !there })
	return sortedKeys(dirs)
}

// Entries lists the agents without reading their files.
func (c *Catalog) Entries() []Entry {
	list := make([]Entry, len(c.entries))
	for i, e := range c.entries {
		list[i] = e.Entry
	}
	return list
}

// Definitions reads all agents. Those that cannot be read are among the findings,
// as is everything else that was noticed so far, in order of file and line.
func (c *Catalog) Definitions() ([]*Definition, []Finding) {
	var list []*Definition
	found := slices.Clone(c.found)
	for _, e := range c.entries {
		d, err := e.load()
		if err != nil {
			found = append(found, asFinding(err, e.File))
			continue
		}
		list = append(list, d)
		found = append(found, d.Findings...)
	}
	sortFindings(found)
	return list, found
}

var (
	// ErrNoAgent reports an id that no agent of the catalog has, or more than one.
	ErrNoAgent = errors.New("no such agent")
	// ErrAmbiguous is the ErrNoAgent of an id that more than one has.
	ErrAmbiguous = fmt.Errorf("%w under this name alone", ErrNoAgent)
)

// Definition reads one agent, by its ID or as bundle/id.
func (c *Catalog) Definition(id string) (*Definition, error) {
	e, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	return e.load()
}

// lookup finds an agent: by its ID, by its bundle and id, by its id without the prefix
// that newer ones have, and at last by the name of its persona or its title.
func (c *Catalog) lookup(id string) (*entry, error) {
	for _, isMeant := range []func(*entry) bool{
		func(e *entry) bool { return id == e.ID || id == e.bundle.Name+"/"+e.plain },
		func(e *entry) bool { return id == e.plain },
		func(e *entry) bool {
			return strings.EqualFold(id, e.plain) || strings.EqualFold("bmad-agent-"+id, e.plain) || strings.EqualFold("bmad-"+id, e.plain)
		},
		func(e *entry) bool { return e.isCalled(id) },
	} {
		var found []*entry
		for _, e := range c.entries {
			if isMeant(e) {
				found = append(found, e)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			if e := mainCopy(found); e != nil {
				return e, nil
			}
			return nil, fmt.Errorf("agent %.64q: %w; there are %s", id, ErrAmbiguous, strings.Join(idsOf(found), ", "))
		}
	}
	return nil, fmt.Errorf("agent %.64q: %w; there are: %s", id, ErrNoAgent, cmp.Or(strings.Join(idsOf(c.entries), ", "), "none"))
}

// mainCopy returns the one of several agents that is meant where the others are copies of
// it: packs bring agents of the method along, and the method's own one counts.
func mainCopy(found []*entry) *entry {
	var main *entry
	for _, e := range found {
		if e.bundle.Name == "bmad-core" || e.bundle.Name == "bmm" || e.bundle.Name == "core" {
			if main != nil {
				return nil
			}
			main = e
		}
	}
	if main == nil {
		return nil
	}
	own, err := main.load()
	for _, e := range found {
		d, otherErr := e.load()
		if err != nil || otherErr != nil || d.Name != own.Name || d.Title != own.Title {
			return nil
		}
	}
	return main
}

func idsOf(entries []*entry) []string {
	var ids []string
	for _, e := range entries[:min(len(entries), 50)] {
		ids = append(ids, e.ID)
	}
	return ids
}

// isCalled says whether the agent's persona has a name, or its first part, or a title, or
// its file gives it that id. The file is read for it.
func (e *entry) isCalled(name string) bool {
	d, err := e.load()
	if err != nil || name == "" {
		return false
	}
	first, _, _ := strings.Cut(d.Name, " ")
	return strings.EqualFold(d.Name, name) || strings.EqualFold(first, name) || strings.EqualFold(d.Title, name) || strings.EqualFold(d.Declared, name)
}

// Close closes the files that the catalog and its agents hold open. Runs of its
// agents must have ended.
func (c *Catalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, s := range c.troops {
		errs = append(errs, s.close())
	}
	for _, b := range c.bundles {
		errs = append(errs, b.close())
	}
	return errors.Join(errs...)
}
