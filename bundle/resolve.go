package bundle

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/workspace"
)

// The keys of a workflow that are no variables, and those that users do not set.
var (
	descriptive = []string{"name", "description", "author", "web_bundle"}
	structural  = []string{"config_source", "main_config", "installed_path", "instructions", "template"}
)

// collectValues gathers the variables that the workflow defines: its single values
// and those under variables. An empty one has no value, so that {name} stays as
// written where it is used.
func (r *resolver) collectValues(input map[string]any) {
	r.values = make(map[string]string)
	for _, n := range []*yaml.Node{r.root, laxyaml.Field(r.root, "variables")} {
		for k, v := range laxyaml.Fields(n) {
			if text := r.bundle.here(laxyaml.Scalar(v)); text != "" && r.values[k.Value] == "" && !slices.Contains(descriptive, k.Value) {
				r.values[k.Value] = text
			}
		}
	}
	for name, value := range input {
		if text, ok := value.(string); ok && text != "" && !slices.Contains(structural, name) {
			r.values[name] = text
		}
	}
	r.findOwnDirectory()
}

// findOwnDirectory makes installed_path the directory of the workflow where it is
// not said, or where the workflow is not to be found at the place that is said.
func (r *resolver) findOwnDirectory() {
	base := path.Base(r.loc.Name())
	own := strings.TrimSuffix(r.loc.String(), "/"+base)
	if path.Ext(base) == ".md" && r.values["workflow_path"] == "" { // its steps call it so
		r.values["workflow_path"] = own
	}
	if said := r.values["installed_path"]; said != "" {
		ws := r.ws.With(r.ws.Vars().With(r.values))
		if _, err := lookAt(ws, r.loc, "{installed_path}/"+base); err == nil {
			return
		}
		if n := laxyaml.Field(r.root, "installed_path"); n != nil {
			r.Findings = append(r.Findings, warning(CodeMoved, r.File, n.Line, "the workflow is not in %s; its own directory is used instead", said))
		}
	}
	r.values["installed_path"] = own
}

// readConfig reads the file that config_source names, or the config.yaml that the
// text of a workflow.md says to load, into the variables. One that is missing
// leaves the variables to the config that the agent has loaded.
func (r *resolver) readConfig(body string) error {
	r.config = r.ws.Vars()
	named := r.values["config_source"]
	if named == "" {
		named = r.values["main_config"]
	}
	if named == "" {
		for _, found := range pathInText.FindAllString(body, -1) {
			if isConfig(found) {
				named = r.bundle.here(found)
				break
			}
		}
	}
	if named == "" {
		return nil
	}
	ws := r.ws.With(r.ws.Vars().With(r.values))
	loc, err := ws.ResolveFrom(r.loc, named)
	var src string
	if err == nil {
		src, err = ws.ReadFile(loc)
	}
	if err != nil {
		r.miss("config_source: " + err.Error())
		return nil
	}
	values, _, err := r.bundle.configValues(loc.String(), src)
	if err != nil {
		return err
	}
	values = maps.Clone(values)
	settings, _ := r.bundle.settings(r.ws)
	for _, s := range settings {
		if values[s.Name] == projectPrefix+s.Value {
			values[s.Name] = s.Value
		}
	}
	r.config = r.config.WithConfig(values)
	return nil
}

// maxAlternatives bounds the alternatives of one value.
const maxAlternatives = 8

// chooseAlternatives decides values such as "{a}/x.yaml || {b}/x.yaml": the first
// alternative that has a value without the help of others like it, and exists if
// it is a file; else the first.
func (r *resolver) chooseAlternatives() {
	alternatives := make(map[string][]string)
	for name, value := range r.values {
		if parts := strings.SplitN(value, "||", maxAlternatives); len(parts) > 1 {
			alternatives[name] = parts
			delete(r.values, name)
		}
	}
	vars := r.config.With(r.values)
	for name, parts := range alternatives {
		r.values[name] = strings.TrimSpace(parts[0])
		for _, part := range parts {
			if part = strings.TrimSpace(part); r.holds(vars, part) {
				r.values[name] = part
				break
			}
		}
	}
}

// holds says whether an alternative has a value, and exists if it is a file.
func (r *resolver) holds(vars *workspace.Vars, text string) bool {
	expanded, unresolved, err := vars.Expand(text)
	if err != nil || len(unresolved) > 0 || expanded == "" {
		return false
	}
	if !isPath(expanded) {
		return true
	}
	_, err = lookAt(r.ws.With(vars), r.loc, text)
	return err == nil
}

// value returns a value of the workflow as JSON knows it, its variables filled in.
// The key is the way to it, a.b, and top the first element of that.
func (r *resolver) value(top, key string, n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		object := make(map[string]any)
		for k, v := range laxyaml.Fields(n) {
			value, err := r.value(top, key+"."+k.Value, v)
			if err != nil {
				return nil, err
			}
			object[k.Value] = value
		}
		return object, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			value, err := r.value(top, key, item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	switch {
	case n.Tag == "!!null":
		return nil, nil
	case n.Tag == "!!bool":
		return n.Value == "true", nil
	}
	return r.text(top, key, n)
}

// maxConfigText bounds a workflow's configuration when all is filled in, in bytes.
const maxConfigText = 256 << 10

// text fills in the variables of a single value, lists those without a value, and
// notes the file that it names, if any.
func (r *resolver) text(top, key string, n *yaml.Node) (string, error) {
	written := r.bundle.here(n.Value)
	if name, ok := strings.CutPrefix(key, "variables."); (ok || key == top) && r.values[name] != "" {
		written = r.values[name] // that of the user, or an alternative
		if written == "system-generated" {
			written = "{" + name + "}"
		}
	}
	text, unresolved, err := r.vars.Expand(written)
	if err != nil {
		return "", err
	}
	if r.size += len(text); r.size > maxConfigText {
		return "", fmt.Errorf("more than %d bytes of configuration: %w", maxConfigText, workspace.ErrTooLarge)
	}
	for _, name := range unresolved {
		r.miss(name)
	}
	if isPath(text) && !strings.ContainsAny(text, "*?") && !slices.Contains(descriptive, top) {
		r.reference(top, key, n)
		if !slices.Contains(structural, key) {
			r.list(key, written)
		}
	}
	return text, nil
}

func (r *resolver) reference(top, key string, n *yaml.Node) {
	use := UseInput
	switch top {
	case "config_source", "main_config":
		use = UseConfig
	case "instructions":
		use = UseInstruct
	case "template":
		use = UseTemplate
	}
	r.References = append(r.References, Reference{Path: n.Value, Use: use, Key: key, File: r.File, Line: n.Line, Optional: use == UseInput})
}

// maxFiles bounds the files that a workflow's result lists.
const maxFiles = 200

// list adds a file that exists to those the workflow names.
func (r *resolver) list(key, name string) {
	ws := r.ws.With(r.vars)
	loc, err := ws.ResolveFrom(r.loc, name)
	if err != nil || loc == r.loc || len(r.Files) == maxFiles {
		return
	}
	shown := loc.String()
	if slices.ContainsFunc(r.Files, func(f File) bool { return f.Path == shown }) {
		return
	}
	if entry, err := ws.Stat(loc); err == nil {
		r.Files = append(r.Files, File{key, shown, entry.Size})
	}
}
