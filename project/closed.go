package project

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/workspace"
)

// closedPlaces lists what no grant opens to agents. Troupe's own data, where sessions,
// documents, deliveries and knowledge of everybody are, is closed altogether; what agents
// are made of and held by may be read where that is granted, and is never written.
func (p *Project) closedPlaces() []workspace.Closed {
	var list []workspace.Closed
	add := func(most workspace.Access, paths ...string) {
		for _, path := range paths {
			list = append(list, workspace.Closed{Path: path, Most: most})
		}
	}
	add(workspace.NoAccess, p.ownData()...)
	add(workspace.ReadOnly, filepath.Join(p.dir, config.Name))
	for _, name := range []string{"bmad", "_bmad", ".bmad", ".bmad-core"} {
		add(workspace.ReadOnly, filepath.Join(p.dir, name)) // installed or not
	}
	for _, dir := range p.config.Skills {
		add(workspace.ReadOnly, p.partsOf(within(p.dir, dir), "SKILL.md")...)
	}
	for _, dir := range p.catalog().Dirs() {
		add(workspace.ReadOnly, p.partsOf(dir, "bundle.yaml", "config.yaml", "agents", "agent-teams", "workflows", "tasks", "templates", "checklists", "SKILL.md")...)
	}
	return list
}

// ownData lists where the project keeps what it makes, of everybody.
func (p *Project) ownData() []string {
	list := p.partsOf(p.DataDir(), "agent-outputs", copiesName, "deliveries", "documents", "page", "mcp-pins.json")
	databases := []string{p.storeFile(), filepath.Join(p.DataDir(), "knowledge.db")}
	if path := p.config.Knowledge.Path; path != "" {
		databases = append(databases, within(p.dir, path))
	}
	for _, file := range databases {
		list = append(list, file, file+"-wal", file+"-shm", file+"-journal")
	}
	if path := p.config.Log.File.Path; path != "" {
		file := within(p.dir, path)
		list = append(list, file)
		list = append(list, p.partsOf(filepath.Dir(file))...)
	}
	if path := p.config.Server.Audit; path != "" {
		list = append(list, within(p.dir, path))
	}
	if p.hasUsers() {
		list = append(list, p.partsOf(within(p.dir, p.config.Pipeline.Output))...)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		list = append(list, filepath.Join(dir, "troupe"))
	}
	return list
}

// partsOf returns a directory, or, where the project itself is in it, those of its parts
// that matter.
func (p *Project) partsOf(dir string, parts ...string) []string {
	if within, err := filepath.Rel(dir, p.dir); err != nil || !filepath.IsLocal(within) {
		return []string{dir}
	}
	list := slices.Clone(parts)
	for i, part := range list {
		list[i] = filepath.Join(dir, part)
	}
	return list
}
