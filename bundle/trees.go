package bundle

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/workspace"
)

// bmadRoot is the name of an installed tree's root: its modules refer to each other.
const bmadRoot = "bmad-root"

// installedTree finds the modules of bmad/ or _bmad/. They are one installation
// and may read each other; custom bundles inside it are somebody else's.
func (f *finder) installedTree(tree string) {
	modules := f.modules(f.match(tree+"/*"), "custom")
	for _, dir := range modules {
		b := f.add(dir, LayoutInstalled)
		b.values["bmad-folder"] = tree
		b.further = append(b.further, workspace.Root{Name: bmadRoot, Dir: f.host(tree), Access: workspace.ReadOnly})
		if custom := path.Join(tree, "custom"); f.list(custom) != nil {
			b.further = append(b.further, workspace.Root{Name: "bmad-custom", Dir: f.host(custom)})
		}
		if core := path.Join(tree, "core"); f.list(core) != nil {
			b.core = f.host(core)
		}
		var spellings []string
		for _, other := range modules {
			name := path.Base(other)
			for _, project := range projectSpellings {
				spellings = append(spellings, project+"/src/modules/"+name+"/", "{"+bmadRoot+"}/"+name+"/")
			}
		}
		b.respell = strings.NewReplacer(spellings...)
	}
}

// projectSpellings are how files name the project.
var projectSpellings = []string{"{project-root}", "{project_root}"}

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
			for _, tree := range []string{"bmad", "_bmad", ".bmad", "{bmad_folder}"} {
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

// versionFour finds .bmad-core, the .bmad-<pack> of expansion packs, and the
// sources of both, whose agents share the files of common/.
func (f *finder) versionFour() {
	shared := f.sharedFiles()
	for _, pattern := range []string{".bmad-*", "bmad-core", "expansion-packs/*"} {
		for _, dir := range f.match(pattern) {
			if !f.list(dir)["agents"] || f.seen[dir] {
				continue
			}
			b := f.add(dir, LayoutV4)
			b.further = append(b.further, workspace.Root{Name: "root", Dir: b.host, Access: workspace.ReadOnly})
			if strings.HasPrefix(dir, ".") {
				continue
			}
			b.shared = shared
			b.respell = strings.NewReplacer(".bmad-core/", "{root}/", ".bmad-"+b.Name+"/", "{root}/")
			if shared != nil {
				b.further = append(b.further, workspace.Root{Name: "common-root", Dir: f.host("common"), Access: workspace.ReadOnly})
			}
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
