package bundle

import (
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/workspace"
)

// What follows is how a program reads a tree with the eyes of the agents in it: a
// linter, a rehearsal.

// The bounds of what is loaded for a model at once, in bytes.
const (
	MaxCriticalBytes = maxCritical
	MaxWorkflowBytes = maxWorkflowText
)

// Project returns the directory that Find was given, on the host.
func (c *Catalog) Project() string { return c.project }

// Findings returns what was noticed while looking for bundles.
func (c *Catalog) Findings() []Finding { return c.found }

// Read reads the agent of an entry.
func (c *Catalog) Read(e Entry) (*Definition, error) {
	for _, known := range c.entries {
		if known.File == e.File && known.ID == e.ID {
			return known.load()
		}
	}
	return c.Definition(e.ID)
}

// Entries lists the agents of the bundle without reading their files.
func (b *Bundle) Entries() []Entry {
	list := make([]Entry, len(b.entries))
	for i, e := range b.entries {
		list[i] = e.Entry
	}
	return list
}

// Plain returns the agent's ID within its bundle.
func (e Entry) Plain() string { return strings.TrimPrefix(e.ID, e.Bundle+"/") }

// Path returns the bundle's directory on the host.
func (b *Bundle) Path() string { return b.host }

// IsManifested says whether a bundle.yaml lists the bundle's agents.
func (b *Bundle) IsManifested() bool {
	return b.Layout == LayoutBundle || b.Layout == LayoutStandalone
}

// Tree returns the directory of the installation that the bundle belongs to, relative to
// the project; empty if it belongs to none.
func (b *Bundle) Tree() string { return b.tree }

// CoreDir returns the directory of {core-root} relative to the project, empty if
// there is none.
func (b *Bundle) CoreDir() string {
	if b.core == "" {
		return ""
	}
	return b.catalog.relative(b.core)
}

// Files returns what agents of the bundle may read outside of any session. It stays
// open until the catalog is closed.
func (b *Bundle) Files() (*workspace.Workspace, error) { return b.files() }

// Here rewrites a path or a text so that it fits where the bundle lies.
func (b *Bundle) Here(text string) string { return b.here(text) }

// HerePath is Here for a path, which may begin with the name of an installation without
// saying that it means the project.
func (b *Bundle) HerePath(name string) string { return b.herePath(name) }

// Location returns the place of a file that is given relative to the project.
func (b *Bundle) Location(ws *workspace.Workspace, file string) (workspace.Location, error) {
	return b.location(ws, file)
}

// Shown returns a place relative to the project.
func (b *Bundle) Shown(loc workspace.Location) string { return b.shown(loc) }

// ProjectPath returns the path of a place by way of the project, where it lies in it.
func (b *Bundle) ProjectPath(loc workspace.Location) string { return b.projectPath(loc) }

// IsGenerated says whether a file is one that an installer makes and that a source
// tree can therefore not have.
func (b *Bundle) IsGenerated(name string) bool { return b.isGenerated(name) }

// IsElsewhere says whether the bundle lies outside of the project.
func (b *Bundle) IsElsewhere() bool { return !filepath.IsLocal(filepath.FromSlash(b.Dir)) }

// Vars returns the variables that hold while the workflow is followed.
func (w *Workflow) Vars() *workspace.Vars { return w.vars }

// IsPath tells a path from an instruction: one word, with an extension.
func IsPath(s string) bool { return isPath(s) }

// HasExtension says whether a path ends in a file name with an extension.
func HasExtension(s string) bool { return hasExtension(s) }

// PathsIn returns the words of a text that look like paths of files in a bundle.
func PathsIn(text string) []string { return pathInText.FindAllString(text, -1) }

// AsFinding returns the finding that err is, or makes it one about file.
func AsFinding(err error, file string) Finding { return asFinding(err, file) }
