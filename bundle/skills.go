package bundle

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// The files of an agent that is a skill.
const (
	SkillFile     = "SKILL.md"
	CustomizeFile = "customize.toml"
	skillManifest = "bmad-skill-manifest.yaml"
)

// indexSkills finds all skills. Installers copy them for every editor: of those of one
// name, one counts.
func (f *finder) indexSkills() {
	copies := map[string][]string{}
	for _, file := range f.files {
		if isSkillFile(path.Base(file)) && path.Dir(file) != "." {
			copies[path.Base(path.Dir(file))] = append(copies[path.Base(path.Dir(file))], path.Dir(file))
		}
	}
	for name, dirs := range copies {
		f.skills[name] = f.bestCopy(dirs)
	}
}

// bestCopy chooses among the copies of a skill: the one that tools read, for it is the
// newest; but the installation's own where that is the same.
func (f *finder) bestCopy(dirs []string) string {
	rank := func(dir string) int {
		n := 5
		switch {
		case strings.HasPrefix(dir, ".agents/skills/"):
			n = 0
		case strings.HasPrefix(dir, ".claude/skills/"):
			n = 1
		case isEditorFile(dir):
			n = 2
		case f.treeOf(dir) != "":
			n = 3
		case strings.HasPrefix(dir, "skills/"):
			n = 4
		}
		if isBackup(dir) {
			n += 10
		}
		return n
	}
	best := slices.MinFunc(dirs, func(a, b string) int { return rank(a) - rank(b) })
	if len(dirs) == 1 {
		return best
	}
	want, err := f.read(f.skillFile(best))
	if err != nil {
		return best
	}
	for _, dir := range dirs {
		if f.treeOf(dir) == "" || dir == best {
			continue
		}
		if text, err := f.read(f.skillFile(dir)); err == nil && text == want {
			return dir
		}
	}
	return best
}

// skillRoots lets a bundle read the skills that are installed in the project, outside
// of the installation itself.
func (f *finder) skillRoots(b *Bundle) {
	homes := map[string]bool{}
	for _, dir := range f.skills {
		home := path.Dir(dir)
		if at := strings.Index(dir+"/", "/skills/"); at >= 0 {
			home = dir[:at] + "/skills"
		} else if strings.HasPrefix(dir, "skills/") {
			home = "skills"
		}
		if home != "." && f.treeOf(home) == "" && f.shown(home) != b.Dir {
			homes[home] = true
		}
	}
	for _, home := range sortedKeys(homes) {
		name := "skills-" + strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, home), "-")
		if len(name) <= 60 && !slices.ContainsFunc(b.further, func(r workspace.Root) bool { return r.Name == name }) {
			b.further = append(b.further, workspace.Root{Name: name, Dir: f.host(home), Access: workspace.ReadOnly})
		}
	}
}

// skillAgents finds the skills that are agents.
func (f *finder) skillAgents() {
	for _, name := range sortedKeys(f.skills) {
		f.skill(f.skills[name])
	}
	for _, file := range f.files {
		if base := path.Base(file); base == skillManifest || base == CustomizeFile {
			f.skillWithout(path.Dir(file))
		}
	}
}

// skillWithout lists an agent whose text is not there, as it is where an installer or a
// package has left it out: its author meant one.
func (f *finder) skillWithout(dir string) {
	name := path.Base(dir)
	if in := f.list(dir); !in[CustomizeFile] && slices.ContainsFunc(sortedKeys(in), func(file string) bool { return extensionOf(file) == ".md" || hasAgentSuffix(file) }) {
		return // the manifest is that of the files beside it
	}
	if dir == "." || f.seen[dir] || f.skills[name] != "" || f.hasAgent(name) || f.isDecoy(path.Join(dir, "x")) || isBackup(dir) || !f.isSkillAgent(dir, f.list(dir)) {
		return
	}
	b := f.empty(dir, LayoutSkill)
	b.add(Entry{EntryPoint: true}, b.Name, SkillFile)
	b.entries[0].missing = "there is no SKILL.md: what is here says that this is an agent, but its text was left out; install the module anew, or copy the SKILL.md from its repository"
}

