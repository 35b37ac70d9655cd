package checks

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// nodeManager is what runs the scripts of a package: whose lock file there is, in the
// package's directory or above it.
func nodeManager(files *listed, dir string) string {
	lock, _ := above(dir, files.has, "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "package-lock.json")
	switch path.Base(lock) {
	case "pnpm-lock.yaml":
		return "pnpm"
	case "yarn.lock":
		return "yarn"
	case "bun.lock", "bun.lockb":
		return "bun"
	}
	return "npm"
}

// binFolders are where scripts of a package find their programs: its own, and those of the
// workspace that it is part of.
func binFolders(dir string) string {
	list := "$PWD/node_modules/.bin:"
	if dir != "" {
		for n := range strings.Count(dir, "/") + 1 {
			list += "$PWD/" + strings.Repeat("../", n+1) + "node_modules/.bin:"
		}
	}
	return list
}

// makefiles are the names of them, in the order in which make looks for them.
var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

// makeTarget is the target of a Makefile that checks something, empty where none does.
func makeTarget(files *listed, dir string, marks []string) string {
	for _, name := range makefiles {
		if !slices.Contains(marks, name) {
			continue
		}
		content := files.Read(path.Join(dir, name))
		for _, target := range []string{"check", "test"} {
			if regexp.MustCompile(`(?m)^` + target + `[ \t]*::?(?:[^=]|$)`).MatchString(content) {
				return target
			}
		}
		return ""
	}
	return ""
}

// rubyTest runs the tests of a project in Ruby with what they are written for.
func rubyTest(files *listed, dir string) []string {
	has := func(name string) bool { return files.has(path.Join(dir, name)) }
	below := func(folder, suffix string) bool {
		return slices.ContainsFunc(files.paths, func(name string) bool {
			return strings.HasPrefix(name, path.Join(dir, folder)+"/") && strings.HasSuffix(name, suffix)
		})
	}
	switch {
	case has(".rspec") || below("spec", "_spec.rb"):
		return []string{"bundle", "exec", "rspec"}
	case has("bin/rails") && below("test", "_test.rb"):
		return []string{"bundle", "exec", "rails", "test"}
	case has("Rakefile") && below("test", ".rb"):
		return []string{"bundle", "exec", "rake", "test"}
	}
	return nil
}
