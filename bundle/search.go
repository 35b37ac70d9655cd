package bundle

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// What a search of a project looks at. Real projects stay below, or keep their agents
// near the top.
const (
	maxSearchDepth = 9
	maxSearchDirs  = 20_000
)

// outputsDir is the directory of a project's data that has a directory for every session.
const outputsDir = "agent-outputs"

func isPassedOver(name string) bool { return slices.Contains(passedOver, strings.ToLower(name)) }

// passedOver are directories that hold what programs have made or fetched.
var passedOver = []string{
	"node_modules", "vendor", "__pycache__", "venv", "env", "target", "coverage", outputsDir, "testdata", "fixtures", "pods", "obj",
	".git", ".hg", ".svn", ".venv", ".next", ".nuxt", ".cache", ".idea", ".gradle", ".terraform", ".mypy_cache", ".pytest_cache", ".ruff_cache",
	".svelte-kit", ".yarn", ".pnpm-store", ".tox", ".direnv", ".turbo", ".angular", ".dart_tool", ".ipynb_checkpoints", ".unpacking",
}

// search lists the files of a project in which an agent or a skill could be, by name
// alone. Projects inside this one are left out, and returned, unless deep is set.
func (f *finder) search(dir string, depth int, deep bool) {
	if depth == 0 || f.searched > maxSearchDirs {
		return
	}
	f.searched++
	entries := f.entries(dir, 1)
	if dir != "." && slices.ContainsFunc(entries, func(e workspace.Entry) bool { return e.IsDir && e.Path == outputsDir }) {
		return // what Troupe itself keeps: no agents, and a directory for every session
	}
	if !deep && dir != "." && !isEditorFile(dir+"/x") && slices.ContainsFunc(entries, func(e workspace.Entry) bool {
		return e.IsDir && !isPassedOver(e.Path) && !isEditorFile(path.Join(dir, e.Path, "x")) && f.isTree(path.Join(dir, e.Path))
	}) {
		f.nested = append(f.nested, dir) // with what editors have of it
		return
	}
	for _, e := range entries {
		name := path.Join(dir, e.Path)
		switch {
		case e.IsLink:
			f.follow(name, depth, deep)
		case f.linked[name]: // where a link has led already
		case !e.IsDir:
			f.files = append(f.files, name)
		case isPassedOver(e.Path):
		default:
			f.search(name, depth-1, deep)
		}
	}
}

// linkNames are those of links that people set to what they keep elsewhere: to an
// installation, to the skills of another editor.
var linkNames = []string{"bmad", "_bmad", ".bmad", ".bmad-core", "skills", ".claude", ".agents", ".cursor"}

// follow searches the directory of the project that a link leads to, under the link's own
// name: {project-root}/_bmad is there. A link that leads out of the project is noted.
func (f *finder) follow(name string, depth int, deep bool) {
	if !slices.Contains(linkNames, path.Base(name)) {
		return
	}
	target, err := filepath.EvalSymlinks(f.host(name))
	if err != nil {
		return // it leads nowhere
	}
	info, err := os.Stat(target)
	if err != nil || !info.IsDir() {
		return
	}
	top, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return
	}
	rel, err := filepath.Rel(top, target)
	if err != nil || !filepath.IsLocal(rel) {
		f.found = append(f.found, warning(CodeLink, f.shown(name), 1,
			"this link leads out of the project and is not followed; copy what it leads to, or name that directory under bundles: in troupe.yaml"))
		return
	}
	rel = filepath.ToSlash(rel)
	if base := path.Base(name); rel == "." || strings.HasPrefix(name+"/", rel+"/") || f.linked[rel] || base == "skills" || !strings.Contains(base, "bmad") {
		return // it is found where it is
	}
	f.linked[rel] = true
	f.search(name, depth-1, deep)
}

// isTree says whether a directory is an installation of BMAD: by its name and what is
// in it, or by the manifests that an installer writes.
func (f *finder) isTree(dir string) bool {
	base := path.Base(dir)
	in := f.list(dir)
	if in == nil {
		return false
	}
	for _, config := range []string{"_cfg", "_config"} {
		if !in[config] {
			continue
		}
		made := f.list(path.Join(dir, config))
		if made["manifest.yaml"] || made["manifest.csv"] || made["agent-manifest.csv"] || made["agents"] {
			return true
		}
	}
	switch base {
	case "bmad", "_bmad", ".bmad":
		return in["core"] || in["bmm"] || in["custom"] || in["config.toml"] || slices.ContainsFunc(f.match(dir+"/*"), func(module string) bool {
			return f.list(module)["agents"]
		})
	case ".bmad-core":
		return in["agents"]
	}
	return false
}

// in returns the searched files below a directory.
func (f *finder) in(dir string) []string {
	if dir == "." {
		return f.files
	}
	from, _ := slices.BinarySearch(f.files, dir+"/")
	to := from
	for to < len(f.files) && strings.HasPrefix(f.files[to], dir+"/") {
		to++
	}
	return f.files[from:to]
}

// isDecoy says whether a file only looks like an agent's: overrides, the installer's
// copies of sources, examples, and what editors are pointed to agents with.
func isDecoy(name string) bool {
	elements := strings.Split(name, "/")
	for i, element := range elements[:len(elements)-1] {
		switch element {
		case "_cfg", "_config", "reference", "references", "docs", "node_modules":
			return true
		case "examples", "data", "templates", "test", "tests":
			if i > 0 {
				return true
			}
		}
	}
	return false
}

// isDecoy is the function of that name, unless nothing was found elsewhere: somebody may
// have put the whole installation below docs/ or examples/.
func (f *finder) isDecoy(name string) bool {
	if f.anywhere {
		for element := range strings.SplitSeq(path.Dir(name), "/") {
			if slices.Contains([]string{"_cfg", "_config", "node_modules", "reference", "references"}, element) {
				return true
			}
		}
		return false
	}
	return isDecoy(name)
}

