package checks

import (
	"path"
	"slices"
	"strings"
)

// A LockCommand brings a lock file up to date with its manifest, and runs nothing of what
// it fetches. No agent can write the sums that are in such a file.
type LockCommand struct {
	Dir  string
	Argv []string
}

// Command is what is run, as a person would write it.
func (c *LockCommand) Command() string { return strings.Join(c.Argv, " ") }

// lockTools are the lock files that follow from a manifest, and what writes them. That of a
// workspace is above its members. Where CI is set, some tools would refuse to write.
var lockTools = []struct {
	manifest, lock string
	argv           []string
}{
	{"package.json", "package-lock.json", []string{"npm", "install", "--package-lock-only", "--ignore-scripts"}},
	{"package.json", "pnpm-lock.yaml", []string{"pnpm", "install", "--lockfile-only", "--ignore-scripts", "--no-frozen-lockfile"}},
	{"pnpm-workspace.yaml", "pnpm-lock.yaml", []string{"pnpm", "install", "--lockfile-only", "--ignore-scripts", "--no-frozen-lockfile"}},
	{"package.json", "yarn.lock", nil},
	{"package.json", "bun.lock", []string{"bun", "install", "--lockfile-only", "--ignore-scripts"}},
	{"pyproject.toml", "uv.lock", []string{"uv", "lock", "--no-build"}},
	{"Cargo.toml", "Cargo.lock", []string{"cargo", "update", "--workspace"}},
	{"composer.json", "composer.lock", []string{"composer", "update", "--minimal-changes", "--no-install", "--no-scripts", "--no-plugins", "--no-interaction"}},
}

// LockCommands are those for manifests that were changed without their lock file.
func LockCommands(changed []string, exists func(name string) bool) (list []LockCommand) {
	add := func(dir string, argv []string) {
		if !slices.ContainsFunc(list, func(c LockCommand) bool { return c.Dir == dir && c.Argv[0] == argv[0] }) {
			list = append(list, LockCommand{dir, argv})
		}
	}
	for _, name := range changed {
		if path.Base(name) == "go.mod" && !slices.Contains(changed, path.Join(path.Dir(name), "go.sum")) {
			add(path.Dir(name), []string{"go", "mod", "download", "all"})
		}
		for _, tool := range lockTools {
			if tool.manifest != path.Base(name) {
				continue
			}
			lock, ok := above(path.Dir(name), exists, tool.lock)
			if !ok || slices.Contains(changed, lock) {
				continue
			}
			dir, argv := path.Dir(lock), tool.argv
			if tool.lock == "yarn.lock" {
				argv = []string{"yarn", "install", "--ignore-scripts"}
				if _, isLater := above(dir, exists, ".yarnrc.yml"); isLater {
					argv = []string{"yarn", "install", "--mode=update-lockfile", "--no-immutable"}
				}
			}
			add(dir, argv)
		}
	}
	return list
}

// above is the path of the first file with one of the names, in a directory or else above it.
func above(dir string, exists func(string) bool, names ...string) (string, bool) {
	for ; ; dir = path.Dir(dir) {
		for _, name := range names {
			if file := path.Join(dir, name); exists(file) {
				return file, true
			}
		}
		if dir == "." || dir == "" || dir == "/" {
			return "", false
		}
	}
}
