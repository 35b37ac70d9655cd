package edit

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// mayChange refuses paths that no agent may write to.
func (m *making) mayChange(name string) (bool, error) {
	if name == "" {
		m.explain(name, CheckPath(name), "it was not said which file was to be changed")
		return false, nil
	}
	if problem := CheckPath(name); problem != "" {
		m.refuse(name, problem)
		return false, nil
	}
	for _, pattern := range m.rules.Protected {
		if MatchPath(pattern, name) {
			m.refuse(name, fmt.Sprintf("it is protected by %q and stays as it is.", pattern))
			return false, nil
		}
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		above, exists, err := m.tree.File(dir)
		if err != nil {
			return false, err
		}
		if exists {
			what := "a file"
			switch above.Mode {
			case "120000":
				what = "a symbolic link, which is not followed"
			case "160000":
				what = "a submodule, which is a repository of its own and stays as it is"
			}
			m.refuse(name, fmt.Sprintf("%s is %s.", dir, what))
			return false, nil
		}
	}
	_, exists, err := m.tree.File(name)
	if exists || err != nil {
		return exists, err
	}
	if IsSecret(name) {
		m.refuse(name, "it has the name of a secret, which is not written.")
		return false, nil
	}
	ignored, err := m.tree.Ignored(name)
	if ignored {
		m.refuse(name, "the repository ignores it, so that it would not be part of the change.")
	}
	return !ignored, err
}

// CheckPath says what is wrong with a path, nothing where it is plainly one below the
// root of a repository. Dot-files are welcome.
func CheckPath(name string) string {
	switch {
	case name == "":
		return "the artifact has no path."
	case path.IsAbs(name) || strings.HasPrefix(name, "~") || len(name) > 1 && name[1] == ':':
		return "the path is absolute; paths are relative to the repository."
	case strings.Contains(name, "\\"):
		return "the path has a backslash; paths have slashes."
	case strings.HasSuffix(name, "/"):
		return "the path is that of a directory."
	case len(name) > 1000:
		return "the path is too long."
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the path has a control character."
	}
	for element := range strings.SplitSeq(name, "/") {
		lower := strings.ToLower(strings.TrimRight(element, " ."))
		switch {
		case element == "..":
			return "the path leads upwards."
		case element == "" || element == ".":
			return "the path is not plain: it has an empty element."
		case lower == ".git" || lower == "git~1" || strings.HasPrefix(lower, ".git\u200c"):
			return "it is in the repository's own folder."
		case len(element) > 255:
			return "the path has an element that is too long."
		}
	}
	return ""
}

var secretNames = regexp.MustCompile(`(?i)^(\.env(\..+)?|\.netrc|\.npmrc|\.pypirc|\.git-credentials|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx|jks|keystore)|credentials(\.json)?|.*service[-_]?account.*\.json)$`)

// IsSecret reports whether a path has the name of a secret. Examples and templates
// have none in them.
func IsSecret(name string) bool {
	base := path.Base(name)
	for _, end := range []string{".example", ".sample", ".template", ".dist", ".pub"} {
		if strings.HasSuffix(base, end) {
			return false
		}
	}
	return secretNames.MatchString(base)
}

var (
	testName = regexp.MustCompile(`(?i)(_test\.go|\.(test|spec)\.[a-z]+|^test_.*\.py|_test\.(py|rb|exs?|cc|cpp|dart)|_spec\.rb|tests?\.(java|kt|cs|swift))$`)
	testDir  = regexp.MustCompile(`(?i)(^|/)(tests?|__tests__|spec|testdata)/`)
)

// IsTest reports whether a path has the name of a test.
func IsTest(name string) bool {
	return testName.MatchString(path.Base(name)) || testDir.MatchString(name) && path.Ext(name) != ".md"
}

