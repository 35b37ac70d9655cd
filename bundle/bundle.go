package bundle

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe/workspace"
)

// A Layout says what sort of directory a bundle is.
type Layout string

// The layouts of bundles.
const (
	LayoutBundle     Layout = "bundle"     // bundle.yaml, several agents
	LayoutStandalone Layout = "standalone" // bundle.yaml, one agent
	LayoutInstalled  Layout = "installed"  // a module of an installed BMAD tree
	LayoutSource     Layout = "source"     // a module of BMAD's own sources
	LayoutV4         Layout = "v4"         // .bmad-core, an expansion pack, or the sources of one
	LayoutSkill      Layout = "skill"      // a SKILL.md that is an agent
	LayoutWeb        Layout = "web"        // one file, or folder, that was made for a web chat
)

// A Bundle is a directory with agents and what they use.
type Bundle struct {
	Name        string
	Layout      Layout
	Version     string
	Description string
	// Dir is relative to the project, with slashes; it may lead out of it.
	Dir string
	// References are the files that the manifest names.
	References []Reference

	catalog *Catalog
	entries []*entry
	host    string // the directory on the host
	core    string // that of {core-root}, empty if there is none
	home    string // that of {project-root}; the project's by default
	tree    string // the installation it belongs to, relative to the project, or empty
	// virtual are the files of a web bundle, by their names; nil for others. They are
	// unpacked when they are first needed; base is the directory in them with agents.
	virtual map[string]string
	// above is how many lines of the web bundle stand before those of a file.
	above map[string]int
	// keepsMemlog says that its skills are of the versions that keep a log of their runs.
	keepsMemlog bool
	base        string
	unpacking   sync.Mutex
	unpacked    string
	// further roots are part of the same installation.
	further []workspace.Root
	values  map[string]string
	// respell turns the paths that a tree has elsewhere into those it has here.
	respell *strings.Replacer
	// shared are files that an installation would have copied into the bundle.
	shared map[string]bool

	mu     sync.Mutex
	reader *workspace.Workspace

	configuring sync.Mutex
	configs     map[string]*configFile // by their names
}

// file returns a name in the bundle relative to the project.
func (b *Bundle) file(name string) string { return path.Join(b.Dir, name) }

// here rewrites a path or a text so that it fits where the bundle lies.
func (b *Bundle) here(text string) string {
	if b.respell == nil {
		return text
	}
	return b.respell.Replace(text)
}

// installedTrees are the directories that files name as if they were installed
// there, often without saying that they mean the project.
var installedTrees = []string{"bmad/", "_bmad/", ".bmad/", "{bmad_folder}/"}

// herePath rewrites a path as here does. One that begins with an installed tree is
// meant from the project.
func (b *Bundle) herePath(name string) string {
	if b.respell == nil {
		return name
	}
	for _, tree := range installedTrees {
		if strings.HasPrefix(name, tree) {
			if moved := "{" + workspace.ProjectRoot + "}/" + name; b.here(moved) != moved {
				return b.here(moved)
			}
		}
	}
	return b.here(name)
}

// projectDir returns the host's directory of {project-root}: where the installation
// lies that the bundle is a part of.
func (b *Bundle) projectDir() string { return cmp.Or(b.home, b.catalog.project) }

// roots are what agents of the bundle may read. The project is closed, but what
// lies in it and is open can be named by way of it.
func (b *Bundle) roots() []workspace.Root {
	roots := []workspace.Root{
		{Name: workspace.BundleRoot, Dir: b.host, Access: workspace.ReadOnly},
		{Name: workspace.ProjectRoot, Dir: b.projectDir()},
	}
	if b.core != "" {
		roots = append(roots, workspace.Root{Name: workspace.CoreRoot, Dir: b.core, Access: workspace.ReadOnly})
	}
	return append(roots, b.further...)
}

