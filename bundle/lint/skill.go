package lint

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
)

// What the standard of Agent Skills allows.
const (
	maxSkillName        = 64
	maxSkillDescription = 1024
)

// skillKeys are what a skill's front matter may hold: the standard's keys, and
// those of Troupe.
var skillKeys = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools", "label", "category"}

// skillName is what the standard lets a skill be called.
var skillName = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}]+(-[\p{Ll}\p{Lo}\p{N}]+)*$`)

// allSkills lints every SKILL.md, be it an agent or not.
func (l *linter) allSkills() {
	byName := make(map[string]string) // to the file
	for _, file := range l.bases[bundle.SkillFile] {
		l.skills = append(l.skills, file)
		name := l.skill(file)
		if other := byName[name]; other != "" && l.folder(other) == l.folder(file) {
			continue // installers copy a skill for every editor
		} else if other != "" {
			l.warn(CodeSameSkill, file, 1, "the skill %s is also in %s; agents find only one of them", name, other)
		} else if name != "" {
			byName[name] = file
		}
	}
	for _, file := range l.bases[bundle.SkillFile] {
		l.skillReferences(file, byName)
	}
}

// skill lints a skill's front matter and returns its name.
func (l *linter) skill(file string) string {
	matter, _, _ := markup.FrontMatter([]byte(l.read(file)))
	root, notes, err := bundle.ParseYAML(file, 2, matter)
	if err != nil {
		l.found = append(l.found, bundle.AsFinding(err, file))
		return ""
	}
	l.found = append(l.found, notes...)
	if root == nil || root.Kind != yaml.MappingNode {
		if l.exists(path.Join(path.Dir(file), "INSTRUCTIONS.md")) {
			return "" // the text of what is made for a web chat
		}
		severity := bundle.Warning
		if l.isAmongSkills(file) {
			severity = bundle.Error
		}
		l.report(severity, CodeSkillFront, file, 1, "the skill has no front matter; begin the file with ---, name, description and ---")
		return ""
	}
	for k := range laxyaml.Fields(root) {
		if !slices.Contains(skillKeys, k.Value) {
			l.warn(CodeSkillKey, file, k.Line, "the standard of Agent Skills knows no %s; put it under metadata", k.Value)
		}
	}
	l.skillDescription(file, laxyaml.Field(root, "description"))
	l.skillTools(file, laxyaml.Field(root, "allowed-tools"))
	return l.skillName(file, laxyaml.Field(root, "name"), laxyaml.Scalar(laxyaml.Field(root, "label")))
}

// isAmongSkills says whether a file lies where skills are looked for.
func (l *linter) isAmongSkills(file string) bool {
	elements := strings.Split(filepath.ToSlash(l.catalog.Project())+"/"+file, "/")
	return slices.ContainsFunc(elements, func(e string) bool { return e == "skills" || strings.HasSuffix(e, "-skills") })
}

func (l *linter) skillName(file string, n *yaml.Node, label string) string {
	name := laxyaml.Scalar(n)
	if name == "" {
		if label == "" {
			l.wrong(CodeSkillName, file, 2, "the skill has no name; add name: %s", l.folder(file))
		}
		return label
	}
	switch folder := l.folder(file); {
	case utf8.RuneCountInString(name) > maxSkillName:
		l.wrong(CodeSkillName, file, n.Line, "the skill's name has more than %d characters", maxSkillName)
	case !skillName.MatchString(name):
		l.wrong(CodeSkillName, file, n.Line, "the skill's name %q has other characters than small letters, digits and single hyphens", name)
	case name != folder:
		l.wrong(CodeSkillName, file, n.Line, "the skill %s is in the folder %s; they must have the same name", name, folder)
	}
	return name
}

// folder returns the name of the directory that a file is in.
func (l *linter) folder(file string) string {
	return filepath.Base(filepath.Dir(filepath.Join(l.catalog.Project(), filepath.FromSlash(file))))
}

func (l *linter) skillDescription(file string, n *yaml.Node) {
	switch text := laxyaml.Prose(n); {
	case text == "":
		l.wrong(CodeSkillDescription, file, 2, "the skill has no description; say what it does and when to use it, for agents choose by it")
	case utf8.RuneCountInString(text) > maxSkillDescription:
		l.wrong(CodeSkillDescription, file, n.Line, "the skill's description has %d characters; %d are allowed", utf8.RuneCountInString(text), maxSkillDescription)
	}
}

// skillTools looks for tools that no agent has, if it is known what there is. A
// tool is given with or without a pattern: Bash(git:*).
func (l *linter) skillTools(file string, n *yaml.Node) {
	if len(l.tools) == 0 {
		return
	}
	for _, item := range laxyaml.Items(n) {
		for name := range strings.FieldsFuncSeq(laxyaml.Scalar(item), func(r rune) bool { return r == ',' || r == ' ' }) {
			name, _, _ = strings.Cut(name, "(")
			if identifier.MatchString(name) && !slices.Contains(l.tools, name) {
				l.warn(CodeSkillTool, file, item.Line, "there is no tool %s; agents have %s", name, strings.Join(l.tools, ", "))
			}
		}
	}
}

var (
	// skillInText is how skills refer to each other.
	skillInText = regexp.MustCompile(`\bskill:([a-z0-9]+(?:-[a-z0-9]+)*)\b`)
	// besideInText is a file that a skill says to follow.
	besideInText = regexp.MustCompile("(?i)\\b(?:follow|read|load)\\b[^.\\n]{0,60}?[\\s`(](\\./[\\w-]+(?:/[\\w-]+)*\\.md)\\b")
	// skillFileInText is a file of the skill itself, as a link or in backticks.
	skillFileInText = regexp.MustCompile("(?:\\]\\(|`)((?:\\./|\\{skill-root\\}/)?(?:references|scripts|assets|steps|templates|agents)/[\\w./-]+\\.\\w{1,5})[)`#]")
)