// isEditorFile says whether a file lies in a directory that an editor reads, other
// than its skills: .claude/commands, .cursor/rules and the like.
func isEditorFile(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	if strings.HasPrefix(first, ".") && !strings.HasPrefix(first, ".bmad") {
		return true
	}
	return strings.Contains(name, "/.claude/") || strings.Contains(name, "/.cursor/")
}

// isBackup says whether a path is that of a copy that somebody put aside.
func isBackup(name string) bool {
	for element := range strings.SplitSeq(strings.ToLower(name), "/") {
		for _, mark := range []string{"backup", ".bak", "-bak", "_bak", ".old", "-old", "_old", "archive", "deprecated", "legacy"} {
			if strings.Contains(element, mark) {
				return true
			}
		}
	}
	return false
}

// agentSuffix is that of files which are meant to be agents, whatever is in them.
func hasAgentSuffix(base string) bool {
	base = strings.ToLower(base)
	return strings.HasSuffix(base, ".agent.yaml") || strings.HasSuffix(base, ".agent.yml") || strings.HasSuffix(base, ".agent.json")
}

// extensionOf is what a file's name ends with, in lower case.
func extensionOf(name string) string { return strings.ToLower(path.Ext(name)) }

// agentFiles returns the files below agents/ that define agents, relative to dir. An
// agent with files of its own has a directory, agents/tech-writer/tech-writer.md;
// people sort theirs into directories, too.
func (f *finder) agentFiles(dir string) []string {
	var names []string
	home := path.Join(dir, "agents")
	for _, file := range f.in(home) {
		rel := strings.TrimPrefix(file, home+"/")
		base := path.Base(rel)
		if strings.Count(rel, "/") > 3 || isDecoy("agents/"+rel) || strings.EqualFold(base, "README.md") || f.isInSkill(dir, file) || f.isSpecified(file) {
			continue
		}
		isAgent := hasAgentSuffix(base)
		if !isAgent && slices.Contains([]string{".md", ".yaml", ".yml"}, extensionOf(base)) {
			isAgent = f.definesAgent(file)
			isMeant := extensionOf(base) == ".md" && (rel == base || stem(base) == path.Base(path.Dir(rel))) && !strings.EqualFold(base, "index.md")
			if !isAgent && isMeant && f.isModule(dir) {
				src, err := f.read(file)
				isAgent = err == nil && len(src) <= maxAgentFile && isProseAgent(src)
			}
			if !isAgent && isMeant {
				f.found = append(f.found, warning(CodeNoAgent, f.shown(file), 1,
					"the file defines no agent: it has neither an <agent> nor a YAML block with agent; if it is meant to be one, write one, else move it out of agents/"))
			}
		}
		if isAgent {
			names = append(names, path.Join("agents", rel))
		}
	}
	return names
}

// isSpecified says whether a file is the specification of an agent that is there, too:
// scout.spec.md of scout.agent.yaml.
func (f *finder) isSpecified(file string) bool {
	plan, ok := strings.CutSuffix(file, ".spec.md")
	if !ok {
		return false
	}
	inOwn := path.Join(plan, path.Base(plan))
	return slices.ContainsFunc([]string{".agent.yaml", ".agent.yml", ".md", ".yaml"}, func(ext string) bool { return f.has(plan+ext) || f.has(inOwn+ext) })
}

// isModule says whether a directory is BMAD's beyond doubt, so that what lies in its
// agents/ is meant to be an agent.
func (f *finder) isModule(dir string) bool {
	in := f.list(dir)
	return f.treeOf(dir) != "" || in["module.yaml"] || in["core-config.yaml"] || in["_module-installer"]
}

// isInSkill says whether a file is part of a skill inside dir: agents/x.md there are
// prompts for helpers.
func (f *finder) isInSkill(dir, file string) bool {
	for up := path.Dir(file); up != dir && up != "." && len(up) > len(dir); up = path.Dir(up) {
		if f.has(f.skillFile(up)) {
			return true
		}
	}
	return f.has(f.skillFile(dir))
}

// has says whether the search came across a file.
func (f *finder) has(name string) bool {
	_, found := slices.BinarySearch(f.files, name)
	return found
}

// maxAgentFile bounds a file that is looked at to see whether it defines an agent.
const maxAgentFile = 256 << 10

// definesAgent looks into a file for an agent's definition.
func (f *finder) definesAgent(file string) bool {
	src, err := f.read(file)
	if err != nil {
		return extensionOf(file) == ".md" // which loading will complain of
	}
	return len(src) <= maxAgentFile && definesAgent(file, src)
}

func definesAgent(file, src string) bool {
	if ext := extensionOf(file); ext == ".yaml" || ext == ".yml" {
		root, _, err := ParseYAML(file, 1, []byte(src))
		if err != nil {
			return false
		}
		return isAgentYAML(root)
	}
	if strings.Contains(src, "<agent ") || strings.Contains(src, "<agent>") || strings.Contains(src, "<agent\n") {
		doc, err := markup.Parse([]byte(src), markup.Options{Known: markup.IsAgentTag})
		if err != nil {
			return true // which loading will complain of
		}
		for _, n := range doc.Root.Named("agent") {
			_, named := n.Attr("name")
			if named || n.Find("persona") != nil || n.Find("menu") != nil || n.Find("cmds") != nil {
				return true
			}
		}
	}
	if root, _ := frontAgent(src); root != nil || slices.ContainsFunc(blocksOf(src), isV4) {
		return true
	}
	_, ok := bareV4(src)
	return ok
}
