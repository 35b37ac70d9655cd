package project

import (
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/explain"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// ExplainOptions say where the instructions of the project's agents come from, and what
// its models cost, for [explain.Read].
func (p *Project) ExplainOptions() explain.Options {
	return explain.Options{Locate: p.locate, Price: p.priceOf}
}

// priceOf is what a model of the project costs, zero where nobody knows.
func (p *Project) priceOf(model string) troupe.Price {
	for _, ref := range []string{model, p.models.For("").Ref} {
		if ref == model || strings.HasSuffix(ref, "/"+model) {
			if opened, err := p.models.Open(models.Choice{Ref: ref, From: "the log"}); err == nil {
				return opened.Price
			}
		}
	}
	return troupe.Price{}
}

// locate says where a part of what a model was told came from: as a file of the project
// and a line in it. The instructions of a bundle's agent are several parts.
func (p *Project) locate(agent string, part explain.Part) []explain.Part {
	d, err := p.catalog().Definition(agent)
	if err != nil {
		if part.Kind == "instructions" && p.isPlain(agent) {
			part.Origin, part.Line = config.Name, p.lineOfAgent(agent)
		}
		return []explain.Part{part}
	}
	if part.Kind == "instructions" {
		return p.splitInstructions(d, part)
	}
	switch {
	case part.Name == "use_skill":
		if s, ok := p.skills.Find(part.Origin); ok {
			part.Origin, part.Line = p.fileOf(d, s.Path), 1
		}
	case part.Name == "skills":
		part.Origin = strings.Join(p.config.Skills, ", ")
	case part.Name == "critical instruction":
		part.Origin, part.Line = d.File, lineOfAction(d, part.Text)
	case strings.HasPrefix(part.Origin, "{"):
		if file := p.fileOf(d, part.Origin); file != part.Origin {
			part.Origin, part.Line = file, 1
		}
	}
	return []explain.Part{part}
}

// fileOf returns a file that an agent names as a path in the project, or the name itself
// where it is none of the project's.
func (p *Project) fileOf(d *bundle.Definition, name string) string {
	roots := map[string]string{"{bundle-root}": d.Parent().Dir, "{project-root}": "", "{core-root}": p.shown(d.Parent().CoreDir())}
	if len(p.config.Skills) > 0 {
		roots["{skills}"] = p.config.Skills[0]
	}
	root, rest, ok := strings.Cut(name, "/")
	dir, known := roots[root]
	if !ok || !known {
		return name
	}
	return filepath.ToSlash(filepath.Join(dir, rest))
}

// tags are how the sections of an agent's file begin, by the part of the prompt that is
// made of them.
var tags = map[string][]string{
	"persona": {"<persona", "persona:"}, "activation": {"<activation", "<critical-actions", "critical_actions:", "activation"},
	"commands": {"<menu", "<cmds", "<commands", "menu:", "commands:"}, "rules": {"<rules", "<rule", "rules:", "core_principles:"},
}

// splitInstructions says which part of an agent's file each part of its prompt is made
// of. What Troupe adds has no file.
func (p *Project) splitInstructions(d *bundle.Definition, whole explain.Part) []explain.Part {
	prompt, err := d.Prompt("")
	if err != nil {
		whole.Origin, whole.Line = d.File, 1
		return []explain.Part{whole}
	}
	var parts []explain.Part
	rest := whole.Text
	add := func(name, text string) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		part := whole
		part.Name, part.Text, part.Origin, part.Line = name, text, "", 0
		if line := p.lineWith(d.File, tags[name]...); line > 0 {
			part.Origin, part.Line = d.File, line
		}
		parts = append(parts, part)
	}
	for _, piece := range prompt {
		before, after, found := strings.Cut(rest, strings.TrimSpace(piece.Text))
		if found && piece.Source == "" && strings.TrimSpace(piece.Text) != "" {
			add("added by troupe", before)
			add(piece.Name, piece.Text)
			rest = after
		}
	}
	add("added by troupe", rest)
	return parts
}

// lineWith returns the first line of a project's file that has one of some texts, and 0
// where there is none.
func (p *Project) lineWith(file string, texts ...string) int {
	data, err := os.ReadFile(within(p.dir, file))
	if err != nil {
		return 0
	}
	for _, text := range texts {
		if text, _, _ = strings.Cut(strings.TrimSpace(text), "\n"); text == "" {
			continue
		}
		if before, _, found := strings.Cut(string(data), text); found {
			return strings.Count(before, "\n") + 1
		}
	}
	return 0
}

// lineOfAction is where an agent's file has a critical action, of which the model was
// told with variables filled in.
func lineOfAction(d *bundle.Definition, told string) int {
	_, told, _ = strings.Cut(told, "] ")
	for _, action := range d.Critical {
		beginning, _, _ := strings.Cut(action.Text, "{")
		if beginning = strings.TrimSpace(beginning); action.Load == nil && beginning != "" && strings.HasPrefix(told, beginning) {
			return action.Line
		}
	}
	return 0
}

// lineOfAgent is where troupe.yaml has the instructions of an agent.
func (p *Project) lineOfAgent(id string) int {
	data, err := os.ReadFile(p.config.Path)
	if err != nil {
		return 0
	}
	var file struct {
		Agents map[string]map[string]yaml.Node
	}
	if yaml.Unmarshal(data, &file) != nil {
		return 0
	}
	return file.Agents[id]["instructions"].Line
}
