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
	lists   map[string][]workspace.Entry

	files    []string // see search; sorted
	nested   []string // projects inside this one
	searched int
	linked   map[string]bool   // directories that were searched by way of a link
	anywhere bool              // decoys count too: see isDecoy
	skills   map[string]string // directories of skills, by their names
	trees    []string          // installations
	unlisted []string          // directories among the bundles without a manifest
}

func newFinder(dir string) (*finder, error) {
	// Under the name of a bundle root, so that .bmad-core is no secret.
	root := workspace.Root{Name: workspace.BundleRoot, Dir: dir, Access: workspace.ReadOnly}
	ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{root}})
	if err != nil {
		return nil, err
	}
	return &finder{
		dir: dir, ws: ws, linked: make(map[string]bool), seen: make(map[string]bool), lists: make(map[string][]workspace.Entry), skills: make(map[string]string),
	}, nil
}

func (f *finder) close() { _ = f.ws.Close() }

// everywhere looks in all the places where bundles usually are, then wherever else
// there is something that was meant to be an agent.
func (f *finder) everywhere(c Config) error {
	f.look(false)
	if len(f.bundles) == 0 && len(f.nested) > 0 && !c.Shallow {
		f.files, f.nested, f.searched = nil, nil, 0
		clear(f.linked)
		f.look(true)
	}
	if err := f.configured(c.Bundles); err != nil || len(f.bundles) > 0 {
		return err
	}
	f.files, f.nested, f.searched, f.anywhere = nil, nil, 0, true
	clear(f.linked)
	f.look(!c.Shallow)
	return nil
}

// look finds what one search of the project comes across.
func (f *finder) look(deep bool) {
	f.search(".", maxSearchDepth, deep)
	slices.Sort(f.files)
	f.findTrees()
	f.customBundles()
	f.indexSkills()
	for _, tree := range f.trees {
		f.installedTree(tree)
	}
	f.sourceTree()
	f.versionFour()
	f.skillAgents()
	f.single(".")
	f.strays()
	f.webBundles()
	f.editorCopies()
	f.emptyBundles()
}

