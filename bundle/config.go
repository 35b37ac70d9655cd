package bundle

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/workspace"
)

// A Setting is a value of the configuration and where it comes from.
type Setting struct {
	Name, Value string
	// File is relative to the project, and empty for what no file says.
	File string
}

// Settings returns the configuration that holds for the bundle's agents, whether or
// not one of them loads it: of the core, of the module, and what is laid over them.
// Later files win. What cannot be read is a finding.
func (b *Bundle) Settings() ([]Setting, []Finding) {
	ws, err := b.files()
	if err != nil {
		return nil, []Finding{asFinding(err, b.Dir)}
	}
	return b.settings(ws)
}

func (b *Bundle) settings(ws *workspace.Workspace) (list []Setting, found []Finding) {
	at := map[string]int{}
	set := func(name, value, file string) {
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list = append(list, Setting{Name: name})
		}
		list[i].Value, list[i].File = value, file
	}
	read := func(name string) (src, file string, ok bool) {
		loc, err := ws.Resolve(name)
		if err != nil {
			return "", "", false
		}
		src, err = ws.ReadFile(loc)
		return textOf(src), b.shown(loc), err == nil
	}
	for _, name := range b.configFiles(ws) {
		src, file, ok := read(name)
		if !ok {
			continue
		}
		values, order, err := b.configValues(file, src)
		if err != nil {
			found = append(found, asFinding(err, file))
			continue
		}
		for _, key := range order {
			set(key, values[key], file)
		}
	}
	merged, layers, wrong := b.central(read)
	found = append(found, wrong...)
	for _, table := range b.centralTables(merged) {
		for _, key := range sortedKeys(table) {
			if value, ok := plainValue(table[key]); ok && value != "" {
				set(key, b.here(value), lastWith(layers, key))
			}
		}
	}
	for _, usual := range b.usual() {
		if _, known := at[usual.Name]; !known {
			set(usual.Name, usual.Value, "")
		}
	}
	for i := range list { // {project-root}/{output_folder}/x, where that begins with the project itself
		rest, ok := strings.CutPrefix(list[i].Value, projectPrefix+"{")
		name, _, closed := strings.Cut(rest, "}")
		if of, known := at[name]; ok && closed && known && strings.HasPrefix(list[of].Value, projectPrefix) {
			list[i].Value = "{" + rest
		}
	}
	return list, found
}

const projectPrefix = "{" + workspace.ProjectRoot + "}/"

// NoName is the user_name of an installation whose installer was told none.
const NoName = "(no name given)"

// usual are the settings that agents of an installation count on, as its installer would
// have them, and skills that somebody has copied without one. Installers that nobody
// answers leave some out, and name them all the same in others ({project-root}/{output_folder}/planning-artifacts).
func (b *Bundle) usual() []Setting {
	if b.tree == "" && b.Layout != LayoutSkill || b.Layout == LayoutV4 {
		return nil
	}
	list := []Setting{
		{Name: "user_name", Value: NoName},
		{Name: "communication_language", Value: "the language that the user writes in"},
	}
	if b.tree == "" { // what no installer has filled in is asked for when skills are rendered
		list = append(list, Setting{Name: "document_output_language", Value: "the language that the user writes in"})
	} else if path.Base(b.tree) != "_bmad" {
		return append(list, Setting{Name: "output_folder", Value: "{project-root}/docs"})
	}
	return append(list,
		Setting{Name: "output_folder", Value: "{project-root}/_bmad-output"},
		Setting{Name: "planning_artifacts", Value: "{output_folder}/planning-artifacts"},
		Setting{Name: "implementation_artifacts", Value: "{output_folder}/implementation-artifacts"},
	)
}

// configFiles are the files that hold a bundle's configuration, as paths. Later ones win.
func (b *Bundle) configFiles(ws *workspace.Workspace) []string {
	in := func(root, name string) string { return "{" + root + "}/" + name }
	if b.Layout == LayoutV4 {
		return []string{in(workspace.CoreRoot, "core-config.yaml"), in("root", "config.yaml"), in("root", "core-config.yaml")}
	}
	files := []string{in(workspace.CoreRoot, "config.yaml")}
	if b.tree != "" {
		files = append(files, in(bmadRoot, "core/config.yaml"))
		module := strings.Split(strings.TrimPrefix(b.Dir, b.tree+"/"), "/")[0]
		if b.Layout == LayoutSkill || !strings.HasPrefix(b.Dir, b.tree+"/") {
			module = ""
		}
		var modules []string
		if root, err := ws.Resolve("{" + bmadRoot + "}"); err == nil {
			if list, err := ws.List(root, 1); err == nil {
				for _, e := range list.Entries {
					if e.IsDir && e.Path != "core" && !strings.HasPrefix(e.Path, "_") && e.Path != "custom" {
						modules = append(modules, e.Path)
					}
				}
			}
		}
		// The method's own module goes before others that somebody added, and an
		// agent's own module before all.
		rank := func(name string) int {
			switch name {
			case module:
				return 2
			case "bmm":
				return 1
			}
			return 0
		}
		slices.SortStableFunc(modules, func(x, y string) int { return rank(x) - rank(y) })
		for _, name := range modules {
			if module == "" || name == module || name == "bmm" {
				files = append(files, in(bmadRoot, name+"/bmadconfig.yaml"), in(bmadRoot, name+"/config.yaml"), in(bmadRoot, name+"/config.user.yaml"))
			}
		}
	}
	files = append(files, in(workspace.BundleRoot, "config.yaml"), in(workspace.BundleRoot, "config.user.yaml"))
	for _, ref := range b.References {
		if ref.Use == UseConfig {
			files = append(files, in(workspace.BundleRoot, ref.Path))
		}
	}
	return files
}

