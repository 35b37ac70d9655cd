package checks

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// trusted are the fields of manifests that have something run: commands, the program that
// reads the manifest, and whose install scripts or plugins are allowed.
var trusted = map[string][]string{
	"package.json":  {"scripts", "packageManager", "devEngines", "trustedDependencies", "pnpm"},
	"composer.json": {"scripts", "config"},
}

// fetched are the fields of pnpm-workspace.yaml that say what is fetched. All others are
// settings, among them whose scripts are run.
var fetched = []string{"packages", "catalog", "catalogs", "overrides", "packageExtensions"}

// WithScriptsOf is a manifest whose commands, and the settings that allow commands of
// others, are those of another version of it: what an agent has written there is not run.
func WithScriptsOf(name, content, before string) string {
	base := path.Base(name)
	if base == "pnpm-workspace.yaml" {
		return workspaceOf(content, before)
	}
	if trusted[base] == nil {
		return content
	}
	var now, was map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &now) != nil {
		return content
	}
	_ = json.Unmarshal([]byte(before), &was) // what cannot be read has no commands
	for _, field := range trusted[base] {
		delete(now, field)
		if was[field] != nil {
			now[field] = was[field]
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(now) != nil {
		return content
	}
	return b.String()
}

// workspaceOf is WithScriptsOf for pnpm's. What cannot be read is what was there before.
func workspaceOf(content, before string) string {
	var now, was map[string]any
	if yaml.Unmarshal([]byte(content), &now) != nil || yaml.Unmarshal([]byte(before), &was) != nil {
		return before
	}
	merged := map[string]any{}
	for name, value := range was {
		if !slices.Contains(fetched, name) {
			merged[name] = value
		}
	}
	for _, name := range fetched {
		if value, ok := now[name]; ok {
			merged[name] = value
		}
	}
	data, err := yaml.Marshal(merged)
	if err != nil {
		return before
	}
	return string(data)
}

// WithoutScripts are variables by which tools that fetch dependencies run none of the
// programs that come with them, where they can be told. Paths are those of the project.
func WithoutScripts(paths []string) []string {
	vars := []string{"npm_config_ignore_scripts=true", "pnpm_config_ignore_scripts=true", "YARN_ENABLE_SCRIPTS=false", "PIP_ONLY_BINARY=:all:", "UV_NO_BUILD=1", "POETRY_INSTALLER_ONLY_BINARY=:all:"}
	if !slices.ContainsFunc(paths, func(name string) bool { return strings.HasSuffix("/"+name, "/.yarnrc.yml") }) {
		vars = append(vars, "YARN_IGNORE_SCRIPTS=true") // of Yarn 1; later ones refuse to run with it
	}
	return vars
}
