package bundle

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe/workspace"
)

// A finder looks for bundles below one directory of the host. It sees what is
// there by handle, and follows no link out of it.
type finder struct {
	dir     string
	prefix  string // of file names in findings and entries
	ws      *workspace.Workspace
	bundles []*Bundle
	found   []Finding
	seen    map[string]bool // directories that are bundles
}

func newFinder(dir string) (*finder, error) {
	// Under the name of a bundle root, so that .bmad-core is no secret.
	root := workspace.Root{Name: workspace.BundleRoot, Dir: dir, Access: workspace.ReadOnly}
	ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{root}})
	if err != nil {
		return nil, err
	}
	return &finder{dir: dir, ws: ws, seen: make(map[string]bool)}, nil
}

func (f *finder) close() { _ = f.ws.Close() }

// everywhere looks in all the places where bundles usually are.
func (f *finder) everywhere(c Config) error {
	f.customBundles()
	for _, tree := range []string{"bmad", "_bmad", ".bmad"} {
		f.installedTree(tree)
	}
	f.sourceTree()
	f.versionFour()
	for _, pattern := range []string{
		"skills/*", ".claude/skills/*", ".agents/skills/*", "src/*-skills/*", "src/*-skills/*/*",
		"bmad/*/agents/*", "_bmad/*/agents/*", "src/*/agents/*", "src/modules/*/agents/*",
	} {
		for _, dir := range f.match(pattern) {
			f.skill(dir)
		}
	}
	f.single(".")
	return f.configured(c.Bundles)
}

// customBundles finds bmad/custom/bundles/<name>/bundle.yaml.
func (f *finder) customBundles() {
	for _, dir := range f.match("bmad/custom/bundles/*") {
		if !f.manifest(dir) {
			f.found = append(f.found, warning(CodeNoManifest, f.shown(dir), 1, "a bundle needs a bundle.yaml; this directory has none and is passed over"))
		}
	}
}

// single takes a directory for a bundle of whatever layout its content suggests.
func (f *finder) single(dir string) {
	if f.seen[dir] || f.manifest(dir) || f.skill(dir) {
		return
	}
	if in := f.list(dir); in["agents"] && (in["workflows"] || in["tasks"] || in["config.yaml"]) {
		f.add(dir, LayoutInstalled)
	}
}