// central reads the four layers of the central configuration.
func (b *Bundle) central(read func(string) (src, file string, ok bool)) (_ map[string]any, layers []tomlLayer, found []Finding) {
	for _, name := range []string{"config.toml", "config.user.toml", "custom/config.toml", "custom/config.user.toml"} {
		src, file, ok := read("{" + bmadRoot + "}/" + name)
		if !ok {
			continue
		}
		layer, err := readTOML(file, src)
		if err == nil {
			_, err = mergeLayers(append(layers[:len(layers):len(layers)], layer)...)
		}
		if err != nil {
			found = append(found, asFinding(err, file))
			continue
		}
		found = append(found, layer.mended...)
		layers = append(layers, layer)
	}
	merged, err := mergeLayers(layers...)
	if err != nil {
		found = append(found, asFinding(err, path.Join(b.tree, "config.toml")))
	}
	return merged, layers, found
}

// centralTables returns the tables of a central configuration that hold settings: of
// the core, of all modules, and of the bundle's own last.
func (b *Bundle) centralTables(merged map[string]any) []map[string]any {
	var tables []map[string]any
	add := func(value any) {
		if table, ok := value.(map[string]any); ok {
			tables = append(tables, table)
		}
	}
	add(merged["core"])
	modules, _ := merged["modules"].(map[string]any)
	names := sortedKeys(modules)
	slices.SortStableFunc(names, func(x, y string) int {
		own := func(name string) int {
			switch name {
			case path.Base(b.Dir):
				return 2
			case "bmm":
				return 1
			}
			return 0
		}
		return cmp.Compare(own(x), own(y))
	})
	for _, name := range names {
		add(modules[name])
	}
	return tables
}

// lastWith returns the file of the last layer in which a key occurs.
func lastWith(layers []tomlLayer, key string) string {
	file := ""
	var has func(table map[string]any) bool
	has = func(table map[string]any) bool {
		if _, ok := table[key]; ok {
			return true
		}
		for _, value := range table {
			if inner, ok := value.(map[string]any); ok && has(inner) {
				return true
			}
		}
		return false
	}
	for _, layer := range layers {
		if has(layer.values) {
			file = layer.file
		}
	}
	return file
}

// plainValue returns a single value of TOML as text.
func plainValue(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case int64, float64:
		return fmt.Sprint(value), true
	}
	return "", false
}

// configValues reads the variables of a config file. A nested value is named by
// the keys on the way to it, qa.location; lists have no name. Empty values are
// left out, so that they do not hide others. What it returns is shared and not changed.
func (b *Bundle) configValues(file, src string) (values map[string]string, order []string, err error) {
	b.configuring.Lock()
	defer b.configuring.Unlock()
	if known := b.configs[file]; known != nil && known.src == src {
		return known.values, known.order, nil
	}
	root, _, err := ParseYAML(file, 1, []byte(src))
	if err != nil {
		return nil, nil, err
	}
	values = make(map[string]string)
	b.collect(values, &order, "", root)
	if b.configs == nil {
		b.configs = map[string]*configFile{}
	}
	b.configs[file] = &configFile{src, values, order}
	return values, order, nil
}

// A configFile is a configuration as it was last read: every session asks for it.
type configFile struct {
	src    string
	values map[string]string
	order  []string
}

func (b *Bundle) collect(values map[string]string, order *[]string, prefix string, n *yaml.Node) {
	for k, v := range laxyaml.Fields(n) {
		switch name := prefix + k.Value; {
		case v.Kind == yaml.MappingNode:
			b.collect(values, order, name+".", v)
		case laxyaml.Scalar(v) != "":
			if _, known := values[name]; !known {
				*order = append(*order, name)
			}
			values[name] = b.here(laxyaml.Scalar(v))
		}
	}
}

// configured returns ws with the bundle's settings among its variables.
func (b *Bundle) configured(ws *workspace.Workspace) *workspace.Workspace {
	settings, _ := b.settings(ws)
	if len(settings) == 0 {
		return ws
	}
	values := make(map[string]string, len(settings))
	for _, s := range settings {
		values[s.Name] = s.Value
	}
	return ws.With(ws.Vars().WithConfig(values))
}
