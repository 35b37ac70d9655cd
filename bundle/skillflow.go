package bundle

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe/workspace"
)

// readSkill reads a skill as a workflow: its text is the instructions, and what its
// customize.toml says, with what is laid over it, are variables of it.
func (r *resolver) readSkill(body string) error {
	dir := strings.TrimSuffix(r.bundle.projectPath(r.loc), "/"+path.Base(r.loc.Name()))
	r.values["skill-root"], r.values["skill-name"] = dir, path.Base(dir)
	r.values["installed_path"] = dir
	r.vars = r.config.With(r.values).WithPath("skill-root", dir).WithValue("skill-name", path.Base(dir))
	custom, err := r.skillCustomization(dir)
	if err != nil {
		return err
	}
	table, _ := custom["workflow"].(map[string]any)
	for key, value := range table {
		r.Config["workflow."+key] = value
	}
	if strings.Contains(body, "render_skill.py") {
		if rendered, err := r.render(dir, custom); err != nil {
			return err
		} else if rendered != "" {
			body = rendered
		}
	}
	r.readBody(body)
	return r.setInstructions(fillTable(body, "workflow", table))
}

// skillCustomization reads the layers of a skill in a directory that is given as agents
// write it.
func (r *resolver) skillCustomization(dir string) (map[string]any, error) {
	loc, err := r.ws.Resolve(dir + "/" + CustomizeFile)
	if err != nil {
		return nil, nil
	}
	src, err := r.ws.ReadFile(loc)
	if err != nil {
		return nil, nil // it has none
	}
	custom, err := r.bundle.layered(r.bundle.shown(loc), src, path.Base(dir), "workflow", func(tomlLayer) {})
	if err != nil || custom == nil {
		return nil, err
	}
	return custom.merged, nil
}

// tableReference is {workflow.name} in a text.
var tableReference = regexp.MustCompile(`\{(workflow|agent)\.([A-Za-z0-9_-]+)\}`)

// fillTable replaces {table.key} by what the table says. What it does not say stays.
func fillTable(text, name string, table map[string]any) string {
	return tableReference.ReplaceAllStringFunc(text, func(ref string) string {
		m := tableReference.FindStringSubmatch(ref)
		value, ok := table[m[2]]
		if !ok || m[1] != name {
			return ref
		}
		return tableText(value)
	})
}

// tableText shows a value of a customization as BMAD's own renderer does: a text as it is,
// a list line by line, tables as sections with an instruction each.
func tableText(value any) string {
	if text, ok := plainValue(value); ok {
		return text
	}
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	if len(list) == 0 {
		return "_None._"
	}
	var parts []string
	isTables := false
	for _, item := range list {
		table, ok := item.(map[string]any)
		if !ok {
			text, _ := plainValue(item)
			parts = append(parts, "- "+text)
			continue
		}
		isTables = true
		if section := layerText(table); section != "" {
			parts = append(parts, section)
		}
	}
	switch {
	case isTables && len(parts) == 0:
		return noLayers
	case isTables:
		return strings.Join(parts, "\n\n")
	}
	return strings.Join(parts, "\n")
}

const noLayers = "No active review layers are configured. HALT and tell the user that the customization leaves none."

// layerText shows one of several layers of work. One without an instruction is off.
func layerText(table map[string]any) string {
	field := func(key string) string { text, _ := plainValue(table[key]); return strings.TrimSpace(text) }
	instruction := field("instruction")
	if instruction == "" {
		if code := field("code"); code != "" {
			return "- " + code + ": " + field("description")
		}
		return ""
	}
	section := fmt.Sprintf("#### %s (`%s`)\n\n", field("name"), field("id"))
	if when := field("when"); when != "" {
		section += "Run only when: " + when + "\n\n"
	}
	return section + instruction
}

var (
	snapshotFile = regexp.MustCompile(`\[\[bmad-snapshot:([^\]]+)\]\]`)
	compiled     = regexp.MustCompile(`\{\{(\.[A-Za-z0-9_-]+|config\.[A-Za-z0-9_.-]+)\}\}`)
)

// render does what BMAD's render_skill.py does: it fills in configuration and
// customization in all texts of a skill and puts them into the session's folder, as the
// files that the texts name each other by. It returns the text to begin with.
func (r *resolver) render(dir string, custom map[string]any) (string, error) {
	table, _ := custom["workflow"].(map[string]any)
	files, err := r.ws.Glob(dir + "/**/*.md")
	if err != nil {
		return "", err
	}
	target := "{" + workspace.SessionFolder + "}/.rendered/" + path.Base(dir)
	start := ""
	for _, loc := range files {
		at := strings.TrimPrefix(r.bundle.projectPath(loc), dir+"/")
		if at == SkillFile {
			continue
		}
		src, err := r.ws.ReadFile(loc)
		if err != nil {
			return "", err
		}
		text, err := r.renderText(src, target, table)
		if err != nil {
			return "", fmt.Errorf("render %s: %w", at, err)
		}
		if at == "workflow.md" {
			start = text
		}
		if out, _, err := r.ws.ResolveOutput(target + "/" + at); err == nil {
			if err := r.ws.Write(out, []byte(text)); err != nil {
				return "", err
			}
			r.beside = append(r.beside, out.String())
		} // else there is no session: somebody only looks at the workflow
	}
	if start == "" {
		return "", fmt.Errorf("render %s: it has no workflow.md", path.Base(dir))
	}
	return start, nil
}

// renderText fills in one text, in one pass: what is inserted is not searched again.
func (r *resolver) renderText(src, target string, table map[string]any) (string, error) {
	var failed error
	tokens := regexp.MustCompile(snapshotFile.String() + "|" + compiled.String() + "|" + tableReference.String())
	text := tokens.ReplaceAllStringFunc(src, func(token string) string {
		if m := snapshotFile.FindStringSubmatch(token); m != nil {
			return target + "/" + m[1]
		}
		if m := compiled.FindStringSubmatch(token); m != nil {
			name := m[1][strings.LastIndexByte(m[1], '.')+1:]
			value, unresolved, err := r.config.Expand("{" + name + "}")
			if err != nil || len(unresolved) > 0 {
				failed = fmt.Errorf("nothing gives %s a value", token)
				return token
			}
			return value
		}
		m := tableReference.FindStringSubmatch(token)
		value, ok := table[m[2]]
		if !ok || m[1] != "workflow" {
			return token
		}
		return strings.ReplaceAll(tableText(value), "{skill-root}", target)
	})
	return text, failed
}
