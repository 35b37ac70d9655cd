package checks

import (
	"encoding/json"
	"path"
	"reflect"
	"regexp"
	"slices"
)

// manifests are the files that say what a project depends on: data that tools read, and no
// program. locks are those of them that tools write. programs say it, too, and are run by
// the tool that reads them: what an agent wrote there is never taken over.
var (
	manifests = []string{"go.mod", "go.work", "package.json", "pnpm-workspace.yaml", "pyproject.toml", "Pipfile", "Cargo.toml", "composer.json"}
	locks     = []string{
		"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb",
		"poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "composer.lock",
	}
	programs     = regexp.MustCompile(`(?:^|/)(?:Gemfile|[^/]+\.gemspec|setup\.py|mix\.exs|Package\.swift|(?:build|settings)\.gradle(?:\.kts)?)$`)
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

// IsProgramManifest reports whether a file says what a project depends on as a program.
func IsProgramManifest(name string) bool {
	return !skippedDir.MatchString(path.Dir(name)) && programs.MatchString(name)
}

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
