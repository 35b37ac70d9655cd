package bundle

import (
	"errors"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// The files of an agent that is a skill.
const (
	SkillFile     = "SKILL.md"
	CustomizeFile = "customize.toml"
)

// skill makes a bundle of a directory whose SKILL.md is an agent: its
// customize.toml has an [agent]. It says whether it is one.
func (f *finder) skill(dir string) bool {
	in := f.list(dir)
	if !in[SkillFile] || !in[CustomizeFile] || f.seen[dir] {
		return false
	}
	src, err := f.read(path.Join(dir, CustomizeFile))
	if err == nil && tableLines(src, "[agent]") == nil {
		return false
	}
	if err != nil {
		f.found = append(f.found, asFinding(err, f.shown(dir)))
		return true
	}
	b := f.empty(dir, LayoutSkill)
	b.further = append(b.further, workspace.Root{Name: "skill-root", Dir: b.host, Access: workspace.ReadOnly})
	b.values["skill-name"] = b.Name
	b.add(Entry{EntryPoint: true}, b.Name, SkillFile)
	return true
}

// tableLines returns the lines on which tables of that header begin.
func tableLines(src, header string) []int {
	var at []int
	number := 0
	for line := range strings.Lines(src) {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), header) {
			at = append(at, number)
		}
	}
	return at
}

// customization is the part of a customize.toml that makes a skill an agent.
type customization struct {
	Agent struct {
		Name       string   `toml:"name"`
		Title      string   `toml:"title"`
		Icon       string   `toml:"icon"`
		Role       string   `toml:"role"`
		Identity   string   `toml:"identity"`
		Style      string   `toml:"communication_style"`
		Principles []string `toml:"principles"`
		Prepend    []string `toml:"activation_steps_prepend"`
		Append     []string `toml:"activation_steps_append"`
		Facts      []string `toml:"persistent_facts"`
		Menu       []struct {
			Code        string `toml:"code"`
			Description string `toml:"description"`
			Skill       string `toml:"skill"`
			Prompt      string `toml:"prompt"`
		} `toml:"menu"`
	} `toml:"agent"`
}

// parseSkill reads an agent that is a skill. Its file is the skill's instructions;
// who it is and what it offers is in the customize.toml beside it.
func (d *Definition) parseSkill(name, src string) error {
	d.Format = FormatSkill
	beside := path.Join(path.Dir(name), CustomizeFile)
	custom, err := d.bundle.read(beside)
	if err != nil {
		return err
	}
	if len(custom) > laxyaml.MaxBytes {
		return problem(CodeUnreadable, d.bundle.file(beside), 1, "more than %d bytes", laxyaml.MaxBytes)
	}
	var c customization
	if err := toml.Unmarshal([]byte(custom), &c); err != nil {
		line := 1
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = at.Position()
		}
		return problem(CodeTOML, d.bundle.file(beside), line, "%v", err)
	}
	matter, body, line := markup.FrontMatter([]byte(src))
	front, notes, err := ParseYAML(d.File, 2, matter)
	if err != nil {
		return err
	}
	d.Findings = append(d.Findings, notes...)
	a := c.Agent
	d.declare(laxyaml.Scalar(laxyaml.Field(front, "name")), a.Name, a.Title, a.Icon, laxyaml.Scalar(laxyaml.Field(front, "description")))
	d.Persona = Persona{Role: a.Role, Identity: a.Identity, CommunicationStyle: a.Style, Principles: a.Principles}
	at := tableLines(custom, "[agent]")[0]
	d.skillActivation(a.Prepend, a.Facts, a.Append, at)
	inMenu := tableLines(custom, "[[agent.menu]]")
	for i, item := range a.Menu {
		if i < len(inMenu) {
			at = inMenu[i]
		}
		action := item.Prompt
		if item.Skill != "" {
			action = "Use the skill " + item.Skill
		}
		d.addCommand(item.Code, item.Description, []Attribute{{"action", action, at}}, at)
	}
	d.Rules = append(d.Rules, "Your customization is resolved already, and scripts cannot be run here: pass over the steps that are about them")
	if text := strings.TrimSpace(string(body)); text != "" {
		d.Prompts = append(d.Prompts, Prompt{ID: SkillFile, Content: text, Line: line})
	}
	return nil
}

// skillActivation turns the steps and facts of a customization into critical
// actions. A fact is a sentence, or a file: whose content is one.
func (d *Definition) skillActivation(before, facts, after []string, line int) {
	d.Critical = append(d.Critical, moduleConfig())
	for _, step := range before {
		d.Critical = append(d.Critical, newCriticalAction(step, line))
	}
	for _, fact := range facts {
		action := CriticalAction{Text: "Remember: " + fact, Line: line}
		if file, ok := strings.CutPrefix(fact, "file:"); ok && isLoadable(file) {
			action.Load = &Load{Path: strings.TrimSpace(file), Optional: true}
		}
		d.Critical = append(d.Critical, action)
	}
	for _, step := range after {
		d.Critical = append(d.Critical, newCriticalAction(step, line))
	}
}