// skill makes a bundle of a directory whose SKILL.md is an agent: its customize.toml
// has an [agent], its manifest says so, its name does, or its text is about somebody. It
// says whether it is one.
func (f *finder) skill(dir string) bool {
	in := f.list(dir)
	file := path.Base(f.skillFile(dir))
	if !in[file] || f.seen[dir] || f.isDecoy(path.Join(dir, "x")) {
		return false
	}
	if !f.isSkillAgent(dir, in) {
		return false
	}
	b := f.empty(dir, LayoutSkill)
	tree := f.treeOf(dir)
	if tree == "" && len(f.trees) > 0 {
		tree = f.trees[0]
	}
	f.furnish(b, dir, tree)
	b.further = append(b.further, workspace.Root{Name: "skill-root", Dir: b.host, Access: workspace.ReadOnly})
	b.values["skill-name"] = b.Name
	b.add(Entry{EntryPoint: true}, b.Name, file)
	return true
}

// skillFile returns the file of the skill in a directory: SKILL.md, in whatever case its
// author has written that.
func (f *finder) skillFile(dir string) string {
	if !f.list(dir)[SkillFile] {
		for name := range f.list(dir) {
			if isSkillFile(name) {
				return path.Join(dir, name)
			}
		}
	}
	return path.Join(dir, SkillFile)
}

func isSkillFile(base string) bool { return strings.EqualFold(base, SkillFile) }

func (f *finder) isSkillAgent(dir string, in map[string]bool) bool {
	if in[CustomizeFile] {
		src, err := f.read(path.Join(dir, CustomizeFile))
		if err != nil {
			f.found = append(f.found, asFinding(err, f.shown(dir)))
			return false
		}
		if tableLines(src, "[agent]") != nil || tableLines(src, "[[agent.menu]]") != nil {
			return true
		}
		if tableLines(src, "[workflow]") != nil {
			return false
		}
	}
	saysOther := false
	if in[skillManifest] {
		file := path.Join(dir, skillManifest)
		if src, err := f.read(file); err == nil {
			root, _, err := ParseYAML(file, 1, []byte(src))
			kind := laxyaml.Scalar(laxyaml.Field(manifestOf(root), "type"))
			if err == nil && strings.EqualFold(kind, "agent") {
				return true
			}
			saysOther = err == nil && kind != ""
		}
	}
	src, err := f.read(f.skillFile(dir))
	if err != nil || strings.Contains(src, "LOAD the FULL agent file") {
		return false
	}
	name := path.Base(f.host(dir))
	return !saysOther && (strings.HasPrefix(name, "bmad-agent-") || strings.Contains(name, "-agent-") && isOffering(src)) || isPersona(src)
}

// isOffering says whether a skill's text is that of somebody who is activated and says what
// there is: the builder calls such agents MODULE-agent-NAME.
func isOffering(src string) bool {
	_, body, _ := markup.FrontMatter([]byte(src))
	text := string(body)
	return sectionOf(text, "On Activation") != "" && sectionOf(text, "Capabilities") != ""
}

// isPersona says whether a skill's text is about somebody: who that is, how they speak,
// and what they offer or stand for. People write agents so without saying it elsewhere.
func isPersona(src string) bool {
	_, body, _ := markup.FrontMatter([]byte(src))
	text := string(body)
	return sectionOf(text, "Identity") != "" && sectionOf(text, "Communication Style") != "" &&
		(sectionOf(text, "Principles") != "" || sectionOf(text, "Capabilities") != "")
}

// SkillPath returns the path of the SKILL.md of a skill as agents of the bundle may
// write it, empty if there is no such skill in the project.
func (b *Bundle) SkillPath(name string) string {
	name = strings.TrimPrefix(strings.TrimSpace(name), "/")
	dir, ok := b.catalog.skills[name]
	for short := name; !ok; { // a variant that is not installed: bmad-product-brief-preview
		at := strings.LastIndexByte(short, '-')
		if at < 0 || strings.Count(short[:at], "-") < 2 {
			return ""
		}
		short = short[:at]
		dir, ok = b.catalog.skills[short]
	}
	rel, err := filepath.Rel(b.projectDir(), filepath.Join(b.catalog.project, filepath.FromSlash(dir)))
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return "{" + workspace.ProjectRoot + "}/" + filepath.ToSlash(rel) + "/" + cmp.Or(b.catalog.skillFiles[dir], SkillFile)
}

// Skills lists the names of the skills in the project.
func (c *Catalog) Skills() []string { return sortedKeys(c.skills) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