// open opens what an agent may touch: the bundle's roots, what the options grant,
// and further ones.
func (b *Bundle) open(o Options, documents workspace.Documents, values map[string]string, further ...workspace.Root) (*workspace.Workspace, error) {
	if err := b.unpack(); err != nil {
		return nil, err
	}
	roots := slices.Concat(b.roots(), o.Roots, further)
	for i := range roots {
		if roots[i].Name == workspace.ProjectRoot && o.ReadProject {
			roots[i].Access = workspace.ReadOnly
		}
	}
	all := maps.Clone(b.values)
	maps.Copy(all, values)
	ws, err := workspace.Open(workspace.Config{Roots: roots, Closed: o.Closed, Values: all, Limits: o.Limits, Cache: b.catalog.cache, Documents: documents, Buffers: o.Buffers, Temporary: o.Temporary, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return b.configured(ws), nil
}

// noSession has what a session would give a value stand for itself.
func noSession() map[string]string {
	values := map[string]string{"session-id": "{session-id}", "session-folder": "{session-folder}"}
	for _, name := range systemGenerated {
		values[name] = "{" + name + "}"
	}
	return values
}

// files returns a workspace without a session, which stays open.
func (b *Bundle) files() (*workspace.Workspace, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader != nil {
		return b.reader, nil
	}
	ws, err := b.open(Options{}, workspace.Documents{}, noSession())
	if err != nil {
		return nil, err
	}
	b.reader = ws
	return ws, nil
}

// read reads a file of the bundle by its name relative to it.
func (b *Bundle) read(name string) (string, error) {
	if b.virtual != nil {
		if text, ok := b.virtual[name]; ok {
			return text, nil
		}
		return "", problem(CodeUnreadable, b.Dir, 1, "there is no %s in it", name)
	}
	ws, err := b.files()
	if err != nil {
		return "", problem(CodeUnreadable, b.file(name), 1, "%v", err)
	}
	loc, err := ws.Resolve("{" + workspace.BundleRoot + "}/" + name)
	if err != nil {
		return "", problem(CodeUnreadable, b.file(name), 1, "%v", err)
	}
	content, err := ws.ReadFile(loc)
	if err != nil {
		return "", problem(CodeUnreadable, b.file(name), 1, "%v", err)
	}
	return textOf(content), nil
}

// Locate says which file a reference means, relative to the project. Test the
// error for [workspace.ErrNotFound], [workspace.ErrDenied] and
// [workspace.UnknownVariable]. Nothing is read.
func (b *Bundle) Locate(ref Reference) (string, error) {
	ws, err := b.files()
	if err != nil {
		return "", err
	}
	from, err := b.location(ws, ref.File)
	if err != nil {
		return "", err
	}
	loc, err := lookAt(ws, from, b.here(ref.Path))
	if moved := b.herePath(ref.Path); errors.Is(err, workspace.ErrNotFound) && moved != b.here(ref.Path) {
		loc, err = lookAt(ws, from, moved)
	}
	isPlain := !strings.HasPrefix(ref.Path, "{") && !strings.HasPrefix(ref.Path, "./") && !strings.HasPrefix(ref.Path, "../")
	if errors.Is(err, workspace.ErrNotFound) && isPlain {
		if loc, err = ws.Resolve(b.here(ref.Path)); err == nil {
			_, err = ws.Stat(loc)
		}
	}
	if err != nil {
		return "", err
	}
	return b.shown(loc), nil
}

// lookAt resolves a reference in the file at from. It fails if there is no such file.
func lookAt(ws *workspace.Workspace, from workspace.Location, ref string) (workspace.Location, error) {
	loc, err := ws.ResolveFrom(from, ref)
	if err == nil {
		_, err = ws.Stat(loc)
	}
	return loc, err
}

// location returns the place of a file that is given relative to the project.
func (b *Bundle) location(ws *workspace.Workspace, file string) (workspace.Location, error) {
	rest, inside := file, true
	if b.Dir != "." {
		rest, inside = strings.CutPrefix(file, b.Dir+"/")
	}
	if !inside {
		return ws.Resolve("{" + workspace.ProjectRoot + "}/" + file)
	}
	return ws.Resolve("{" + workspace.BundleRoot + "}/" + rest)
}

// isGenerated says whether a file is one that an installer makes and that sources, or a
// module outside of an installation, can therefore not have.
func (b *Bundle) isGenerated(name string) bool {
	isSource := b.Layout == LayoutSource || b.Layout == LayoutWeb || b.Layout == LayoutInstalled && b.tree == ""
	return isSource && (isConfig(name) || strings.Contains(name, "/_cfg/") || strings.Contains(name, "/_config/"))
}

// shown returns a place relative to the project.
func (b *Bundle) shown(loc workspace.Location) string {
	for _, r := range b.roots() {
		if rel, err := filepath.Rel(b.unpacked, r.Dir); r.Name == loc.Root() && b.unpacked != "" && err == nil && filepath.IsLocal(rel) {
			return b.Dir + "#" + path.Join(filepath.ToSlash(rel), loc.Name())
		}
		if r.Name == loc.Root() {
			return path.Join(b.catalog.relative(r.Dir), loc.Name())
		}
	}
	return loc.String()
}

// WorkflowFiles lists the bundle's workflow.yaml and workflow.md files, and the
// workflows/*.yaml of version 4, by their paths, such as
// {bundle-root}/workflows/intake/workflow.yaml. Nothing is read.
func (b *Bundle) WorkflowFiles() ([]string, error) {
	ws, err := b.files()
	if err != nil {
		return nil, err
	}
	root, err := ws.Resolve("{" + workspace.BundleRoot + "}")
	if err != nil {
		return nil, err
	}
	list, err := ws.List(root, 12)
	if err != nil {
		return nil, err
	}
	stepped := make(map[string]bool) // directories with step files in one below
	for _, e := range list.Entries {
		if e.IsDir && strings.Contains(path.Base(e.Path), "steps") {
			stepped[path.Dir(e.Path)] = true
		}
	}
	var found []string
	for _, e := range list.Entries {
		if isDecoy(e.Path) && strings.Contains("/"+e.Path, "/reference/") {
			continue // an example
		}
		sequence := b.Layout == LayoutV4 && path.Dir(e.Path) == "workflows" && path.Ext(e.Path) == ".yaml"
		if !e.IsDir && (sequence || isWorkflowFile(e.Path, stepped[path.Dir(e.Path)])) {
			found = append(found, "{"+workspace.BundleRoot+"}/"+e.Path)
		}
	}
	return found, nil
}

// isWorkflowFile recognises workflow.yaml, the workflow.md of later versions, and
// the workflow-x.md beside step files. The workflow.md of a tasks directory is the
// engine's own manual.
func isWorkflowFile(name string, stepped bool) bool {
	switch base := path.Base(name); base {
	case "workflow.yaml", "workflow.yml":
		return true
	case "workflow.md":
		return path.Base(path.Dir(name)) != "tasks"
	default:
		return stepped && strings.HasPrefix(base, "workflow-") && path.Ext(base) == ".md"
	}
}

func (b *Bundle) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unpacked != "" {
		defer os.RemoveAll(b.unpacked)
	}
	if b.reader == nil {
		return nil
	}
	err := b.reader.Close()
	b.reader = nil
	return err
}