// findTrees finds the installations, those of the newest layout first.
func (f *finder) findTrees() {
	dirs := map[string]bool{}
	var inEditors []string
	for _, file := range f.files {
		for dir := path.Dir(file); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			switch {
			case path.Base(dir) == ".bmad-core" || !f.isTree(dir) || f.isDecoy(dir+"/x"):
			case isEditorFile(dir + "/x"):
				inEditors = append(inEditors, dir)
			default:
				f.trees = append(f.trees, dir)
			}
		}
	}
	if len(f.trees) == 0 { // somebody has moved it: .claude/_bmad
		f.trees = slices.DeleteFunc(inEditors, func(dir string) bool { return path.Base(dir) != "_bmad" && path.Base(dir) != "bmad" })
	}
	rank := func(dir string) int { return slices.Index([]string{"_bmad", ".bmad", "bmad"}, path.Base(dir)) & 0xf }
	slices.SortStableFunc(f.trees, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// treeOf returns the installation that a directory is in, or empty.
func (f *finder) treeOf(dir string) string {
	for _, tree := range f.trees {
		if strings.HasPrefix(dir+"/", tree+"/") {
			return tree
		}
	}
	return ""
}

// customBundles finds bmad/custom/bundles/<name>/bundle.yaml.
func (f *finder) customBundles() {
	for _, tree := range []string{"bmad", "_bmad", ".bmad"} {
		for _, dir := range f.match(tree + "/custom/bundles/*") {
			if !f.manifest(dir) {
				f.unlisted = append(f.unlisted, dir)
			}
		}
	}
}

// emptyBundles warns of directories among the bundles that neither say what they hold nor
// hold an agent.
func (f *finder) emptyBundles() {
	for _, dir := range f.unlisted {
		if !slices.ContainsFunc(f.bundles, func(b *Bundle) bool {
			return len(b.entries) > 0 && strings.HasPrefix(b.Dir+"/", f.shown(dir)+"/")
		}) {
			f.found = append(f.found, warning(CodeNoManifest, f.shown(dir), 1, "a bundle needs a bundle.yaml, or an agent in agents; this directory has neither and is passed over"))
		}
	}
	f.unlisted = nil
}

// single takes a directory for a bundle of whatever layout its content suggests.
func (f *finder) single(dir string) {
	if f.seen[dir] || f.manifest(dir) || f.skill(dir) {
		return
	}
	in := f.list(dir)
	if isModule := in["workflows"] || in["tasks"] || in["config.yaml"]; in["agents"] && isModule && len(f.agentFiles(dir)) > 0 {
		f.module(dir)
	}
}

// strays finds agents that lie where no installer puts them: in modules at the top of
// a repository or under custom/, in directories of their own, as single files.
func (f *finder) strays() {
	for _, file := range f.files {
		base := path.Base(file)
		if isDecoy(file) || isEditorFile(file) || f.isTaken(file) {
			continue
		}
		inAgents := slices.Contains(strings.Split(path.Dir(file), "/"), "agents")
		switch {
		case hasAgentSuffix(base):
		case inAgents && slices.Contains([]string{".md", ".yaml", ".yml"}, extensionOf(base)) && f.definesAgent(file):
		case path.Base(path.Dir(file)) == "agents" && f.isProse(file):
		default:
			continue
		}
		dir := path.Dir(file)
		if inAgents {
			for path.Base(dir) != "agents" {
				dir = path.Dir(dir)
			}
			if above := path.Dir(dir); above != "." || f.isBundleTop() {
				dir = above
			} // else the rest of the project is none of the agent's
		} else if strings.HasPrefix(base, path.Base(dir)+".") && dir != "." {
			dir = path.Dir(dir) // an agent in a directory of its own
		}
		if f.isInSkill(dir, file) {
			continue
		}
		b := f.bundleAt(dir)
		if b == nil {
			b = f.moduleWithout(dir)
		}
		if inAgents && !f.isTaken(file) {
			for _, name := range f.agentFiles(dir) {
				if !b.hasFile(name) {
					b.addFile(name)
				}
			}
		}
		if name := strings.TrimPrefix(strings.TrimPrefix(file, dir), "/"); !b.hasFile(name) {
			b.addFile(name)
		}
	}
}

// isBundleTop says whether the project is a bundle as a whole, and no other project in which
// somebody keeps agents.
func (f *finder) isBundleTop() bool {
	in := f.list(".")
	return f.isModule(".") || in["workflows"] || in["tasks"] || in["checklists"] || in["agent-teams"]
}

// isProse says whether a file of an agents directory inside an installation is an agent
// that is written as plain text.
func (f *finder) isProse(file string) bool {
	if extensionOf(file) != ".md" || f.treeOf(file) == "" {
		return false
	}
	src, err := f.read(file)
	return err == nil && len(src) <= maxAgentFile && isProseAgent(src)
}

// isTaken says whether a file is an agent of a bundle already, or inside one that
// lists its agents itself.
func (f *finder) isTaken(file string) bool {
	shown := f.shown(file)
	for _, b := range f.bundles {
		if b.IsManifested() && strings.HasPrefix(shown, b.Dir+"/") {
			return true
		}
		for _, e := range b.entries {
			if e.File == shown {
				return true
			}
		}
	}
	return f.seen[path.Dir(file)] && f.has(path.Join(path.Dir(file), manifestFile))
}

// bundleAt returns the bundle of a directory, nil if it is none.
func (f *finder) bundleAt(dir string) *Bundle {
	for _, b := range f.bundles {
		if b.Dir == f.shown(dir) {
			return b
		}
	}
	return nil
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

// elsewhere finds the bundle in a directory outside of the project, or those in it.
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
	other.search(".", maxSearchDepth, false)
	slices.Sort(other.files)
	other.indexSkills()
	other.single(".")
	if len(other.bundles) == 0 {
		other.look(true)
	}
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
		b.addFile(name)
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

// addFile adds the agent in a file, whose id is the file's name.
func (b *Bundle) addFile(name string) {
	b.add(Entry{EntryPoint: true}, agentID(path.Join(filepath.ToSlash(b.host), name)), name)
}

// agentID is the id of the agent in a file: its name without what says that it is one.
func agentID(name string) string {
	id := stem(name)
	for _, kind := range []string{".agent", ".chatmode", ".prompt", ".instructions", ".spec"} {
		id = strings.TrimSuffix(id, kind)
	}
	if dir := path.Base(path.Dir(name)); strings.EqualFold(id, "agent") && !strings.EqualFold(dir, "agents") && dir != "." && dir != "/" {
		return dir // an agent in a directory of its own
	}
	return id
}

func (b *Bundle) hasFile(name string) bool {
	return slices.ContainsFunc(b.entries, func(e *entry) bool { return e.name == name })
}

func (b *Bundle) add(e Entry, id, name string) {
	e.Bundle, e.File = b.Name, b.file(name)
	b.entries = append(b.entries, &entry{Entry: e, bundle: b, plain: id, name: name})
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
	if list, known := f.lists[dir]; known && depth == 1 {
		return list
	}
	loc, err := f.resolve(dir)
	if err != nil {
		return nil
	}
	list, err := f.ws.List(loc, depth)
	if err != nil {
		if !errors.Is(err, workspace.ErrNotFound) && !errors.Is(err, syscall.ENOTDIR) {
			f.found = append(f.found, warning(CodeUnreadable, f.shown(dir), 1, "%v", err))
		}
		list.Entries = nil
	} else if list.Entries == nil {
		list.Entries = []workspace.Entry{}
	}
	if depth == 1 {
		f.lists[dir] = list.Entries
	}
	return list.Entries
}

// resolve returns the place of a name, which is taken as it is: templates of projects have
// directories called {{project}}.
func (f *finder) resolve(name string) (workspace.Location, error) {
	if !strings.Contains(name, "{") {
		return f.ws.Resolve("{" + workspace.BundleRoot + "}/" + name)
	}
	return f.ws.With(f.ws.Vars().WithValue("name", name)).Resolve("{" + workspace.BundleRoot + "}/{name}")
}

// read reads a small file below the finder's directory.
func (f *finder) read(name string) (string, error) {
	loc, err := f.resolve(name)
	if err != nil {
		return "", problem(CodeUnreadable, f.shown(name), 1, "%v", err)
	}
	content, err := f.ws.ReadFile(loc)
	if err != nil {
		return "", problem(CodeUnreadable, f.shown(name), 1, "%v", err)
	}
	return textOf(content), nil
}