var checkConfig = []string{
	"Makefile", "GNUmakefile", "package.json", "tox.ini", "pytest.ini", "setup.cfg", "jest.config.*", "vitest.config.*", ".eslintrc*", "eslint.config.*",
	".golangci.*", "tsconfig*.json", "conftest.py", "noxfile.py", "Justfile", "justfile", "Taskfile.*", ".mocharc.*", "babel.config.*",
}

// IsCheckConfig reports whether a file says what is checked, and how.
func IsCheckConfig(name string) bool {
	if strings.HasPrefix(name, ".github/") || strings.HasPrefix(name, ".gitlab-ci") || strings.HasPrefix(name, ".circleci/") {
		return true
	}
	return slices.ContainsFunc(checkConfig, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(name))
		return ok
	})
}

// MatchPath reports whether a path matches a pattern: * within a name, ** across
// directories, and a directory's name for all that is below it.
func MatchPath(pattern, name string) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	if !strings.Contains(pattern, "/") {
		for element := range strings.SplitSeq(name, "/") {
			if ok, _ := path.Match(pattern, element); ok {
				return true
			}
		}
		if pattern != "**" {
			return false
		}
	}
	return matchElements(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchElements(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := 0; i <= len(name); i++ {
				if matchElements(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], name[0]); !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return true // what is below a directory that matches
}

var placeholders = regexp.MustCompile(`(?im)^[ \t]*(?://|#|--|/\*|<!--|\*|;|%)?[ \t]*(?:\.{3}|…)?[ \t]*[(\[]?(?:(?:the )?(?:rest of|remaining|other|previous|existing) (?:the )?(?:existing |original |previous )?(?:code|file|content|functions|methods|implementation|imports)[^\n]{0,60}(?:\.{3}|…|here|unchanged|same|as before|above|below)|existing code(?: here)?|(?:rest|remainder) (?:of (?:the )?(?:code|file|content|functions|implementation))?[^\n]{0,30}(?:unchanged|same|omitted)|unchanged code)[)\]]?[ \t]*(?:\.{3}|…)?[ \t]*(?:\*/|-->)?[ \t]*$|^[ \t]*(?://|#|/\*|<!--)[ \t]*(?:\.{3}|…)[ \t]*(?:rest|existing|remaining|previous|unchanged|same)[^\n]*$`)

// placeholder returns a line that stands for code that was left out and that the file
// did not have before.
func placeholder(content, old string) string {
	for _, found := range placeholders.FindAllString(content, -1) {
		if found = strings.TrimSpace(found); !strings.Contains(old, found) {
			return found
		}
	}
	return ""
}

// onlyDependencies reports whether a package.json differs in what the project depends on
// alone: it defines the checks by its other fields.
func onlyDependencies(name, before, after string) bool {
	var a, b map[string]any
	if path.Base(name) != "package.json" || json.Unmarshal([]byte(before), &a) != nil || json.Unmarshal([]byte(after), &b) != nil {
		return false
	}
	for _, field := range []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"} {
		delete(a, field)
		delete(b, field)
	}
	return reflect.DeepEqual(a, b)
}

// Nearest returns up to three paths that come nearest to a path that is not there.
func Nearest(paths []string, wanted string) []string {
	type scored struct {
		path  string
		score int
	}
	var list []scored
	base := strings.ToLower(path.Base(wanted))
	stem := strings.TrimSuffix(base, path.Ext(base))
	for _, p := range paths {
		score, b := 0, strings.ToLower(path.Base(p))
		switch {
		case b == base:
			score = 10
		case strings.TrimSuffix(b, path.Ext(b)) == stem:
			score = 6
		case stem != "" && (strings.Contains(b, stem) || strings.Contains(stem, strings.TrimSuffix(b, path.Ext(b)))):
			score = 4
		}
		if score > 0 && path.Dir(p) == path.Dir(wanted) {
			score += 3
		}
		if score > 0 {
			list = append(list, scored{p, score})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return b.score - a.score })
	var near []string
	for _, s := range list[:min(len(list), 3)] {
		near = append(near, s.path)
	}
	return near
}
