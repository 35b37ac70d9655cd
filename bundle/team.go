package bundle

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/workspace"
)

// A Team is a named list of agents that work or talk together.
type Team struct {
	Name, Icon, Description string
	// File is relative to the project.
	File string
	// Agents are the IDs of the members, and Missing what the team names that is not there.
	Agents, Missing []string
}

// Teams lists the teams of all bundles: agent-teams/*.yaml of version 4, teams/*.yaml of
// later ones, and the agents that a central configuration describes, under the name party.
func (c *Catalog) Teams() []Team {
	var teams []Team
	for _, b := range c.bundles {
		for _, folder := range []string{"agent-teams", "teams"} {
			teams = append(teams, b.teams(folder)...)
		}
	}
	return append(teams, c.parties()...)
}

func (b *Bundle) teams(folder string) []Team {
	if b.Layout == LayoutSkill || b.virtual != nil {
		return nil
	}
	ws, err := b.files()
	if err != nil {
		return nil
	}
	files, err := ws.Glob("{" + workspace.BundleRoot + "}/" + folder + "/*.yaml")
	if err != nil {
		return nil // there are none
	}
	var teams []Team
	for _, loc := range files {
		src, err := ws.ReadFile(loc)
		if err != nil {
			continue
		}
		root, _, err := ParseYAML(b.shown(loc), 1, []byte(src))
		if err != nil {
			continue
		}
		about := laxyaml.Field(root, "bundle")
		team := Team{
			Name: laxyaml.Scalar(laxyaml.Field(about, "name")), Icon: laxyaml.Scalar(laxyaml.Field(about, "icon")),
			Description: laxyaml.Prose(laxyaml.Field(about, "description")), File: b.shown(loc),
		}
		if team.Name == "" {
			team.Name = stem(loc.Name())
		}
		for _, member := range laxyaml.Items(laxyaml.Field(root, "agents")) {
			team.add(b, laxyaml.Scalar(member))
		}
		teams = append(teams, team)
	}
	return teams
}

func stem(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

// add adds a member, or all agents of the bundle for *.
func (t *Team) add(b *Bundle, member string) {
	found := false
	for _, e := range b.entries {
		if member == "*" || e.plain == member {
			found = true
			if !slices.Contains(t.Agents, e.ID) {
				t.Agents = append(t.Agents, e.ID)
			}
		}
	}
	if found || member == "" {
		return
	}
	if e, err := b.catalog.lookup(member); err == nil {
		t.Agents = append(t.Agents, e.ID)
		return
	}
	t.Missing = append(t.Missing, member)
}

// parties are the agents that central configurations describe.
func (c *Catalog) parties() []Team {
	seen := map[string]bool{}
	var teams []Team
	for _, b := range c.bundles {
		if b.tree == "" || seen[b.tree] {
			continue
		}
		seen[b.tree] = true
		merged, _, _ := b.central(func(name string) (src, file string, ok bool) {
			src, err := b.readNamed(name)
			return src, name, err == nil
		})
		agents, _ := merged["agents"].(map[string]any)
		if len(agents) == 0 {
			continue
		}
		team := Team{Name: "party", Description: "All agents that the configuration describes", File: path.Join(b.tree, "config.toml")}
		for _, name := range sortedKeys(agents) {
			team.add(b, name)
		}
		teams = append(teams, team)
	}
	return teams
}
