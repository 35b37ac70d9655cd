package bundle

import (
	"path"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

const manifestFile = "bundle.yaml"

// kebab is what names of bundles and ids of agents look like.
var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// manifest makes a bundle of a directory with a bundle.yaml. It says whether there
// is one, also if it is broken.
func (f *finder) manifest(dir string) bool {
	if !f.list(dir)[manifestFile] {
		return false
	}
	f.seen[dir] = true
	name := path.Join(dir, manifestFile)
	m := manifest{file: f.shown(name)}
	src, err := f.read(name)
	if err == nil {
		m.root, m.found, err = ParseYAML(m.file, 1, []byte(src))
	}
	if err != nil {
		f.found = append(f.found, asFinding(err, m.file))
		return true
	}
	b := f.empty(dir, Layout(laxyaml.Scalar(laxyaml.Field(m.root, "type"))))
	m.fill(b)
	f.found = append(f.found, m.found...)
	return true
}

// A manifest is a bundle.yaml that is being read.
type manifest struct {
	file  string
	root  *yaml.Node
	found []Finding
}

func (m *manifest) wrong(n *yaml.Node, format string, args ...any) {
	line := 1
	if n != nil {
		line = n.Line
	}
	m.found = append(m.found, *problem(CodeManifest, m.file, line, format, args...))
}

// fill reads the manifest into b. What it lacks is a finding; the agents that it
// names well enough are there all the same.
func (m *manifest) fill(b *Bundle) {
	if name := laxyaml.Scalar(laxyaml.Field(m.root, "name")); name != "" {
		b.Name = name
	}
	b.Version = laxyaml.Scalar(laxyaml.Field(m.root, "version"))
	b.Description = laxyaml.Scalar(laxyaml.Field(m.root, "description"))
	for _, key := range []string{"type", "name", "version"} {
		if laxyaml.Scalar(laxyaml.Field(m.root, key)) == "" {
			m.wrong(m.root, "the manifest lacks %s", key)
		}
	}
	if name := laxyaml.Field(m.root, "name"); name != nil && !kebab.MatchString(laxyaml.Scalar(name)) {
		m.wrong(name, "the name %q is not kebab-case", laxyaml.Scalar(name))
	}
	agents := laxyaml.Items(laxyaml.Field(m.root, "agents"))
	switch b.Layout {
	case LayoutBundle:
		if len(agents) == 0 {
			m.wrong(m.root, "a bundle names its agents under agents")
		}
	case LayoutStandalone:
		agents = laxyaml.Items(laxyaml.Field(m.root, "agent"))
		if len(agents) != 1 {
			m.wrong(m.root, "a standalone bundle names its agent under agent")
		}
	default:
		if kind := laxyaml.Field(m.root, "type"); kind != nil {
			m.wrong(kind, "the type %q is neither bundle nor standalone", laxyaml.Scalar(kind))
		}
		agents = append(agents, laxyaml.Items(laxyaml.Field(m.root, "agent"))...)
	}
	entryPoints := 0
	for _, agent := range agents {
		if m.agent(b, agent) {
			entryPoints++
		}
	}
	if b.Layout == LayoutBundle && len(agents) > 0 && entryPoints == 0 {
		m.wrong(laxyaml.Field(m.root, "agents"), "no agent is an entry_point")
	}
	m.resources(b)
}

// agent adds the agent that a manifest describes and says whether it is an entry point.
func (m *manifest) agent(b *Bundle, n *yaml.Node) bool {
	id, file := laxyaml.Scalar(laxyaml.Field(n, "id")), laxyaml.Scalar(laxyaml.Field(n, "file"))
	if id == "" || file == "" {
		m.wrong(n, "an agent has an id and a file")
		return false
	}
	for _, other := range b.entries {
		if other.plain == id {
			m.wrong(n, "the agent %s is there twice", id)
			return false
		}
	}
	b.add(Entry{
		Name:        laxyaml.Scalar(laxyaml.Field(n, "name")),
		Title:       laxyaml.Scalar(laxyaml.Field(n, "title")),
		Icon:        laxyaml.Scalar(laxyaml.Field(n, "icon")),
		Description: laxyaml.Scalar(laxyaml.Field(n, "description")),
		EntryPoint:  b.Layout == LayoutStandalone || laxyaml.Scalar(laxyaml.Field(n, "entry_point")) == "true",
	}, id, file)
	b.References = append(b.References, Reference{Path: file, Use: UseAgent, Key: id, File: m.file, Line: laxyaml.Field(n, "file").Line})
	return b.entries[len(b.entries)-1].EntryPoint
}

func (m *manifest) resources(b *Bundle) {
	if config := laxyaml.Field(laxyaml.Field(m.root, "resources"), "config"); laxyaml.Scalar(config) != "" {
		b.References = append(b.References, Reference{Path: laxyaml.Scalar(config), Use: UseConfig, Key: "config", File: m.file, Line: config.Line})
	}
	for _, n := range laxyaml.Items(laxyaml.Field(m.root, "core_dependencies")) {
		b.References = append(b.References, Reference{Path: laxyaml.Scalar(n), Use: UseDependency, Key: "core_dependencies", File: m.file, Line: n.Line})
	}
}
