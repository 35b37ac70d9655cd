package checks

import (
	"bytes"
	"encoding/json"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// manifests are the files that say what a project depends on: data that tools read, and no
// program. locks are those of them that tools write.
var (
	manifests = []string{"go.mod", "go.work", "package.json", "pnpm-workspace.yaml", "pyproject.toml", "Pipfile", "Cargo.toml", "composer.json"}
	locks     = []string{
		"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
		"poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "composer.lock",
	}
	requirements = regexp.MustCompile(`^(?:.*/)?(?:(?:requirements|constraints)[^/]*\.(?:txt|in)|requirements/[^/]+\.(?:txt|in))$`)
)

// IsManifest reports whether a file says what a project depends on.
func IsManifest(name string) bool {
	if skippedDir.MatchString(path.Dir(name)) {
		return false
	}
	return slices.Contains(manifests, path.Base(name)) || IsLock(name) || requirements.MatchString(name)
}

// IsLock reports whether a file is written by the tool that fetches dependencies.
func IsLock(name string) bool { return slices.Contains(locks, path.Base(name)) }

// unrelated are the fields of manifests in JSON that say nothing about dependencies.
var unrelated = []string{"name", "version", "description", "keywords", "homepage", "bugs", "license", "author", "contributors", "funding", "files", "main", "module", "types", "typings", "exports", "bin", "man", "scripts", "config", "type", "private", "repository", "browserslist", "eslintConfig", "prettier", "jest", "sideEffects"}

// ChangesDependencies reports whether two versions of a manifest want other dependencies.
// Where that is not known, any difference does.
func ChangesDependencies(name, before, after string) bool {
	if before == after {
		return false
	}
	switch path.Base(name) {
	case "package.json", "composer.json":
		var a, b map[string]any
		if json.Unmarshal([]byte(before), &a) != nil && before != "" || json.Unmarshal([]byte(after), &b) != nil && after != "" {
			return true
		}
		for _, field := range unrelated {
			delete(a, field)
			delete(b, field)
		}
		return len(a)+len(b) > 0 && !reflect.DeepEqual(a, b)
	}
	return true
}

// WithScriptsOf is a manifest whose commands are those of another version of it: what an
// agent has written there is not run.
func WithScriptsOf(name, content, trusted string) string {
	if base := path.Base(name); base != "package.json" && base != "composer.json" {
		return content
	}
	var now, was map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &now) != nil {
		return content
	}
	_ = json.Unmarshal([]byte(trusted), &was) // what cannot be read has no commands
	delete(now, "scripts")
	if was["scripts"] != nil {
		now["scripts"] = was["scripts"]
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

// A LockCommand brings a lock file up to date with its manifest, and runs nothing of what
// it fetches. No agent can write the sums that are in such a file.
type LockCommand struct {
	Dir  string
	Argv []string
}

// LockCommands are those for manifests that were changed without their lock file.
func LockCommands(changed []string, exists func(name string) bool) (list []LockCommand) {
	for _, name := range changed {
		dir := path.Dir(name)
		switch path.Base(name) {
		case "go.mod":
			if !slices.Contains(changed, path.Join(dir, "go.sum")) {
				list = append(list, LockCommand{dir, []string{"go", "mod", "download", "all"}})
			}
		case "package.json":
			for ; ; dir = path.Dir(dir) { // a workspace has its lock file above
				if lock := path.Join(dir, "package-lock.json"); exists(lock) {
					c := LockCommand{dir, []string{"npm", "install", "--package-lock-only", "--ignore-scripts"}}
					if !slices.Contains(changed, lock) && !slices.ContainsFunc(list, func(o LockCommand) bool { return o.Dir == dir && o.Argv[0] == "npm" }) {
						list = append(list, c)
					}
					break
				}
				if dir == "." {
					break
				}
			}
		}
	}
	return list
}

// Command is what is run, as a person would write it.
func (c *LockCommand) Command() string { return strings.Join(c.Argv, " ") }

// WithoutScripts are variables by which tools that fetch dependencies run none of the
// programs that come with them, where they can be told.
func WithoutScripts() []string {
	return []string{"npm_config_ignore_scripts=true", "YARN_ENABLE_SCRIPTS=false", "PIP_ONLY_BINARY=:all:", "UV_NO_BUILD=1"}
}