// configured finds the bundles in the directories that patterns match. Those are
// the operator's and may be anywhere.
func (f *finder) configured(patterns []string) error {
	for _, pattern := range patterns {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(f.dir, pattern)
		}
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if filepath.Base(dir) == manifestFile {
				dir = filepath.Dir(dir)
			}
			if rel, err := filepath.Rel(f.dir, dir); err == nil && filepath.IsLocal(rel) {
				f.single(filepath.ToSlash(rel))
				continue
			}
			if err := f.elsewhere(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// elsewhere finds the bundle in a directory outside of the project.
func (f *finder) elsewhere(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return err
	}
	other, err := newFinder(dir)
	if err != nil {
		return err
	}
	defer other.close()
	if rel, err := filepath.Rel(f.dir, dir); err == nil {
		other.prefix = filepath.ToSlash(rel)
	}
	other.single(".")
	f.bundles = append(f.bundles, other.bundles...)
	f.found = append(f.found, other.found...)
	return nil
}

// coreOf returns the host's directory of {core-root}, empty if there is none.
func (f *finder) coreOf(c Config) string {
	if c.Core != "" {
		if filepath.IsAbs(c.Core) {
			return c.Core
		}
		return filepath.Join(f.dir, c.Core)
	}
	for _, dir := range []string{"bmad/core", "_bmad/core", ".bmad/core"} {
		if f.list(dir) != nil {
			return f.host(dir)
		}
	}
	return ""
}

// add makes a bundle of a directory and finds the agents in its agents directory.
func (f *finder) add(dir string, layout Layout) *Bundle {
	b := f.empty(dir, layout)
	for _, name := range f.agentFiles(dir) {
		id, _, _ := strings.Cut(path.Base(name), ".")
		b.add(Entry{EntryPoint: true}, id, name)
	}
	return b
}

// empty makes a bundle without agents of a directory.
func (f *finder) empty(dir string, layout Layout) *Bundle {
	f.seen[dir] = true
	b := &Bundle{Layout: layout, Dir: f.shown(dir), host: f.host(dir), values: map[string]string{}}
	b.Name = strings.TrimPrefix(filepath.Base(b.host), ".")
	f.bundles = append(f.bundles, b)
	return b
}

func (b *Bundle) add(e Entry, id, name string) {
	e.Bundle, e.File = b.Name, b.file(name)
	b.entries = append(b.entries, &entry{Entry: e, bundle: b, plain: id, name: name})
}

// agentFiles returns the files in agents/ that define agents, relative to dir. An
// agent with files of its own has a directory, agents/tech-writer/tech-writer.md.
func (f *finder) agentFiles(dir string) []string {
	var names []string
	for _, e := range f.entries(path.Join(dir, "agents"), 2) {
		in, base := path.Split(e.Path)
		isAgent := strings.HasSuffix(base, ".agent.yaml") || strings.HasSuffix(base, ".agent.yml")
		if in == "" {
			isAgent = isAgent || path.Ext(base) == ".md" && !strings.EqualFold(base, "README.md")
		} else {
			isAgent = isAgent || base == path.Base(in)+".md"
		}
		if isAgent && !e.IsDir {
			names = append(names, path.Join("agents", e.Path))
		}
	}
	return names
}

func (f *finder) host(dir string) string { return filepath.Join(f.dir, filepath.FromSlash(dir)) }

// shown returns a name as findings and entries have it.
func (f *finder) shown(name string) string { return path.Join(f.prefix, name) }

// match returns the directories that a pattern with * matches.
func (f *finder) match(pattern string) []string {
	dirs := []string{"."}
	for element := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range dirs {
			if !strings.Contains(element, "*") {
				next = append(next, path.Join(dir, element))
				continue
			}
			for _, e := range f.entries(dir, 1) {
				if ok, _ := path.Match(element, e.Path); ok && e.IsDir {
					next = append(next, path.Join(dir, e.Path))
				}
			}
		}
		dirs = next
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return f.list(dir) == nil })
}

// list returns the names in a directory, nil if there is no such directory.
func (f *finder) list(dir string) map[string]bool {
	list := f.entries(dir, 1)
	if list == nil {
		return nil
	}
	names := make(map[string]bool, len(list))
	for _, e := range list {
		names[e.Path] = true
	}
	return names
}

// entries lists a directory; what cannot be listed, for another reason than not
// being there, is a finding.
func (f *finder) entries(dir string, depth int) []workspace.Entry {
	loc, err := f.ws.Resolve("{" + workspace.BundleRoot + "}/" + dir)
	if err != nil {
		return nil // a name with braces, which no path can mean
	}
	list, err := f.ws.List(loc, depth)
	if err != nil {
		if !errors.Is(err, workspace.ErrNotFound) && !errors.Is(err, syscall.ENOTDIR) {
			f.found = append(f.found, warning(CodeUnreadable, f.shown(dir), 1, "%v", err))
		}
		return nil
	}
	if list.Entries == nil {
		return []workspace.Entry{}
	}
	return list.Entries
}

// read reads a small file below the finder's directory.
func (f *finder) read(name string) (string, error) {
	loc, err := f.ws.Resolve("{" + workspace.BundleRoot + "}/" + name)
	if err != nil {
		return "", problem(CodeUnreadable, f.shown(name), 1, "%v", err)
	}
	content, err := f.ws.ReadFile(loc)
	if err != nil {
		return "", problem(CodeUnreadable, f.shown(name), 1, "%v", err)
	}
	return content, nil
}
