package bundle

import (
	"path"
	"strings"
)

// shadow leaves one of the agents that cannot be told apart: the same id in bundles of
// the same name, an agent beside what it was compiled from, a copy that was put aside.
// The first one found counts, compiled before source and installed before put aside;
// the others are noted.
func (c *Catalog) shadow() {
	kept := map[string]*entry{} // by bundle and id
	byID := map[string]*entry{}
	for _, e := range c.entries {
		if !isBackup(e.File) && byID[e.plain] == nil {
			byID[e.plain] = e
		}
	}
	compiled := map[string]bool{}
	for _, e := range c.entries {
		if !hasAgentSuffix(path.Base(e.name)) {
			compiled[e.bundle.Name+"/"+e.plain] = true
		}
	}
	var left []*entry
	for _, e := range c.entries {
		key := e.bundle.Name + "/" + e.plain
		winner := kept[key]
		if other := byID[e.plain]; other != nil && other != e && isBackup(e.File) {
			winner = other
		}
		if winner == nil && hasAgentSuffix(path.Base(e.name)) && compiled[key] {
			for _, other := range c.entries {
				if other.bundle.Name+"/"+other.plain == key && !hasAgentSuffix(path.Base(other.name)) {
					winner = other
				}
			}
		}
		if winner != nil && e.bundle == winner.bundle && path.Dir(e.name) != path.Dir(winner.name) && path.Ext(e.name) == path.Ext(winner.name) &&
			path.Base(path.Dir(e.name)) != e.plain && path.Base(path.Dir(e.name)) != "agents" {
			// Two agents that people keep in different directories of one bundle.
			e.plain = path.Base(path.Dir(e.name)) + "-" + e.plain
			key = e.bundle.Name + "/" + e.plain
			winner = kept[key]
		}
		if winner == nil {
			kept[key] = e
			left = append(left, e)
			continue
		}
		if winner.File != e.File {
			c.found = append(c.found, warning(CodeShadowed, e.File, 1,
				"the agent %s is also in %s, which counts; remove or rename one of them", strings.TrimPrefix(e.plain, "/"), winner.File))
		}
		e.bundle.drop(e)
	}
	c.entries = left
}

func (b *Bundle) drop(gone *entry) {
	for i, e := range b.entries {
		if e == gone {
			b.entries = append(b.entries[:i:i], b.entries[i+1:]...)
			return
		}
	}
}
