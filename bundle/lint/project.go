package lint

import (
	"encoding/csv"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/markup"
)

// project lints what does not belong to one agent or workflow: configuration, overrides,
// manifests, teams, and YAML that nothing else has read.
func (l *linter) projectFiles() {
	l.settings()
	l.customFiles()
	l.manifests()
	l.teams()
	l.otherYAML()
}

// coreKeys are what agents of an installation are told of the user, whatever they do.
var coreKeys = []string{"user_name", "communication_language", "output_folder"}

// settings lints the configuration of each installation once.
func (l *linter) settings() {
	seen := map[string]bool{}
	for _, b := range l.catalog.Bundles() {
		settings, found := b.Settings()
		l.found = append(l.found, found...)
		tree := b.Tree()
		if tree == "" || seen[tree] || len(found) > 0 {
			continue
		}
		seen[tree] = true
		file := path.Join(tree, "core/config.yaml")
		for _, other := range []string{"config.toml"} {
			if _, ok := l.homes[file]; !ok {
				file = path.Join(tree, other)
			}
		}
		if _, ok := l.homes[file]; !ok {
			continue // no configuration at all is each agent's to miss
		}
		for _, key := range coreKeys {
			if !slices.ContainsFunc(settings, func(s bundle.Setting) bool { return s.Name == key && s.File != "" }) {
				l.warn(CodeNoKey, file, 1, "the configuration lacks %s, which agents are told to use; set it", key)
			}
		}
	}
}

// customFiles looks for overrides of skills that are not there.
func (l *linter) customFiles() {
	skills := l.catalog.Skills()
	for file := range l.homes {
		name, isTOML := strings.CutSuffix(path.Base(file), ".toml")
		if !isTOML || path.Base(path.Dir(file)) != "custom" {
			continue
		}
		name = strings.TrimSuffix(name, ".user")
		if name != "config" && !slices.Contains(skills, name) {
			l.warn(CodeNoSkill, file, 1, "there is no skill %s that this could change; correct the file's name, or remove it", name)
		}
	}
}

// manifests looks for rows of an agent manifest whose file is gone.
func (l *linter) manifests() {
	for _, file := range l.bases["agent-manifest.csv"] {
		tree := path.Dir(path.Dir(file))
		isCompiled := slices.ContainsFunc(l.catalog.Bundles(), func(b *bundle.Bundle) bool {
			return b.Tree() == tree && b.Layout == bundle.LayoutInstalled && len(b.Entries()) > 0
		})
		if !isCompiled {
			continue // later versions write paths that never were
		}
		reader := csv.NewReader(strings.NewReader(l.read(file)))
		reader.LazyQuotes, reader.FieldsPerRecord = true, -1
		header, err := reader.Read()
		column := slices.Index(header, "path")
		if err != nil || column < 0 {
			l.warn(CodeDeadRow, file, 1, "the manifest has no column path; install again to have it written anew")
			continue
		}
		for {
			row, err := reader.Read()
			if err != nil {
				break
			}
			line, _ := reader.FieldPos(0)
			if column >= len(row) || row[column] == "" {
				continue
			}
			if _, ok := l.homes[path.Join(path.Dir(tree), row[column])]; !ok {
				l.warn(CodeDeadRow, file, line, "there is no %s; remove the row, or install again", row[column])
			}
		}
	}
}

// teams looks for members that are not there.
func (l *linter) teams() {
	for _, team := range l.catalog.Teams() {
		for _, member := range team.Missing {
			if path.Ext(team.File) == ".toml" {
				continue // a persona of party mode need not be an agent
			}
			line := 1
			for number, text := range unfenced(l.read(team.File), 1) {
				if strings.Contains(text, member) {
					line = number
				}
			}
			l.warn(CodeNoMember, team.File, line, "the team has no agent %s to name; correct the name, or remove it", member)
		}
	}
}

// otherYAML reads the YAML of bundles that nothing else has read.
func (l *linter) otherYAML() {
	for file := range l.homes {
		ext := path.Ext(file)
		owner := l.owner(file)
		isConfig := strings.Contains(file, "/_config/agents/") || strings.Contains(file, "/_cfg/agents/") || path.Base(file) == "bmad-skill-manifest.yaml"
		if ext != ".yaml" && ext != ".yml" || owner == nil && !isConfig || strings.Contains(file, "/reference/") {
			continue
		}
		if slices.ContainsFunc(l.found, func(f bundle.Finding) bool { return f.File == file }) {
			continue // it was read
		}
		_, _, err := bundle.ParseYAML(file, 1, []byte(l.read(file)))
		if found, ok := err.(*bundle.Finding); ok && found.Code == bundle.CodeYAML && !strings.Contains(found.Message, "more than one document") {
			found.Severity = bundle.Warning
			l.found = append(l.found, *found)
		}
	}
}

// stepNumber is that of a step: 3, 1a. Anything else stands for one.
var stepNumber = regexp.MustCompile(`^\d+[a-z]?$`)

// jumps looks for steps that are there twice, and for gotos that lead nowhere.
func (r *reading) jumps(doc *markup.Document) {
	steps, parents, anchors := map[string]int{}, map[string]*markup.Node{}, map[string]bool{}
	for n := range doc.Root.Descendants() {
		if id, ok := n.Attr("id"); ok {
			anchors[id] = true
		}
		number, ok := n.Attr("n")
		if !ok || !n.Is("step") || isShown(n) {
			continue
		}
		_, isChoice := n.Attr("if") // one of two for the same place
		first := steps[number]
		switch {
		case first == 0:
			steps[number], parents[number] = n.Line, n.Parent
		case parents[number] == n.Parent && !isChoice:
			r.warn(CodeSameStep, r.file, n.Line, "step %s is there twice, also on line %d; number them anew", number, first)
		}
	}
	if len(steps) == 0 {
		return // the steps are elsewhere
	}
	for n := range doc.Root.Descendants() {
		if !n.Is("goto") || isShown(n) {
			continue
		}
		if step, ok := n.Attr("step"); ok && steps[step] == 0 && stepNumber.MatchString(step) {
			r.warn(CodeNoStep, r.file, n.Line, "there is no step %s to go to; correct the number", step)
		}
		if anchor, ok := n.Attr("anchor"); ok && !anchors[anchor] && !strings.Contains(anchor, "{") {
			r.warn(CodeNoStep, r.file, n.Line, "there is no anchor %s to go to; correct the name, or set it with <anchor id=...>", anchor)
		}
	}
}

// isShown says whether an element is part of an example or of what users are shown.
func isShown(n *markup.Node) bool {
	for up := n.Parent; up != nil; up = up.Parent {
		if up.Is("example") || up.Is("format") || up.Is("output") || up.Is("note") {
			return true
		}
	}
	return false
}
