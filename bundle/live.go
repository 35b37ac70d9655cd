package bundle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"
)

// A Live catalog follows what changes on disk: whoever begins a conversation asks for
// the catalog as it is now, and conversations that run keep theirs. It may be used
// concurrently.
type Live struct {
	project string
	config  Config

	mu      sync.Mutex
	current *Catalog
	stamp   [sha256.Size]byte
	older   []*Catalog // still in use by conversations that began with them
	// looked is when the last look at the disk began, and looks counts them, for tests.
	looked time.Time
	looks  int
}

// Open finds the bundles of a project as Find does, and again whenever they have changed.
func Open(project string, c Config) (*Live, error) {
	l := &Live{project: project, config: c}
	if _, err := l.Catalog(); err != nil {
		return nil, err
	}
	return l, nil
}

// Catalog returns the catalog as it is now: the same as before if nothing has changed. It
// looks at the project's directories for it, and reads none of their files if it need not.
// Callers that come together share a look. They do not close what they get.
func (l *Live) Catalog() (*Catalog, error) { return l.since(time.Now()) }

// since returns the catalog as it was when it was asked for, or later.
func (l *Live) since(asked time.Time) (*Catalog, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil && l.looked.After(asked) {
		return l.current, nil // somebody else has looked since
	}
	began := time.Now()
	l.looks++
	stamp, err := stampOf(l.project, l.current)
	if err != nil {
		return nil, err
	}
	if l.current != nil && stamp == l.stamp {
		l.looked = began
		return l.current, nil
	}
	fresh, err := Find(l.project, l.config)
	if err != nil {
		return nil, err
	}
	if l.current != nil {
		l.older = append(l.older, l.current)
		l.retire()
	}
	l.current = fresh
	if l.stamp, err = stampOf(l.project, fresh); err == nil {
		l.looked = began
	}
	return fresh, err
}

// Last returns the catalog that Catalog returned last. It does not look at the disk.
func (l *Live) Last() *Catalog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// maxOlder is how many earlier catalogs keep their files open.
const maxOlder = 4

// retire has all but the latest of the earlier catalogs give up the files that they hold
// open: a server lives through many edits. One that is used again opens them again.
func (l *Live) retire() {
	for _, c := range l.older[:max(0, len(l.older)-maxOlder)] {
		if c.isIdle() {
			_ = c.Close() // read handles: there is nothing to lose
		}
	}
}

// isIdle says whether no run is using the catalog's agents at the moment.
func (c *Catalog) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.troops {
		s.mu.Lock()
		busy := len(s.open) > len(s.idle)
		s.mu.Unlock()
		if busy {
			return false
		}
	}
	return true
}

// Close closes all catalogs that it has returned. Runs of their agents must have ended.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, c := range append(l.older, l.current) {
		errs = append(errs, c.Close())
	}
	l.older = nil
	return errors.Join(errs...)
}

// stampOf sums up the names, sizes and times of the files that bundles consist of, and of
// those that could be agents.
func stampOf(project string, c *Catalog) (stamp [sha256.Size]byte, err error) {
	f, err := newFinder(project)
	if err != nil {
		if c == nil {
			return stamp, nil // Find says what is wrong
		}
		return stamp, fmt.Errorf("find bundles: %w", err)
	}
	defer f.close()
	var homes []string
	if c != nil {
		for _, b := range c.bundles {
			homes = append(homes, b.Dir)
			if b.tree != "" {
				homes = append(homes, b.tree)
			}
		}
	}
	f.search(".", maxSearchDepth, false)
	sum := sha256.New()
	for dir, entries := range sortedLists(f.lists) {
		for _, e := range entries {
			name := path.Join(dir, e.Path)
			if !e.IsDir && (isIn(name, homes) || isCandidate(name)) {
				fmt.Fprintf(sum, "%s\x00%d\x00%d\n", name, e.Size, e.Modified.UnixNano())
			}
		}
	}
	sum.Sum(stamp[:0])
	return stamp, nil
}

// sortedLists walks lists in order of their directories.
func sortedLists[V any](lists map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, dir := range sortedKeys(lists) {
			if !yield(dir, lists[dir]) {
				return
			}
		}
	}
}

func isIn(name string, dirs []string) bool {
	for _, dir := range dirs {
		if dir != "." && (name == dir || strings.HasPrefix(name, dir+"/")) {
			return true
		}
	}
	return false
}

// isCandidate says whether a file could be an agent, a skill, or what makes a directory a
// bundle, by its name.
func isCandidate(name string) bool {
	base := path.Base(name)
	return isSkillFile(base) || base == CustomizeFile || base == skillManifest || base == manifestFile || base == instructions ||
		hasAgentSuffix(base) || strings.Contains(name, "/agents/") || strings.HasPrefix(name, "agents/") || strings.Contains(name, "/_cfg/") ||
		strings.Contains(name, "/_config/") || strings.HasSuffix(base, "config.yaml") || strings.HasSuffix(base, "config.toml")
}
