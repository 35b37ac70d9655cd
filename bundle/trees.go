package bundle

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/workspace"
)

// bmadRoot is the name of an installed tree's root: its modules refer to each other.
const bmadRoot = "bmad-root"

// projectSpellings are how files name the project.
var projectSpellings = []string{"{project-root}", "{project_root}"}

// treeSpellings are how files name an installation inside the project.
var treeSpellings = []string{"bmad", "_bmad", ".bmad", "{bmad_folder}", "{.bmad}"}

// installedTree finds the modules of bmad/, _bmad/ or a tree of another name. They are
// one installation and may read each other; custom bundles inside it are somebody else's.
func (f *finder) installedTree(tree string) {
	for _, dir := range f.modules(f.match(tree+"/*"), "custom") {
		f.furnish(f.add(dir, LayoutInstalled), dir, tree)
	}
}

// furnish gives a module what it may read beside itself: the rest of its installation,
// and the skills that are installed with it.
func (f *finder) furnish(b *Bundle, dir, tree string) {
	if tree != "" {
		b.tree = f.shown(tree)
		b.home = f.host(path.Dir(tree))
		if first, _, _ := strings.Cut(tree, "/"); isEditorFile(tree+"/x") && strings.HasPrefix(first, ".") && first != tree {
			b.home = f.host(".") // what an editor keeps is not the project
		}
		b.keepsMemlog = f.list(tree)["config.toml"]
		b.values["bmad-folder"] = path.Base(tree)
		b.further = append(b.further, workspace.Root{Name: bmadRoot, Dir: f.host(tree), Access: workspace.ReadOnly})
		if custom := path.Join(tree, "custom"); f.list(custom)["bundles"] && !strings.HasPrefix(dir, custom+"/") {
			b.further = append(b.further, workspace.Root{Name: "bmad-custom-bundles", Dir: f.host(path.Join(custom, "bundles"))})
		}
		if core := path.Join(tree, "core"); f.list(core) != nil {
			b.core = f.host(core)
		}
	}
	b.respell = f.spellings(b, dir, tree)
	f.skillRoots(b)
}