// skillReferences looks for the skills and files that a skill names.
func (l *linter) skillReferences(file string, byName map[string]string) {
	dir := path.Dir(file)
	missing := make(map[string]bool)
	for line, text := range unfenced(l.read(file), 1) {
		for _, m := range skillInText.FindAllStringSubmatch(text, -1) {
			l.useSkill(file, file, line, m[1], byName)
		}
		for _, m := range besideInText.FindAllStringSubmatch(text, -1) {
			if name := path.Join(dir, m[1]); !l.exists(name) && !missing[name] {
				missing[name] = true
				l.warn(dangling[bundle.UseInput], file, line, "the skill has no %s; %s", m[1], l.advice(bundle.Reference{Path: m[1]}))
			}
		}
		if strings.Contains(text, "e.g.") {
			continue // an example
		}
		for _, m := range skillFileInText.FindAllStringSubmatch(text, -1) {
			name := path.Join(dir, strings.TrimPrefix(m[1], "{skill-root}/"))
			if _, ok := l.homes[name]; !ok && !missing[name] {
				missing[name] = true
				l.warn(dangling[bundle.UseInput], file, line, "the skill has no %s; %s", m[1], l.advice(bundle.Reference{Path: m[1]}))
			}
		}
	}
	for _, e := range l.catalog.Entries() {
		if e.File != file {
			continue
		}
		d, err := l.catalog.Read(e)
		if err != nil {
			continue // which is a finding already
		}
		for _, c := range d.Commands {
			if c.Kind == bundle.KindSkill {
				where := path.Join(dir, bundle.CustomizeFile)
				if !l.exists(where) {
					where = file
				}
				l.useSkill(file, where, c.Line, c.Target, byName)
			}
		}
	}
}

// useSkill notes that a skill uses another, as a line in one of its files says.
func (l *linter) useSkill(skill, file string, line int, name string, byName map[string]string) {
	other, ok := byName[name]
	if !ok {
		l.warn(CodeNoSkill, file, line, "there is no skill %s here; install it, or correct the name", name)
		return
	}
	if other != skill {
		l.addCall(skill, call{to: other, line: line, conditional: true})
	}
}