// spellings turns the paths that files of a module have elsewhere into those they have
// here: an installed module is named by its sources, or by a tree of another name, and a
// module that is not installed by where it would be.
func (f *finder) spellings(b *Bundle, dir, tree string) *strings.Replacer {
	var pairs []string
	for _, project := range projectSpellings {
		if tree == "" {
			for _, name := range slices.Compact([]string{path.Base(b.host), f.codeOf(dir)}) {
				for _, spelled := range treeSpellings {
					pairs = append(pairs, project+"/"+spelled+"/"+name+"/", "{"+workspace.BundleRoot+"}/")
				}
				pairs = append(pairs, project+"/src/modules/"+name+"/", "{"+workspace.BundleRoot+"}/")
			}
			continue
		}
		for _, other := range f.match(tree + "/*") {
			name := path.Base(other)
			pairs = append(pairs, project+"/src/modules/"+name+"/", "{"+bmadRoot+"}/"+name+"/")
			if f.list(path.Join(path.Dir(tree), "src", name)) == nil {
				pairs = append(pairs, project+"/src/"+name+"/", "{"+bmadRoot+"}/"+name+"/")
			}
		}
		for _, spelled := range treeSpellings {
			if spelled != path.Base(tree) && f.list(path.Join(path.Dir(tree), spelled)) == nil {
				pairs = append(pairs, project+"/"+spelled+"/", "{"+bmadRoot+"}/")
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// codeOf returns the code that a module gives itself, under which it would be installed.
func (f *finder) codeOf(dir string) string {
	for _, name := range []string{"module.yaml", "custom.yaml", "_module-installer/install-config.yaml"} {
		file := path.Join(dir, name)
		if !f.has(file) {
			continue
		}
		if src, err := f.read(file); err == nil {
			if root, _, err := ParseYAML(file, 1, []byte(src)); err == nil {
				if code := laxyaml.Scalar(laxyaml.Field(root, "code")); code != "" {
					return code
				}
			}
		}
	}
	return path.Base(f.host(dir))
}

// module makes a bundle of a directory with agents that is no part of a known layout.
func (f *finder) module(dir string) *Bundle {
	b := f.moduleWithout(dir)
	for _, name := range f.agentFiles(dir) {
		b.addFile(name)
	}
	return b
}

// moduleWithout is module without the agents.
func (f *finder) moduleWithout(dir string) *Bundle {
	if f.isV4(dir) {
		b := f.empty(dir, LayoutV4)
		f.furnishV4(b, dir)
		return b
	}
	tree := f.treeOf(dir)
	b := f.empty(dir, LayoutInstalled)
	f.furnish(b, dir, tree)
	if tree == "" && len(f.trees) > 0 { // it stands beside an installation
		b.further = append(b.further, workspace.Root{Name: bmadRoot, Dir: f.host(f.trees[0]), Access: workspace.ReadOnly})
		b.tree = f.shown(f.trees[0])
	}
	return b
}

// sourceTree finds the modules of BMAD's own sources, src/modules/<name> and
// src/<name>. Their files name each other by where they will be installed.
func (f *finder) sourceTree() {
	modules := f.modules(append(f.match("src/modules/*"), f.match("src/*")...), "modules")
	modules = slices.DeleteFunc(modules, func(dir string) bool {
		in := f.list(dir)
		return path.Base(dir) != "core" && !in["module.yaml"] && !in["_module-installer"]
	})
	for _, dir := range modules {
		b := f.add(dir, LayoutSource)
		b.values["bmad-folder"] = "bmad"
		var spellings []string
		for _, other := range modules {
			name := path.Base(other)
			root := name + "-root"
			switch {
			case other == dir:
				root = workspace.BundleRoot
			case name == "core":
				root = workspace.CoreRoot
				b.core = f.host(other)
			default:
				b.further = append(b.further, workspace.Root{Name: root, Dir: f.host(other), Access: workspace.ReadOnly})
			}
			for _, tree := range treeSpellings {
				for _, project := range projectSpellings {
					spellings = append(spellings, project+"/"+tree+"/"+name+"/", "{"+root+"}/")
				}
			}
		}
		b.respell = strings.NewReplacer(spellings...)
	}
}

// modules keeps the directories that look like modules of a BMAD tree.
func (f *finder) modules(dirs []string, but string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool {
		name := path.Base(dir)
		in := f.list(dir)
		isModule := in["agents"] || in["workflows"] || in["tasks"]
		return !isModule || name == but || strings.HasPrefix(name, "_") || f.seen[dir] || in[manifestFile]
	})
}

// isV4 says whether the agents of a directory are of version 4.
func (f *finder) isV4(dir string) bool {
	if f.list(dir)["core-config.yaml"] {
		return true
	}
	for _, file := range f.in(path.Join(dir, "agents")) {
		if extensionOf(file) != ".md" {
			continue
		}
		src, err := f.read(file)
		if err == nil && !strings.Contains(src, "<agent ") && (slices.ContainsFunc(blocksOf(src), isV4) || isBareV4(src)) {
			return true
		}
	}
	return false
}

// versionFour finds .bmad-core, the .<pack> of expansion packs under any name, and the
// sources of both, whose agents share the files of common/.
func (f *finder) versionFour() {
	dirs := slices.Concat(f.match(".bmad-*"), f.match("bmad-core"), f.match("expansion-packs/*"), f.match(".*"))
	for _, file := range f.files { // a tree under another name, or deeper down
		if path.Base(file) == "core-config.yaml" && !f.isDecoy(file) {
			dirs = append(dirs, path.Dir(file))
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { // copies put aside come last
		switch a, b := isBackup(a), isBackup(b); {
		case a == b:
			return 0
		case b:
			return -1
		}
		return 1
	})
	for _, dir := range dirs {
		in := f.list(dir)
		isPack := in["tasks"] || in["templates"] || in["checklists"] || in["data"] || in["config.yaml"] || in["core-config.yaml"]
		if f.seen[dir] || !in["agents"] || !isPack || !f.isV4(dir) || f.treeOf(dir) != "" {
			continue
		}
		f.furnishV4(f.add(dir, LayoutV4), dir)
	}
}

// coreAround returns the core of version 4 that a pack, or an editor's copy of an agent, is
// installed with: the nearest one beside it or above, empty if there is none.
func (f *finder) coreAround(dir string) string {
	for above := path.Dir(dir); ; above = path.Dir(above) {
		for _, name := range []string{".bmad-core", "bmad-core"} {
			if core := path.Join(above, name); f.list(core) != nil {
				return core
			}
		}
		if above == "." || above == "/" {
			return ""
		}
	}
}

// furnishV4 gives a bundle of version 4 its {root}. A pack may read the core beside it,
// and the sources share common/.
func (f *finder) furnishV4(b *Bundle, dir string) {
	b.home = f.host(path.Dir(dir))
	b.further = append(b.further, workspace.Root{Name: "root", Dir: b.host, Access: workspace.ReadOnly})
	var pairs []string
	spell := func(name, root string) {
		pairs = append(pairs, "{project-root}/"+name+"/", "{"+root+"}/", name+"/", "{"+root+"}/")
	}
	base := path.Base(dir)
	core := f.coreAround(dir)
	switch {
	case base == ".bmad-core" || base == "bmad-core" || core == "":
		spell(".bmad-core", "root") // upstream wrote both
		spell("bmad-core", "root")
	default:
		b.core = f.host(core)
		spell(".bmad-core", workspace.CoreRoot)
		spell("bmad-core", workspace.CoreRoot)
	}
	if base != ".bmad-core" && base != "bmad-core" {
		spell(".bmad-"+b.Name, "root")
		if base != ".bmad-"+b.Name {
			if !strings.HasPrefix(base, ".") {
				spell("."+base, "root") // where sources will be installed
			}
			spell(base, "root")
		}
	}
	b.respell = strings.NewReplacer(pairs...)
	if !strings.HasPrefix(base, ".") {
		if b.shared = f.sharedFiles(); b.shared != nil {
			b.further = append(b.further, workspace.Root{Name: "common-root", Dir: f.host("common"), Access: workspace.ReadOnly})
		}
	}
}

// sharedFiles lists common/ by type and name: tasks/create-doc.md.
func (f *finder) sharedFiles() map[string]bool {
	var shared map[string]bool
	for _, e := range f.entries("common", 2) {
		if !e.IsDir && strings.Contains(e.Path, "/") {
			if shared == nil {
				shared = make(map[string]bool)
			}
			shared[e.Path] = true
		}
	}
	return shared
}
