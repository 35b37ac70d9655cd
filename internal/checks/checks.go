// Package checks finds what a repository is checked with, runs it in a sandbox and says
// what came of it: what the change is to blame for, and what its surroundings are.
package checks

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Check is a command that says by its exit code whether all is well.
type Check struct {
	Name string `json:"name"`
	// Argv is the command; or Shell is, where the user wrote it as one line.
	Argv  []string `json:"argv,omitempty"`
	Shell string   `json:"shell,omitempty"`
	// Dir is where it runs, relative to the repository's root.
	Dir     string        `json:"dir,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	// When is a pattern of paths: the check runs only where one of them changed.
	When string `json:"when,omitempty"`
	// Shown is the command as a person knows it, where that is not how it is run.
	Shown string `json:"shown,omitempty"`
	// Format is how the output tells about tests: gotest or empty for a guess.
	Format string `json:"format,omitempty"`
}

// Command is the check as a person would write it.
func (c *Check) Command() string {
	text := c.Shell
	if c.Shown != "" {
		text = c.Shown
	} else if text == "" {
		text = strings.Join(c.Argv, " ")
		if c.Format == formatGo {
			text = strings.Replace(text, " -json", "", 1)
		}
	}
	if c.Dir != "" {
		text += " (in " + c.Dir + ")"
	}
	return text
}

const formatGo = "gotest"

// Files is what of a repository is looked at.
type Files interface {
	Paths() []string
	// Read returns a file's content, empty where it cannot be read.
	Read(path string) string
}

// listed are files whose paths were asked for once.
type listed struct {
	Files
	paths   []string
	isThere map[string]bool // by path
}

func newListed(files Files) *listed {
	l := &listed{Files: files, paths: files.Paths(), isThere: map[string]bool{}}
	for _, name := range l.paths {
		l.isThere[name] = true
	}
	return l
}

func (l *listed) has(name string) bool { return l.isThere[name] }

var skippedDir = regexp.MustCompile(`(^|/)(node_modules|vendor|testdata|third_party|fixtures|examples?|\.[^/]+)(/|$)`)

// maxDirs bounds the directories of a repository that checks are found for.
const maxDirs = 20

// Find returns the checks of a repository, cheap ones first.
func Find(all Files) []Check {
	files := newListed(all)
	marks := map[string][]string{} // directory: names of files that mean something
	hasTests := map[string]bool{}
	var tests []string // of Python
	for _, name := range files.paths {
		dir, base := path.Dir(name), path.Base(name)
		if dir == "." {
			dir = ""
		}
		if skippedDir.MatchString(dir) {
			continue
		}
		switch base {
		case "go.mod", "package.json", "Cargo.toml", "pyproject.toml", "pytest.ini", "setup.py", "Makefile", "makefile", "GNUmakefile", "phpunit.xml", "phpunit.xml.dist", "Gemfile":
			marks[dir] = append(marks[dir], base)
		}
		if nodeTest.MatchString(base) {
			hasTests[dir] = true
		}
		if pythonTest.MatchString(name) {
			tests = append(tests, name)
		}
	}
	if len(tests) > 0 {
		marks[""] = append(marks[""], pythonTests)
	}
	var dirs []string
	for dir := range marks {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	var found []Check
	for _, dir := range dirs[:min(len(dirs), maxDirs)] {
		found = append(found, inDir(files, dir, marks[dir], testsBelow(hasTests, dir), tests)...)
	}
	slices.SortStableFunc(found, func(a, b Check) int { return cost(a.Name) - cost(b.Name) })
	return found
}

// Standard is Find for a tree whose own word is not taken for anything: only commands
// that are built in here, and none that a file of it spells out.
func Standard(files Files) []Check { return Find(standard{files}) }

// standard hides what defines commands.
type standard struct{ Files }

func (s standard) Paths() []string {
	return slices.DeleteFunc(slices.Clone(s.Files.Paths()), func(name string) bool {
		return slices.Contains(makefiles, path.Base(name)) || path.Base(name) == "Gemfile" || strings.HasPrefix(path.Base(name), "phpunit.xml")
	})
}

func (s standard) Read(name string) string {
	if path.Base(name) == "package.json" {
		return "{}"
	}
	return s.Files.Read(name)
}

var nodeTest = regexp.MustCompile(`\.(test|spec)\.(js|mjs|cjs|ts)$|^test\.(js|mjs|cjs)$`)

func testsBelow(hasTests map[string]bool, dir string) bool {
	for d := range hasTests {
		if dir == "" || d == dir || strings.HasPrefix(d, dir+"/") {
			return true
		}
	}
	return false
}

func cost(name string) int {
	for i, kind := range []string{"build", "typecheck", "vet", "lint", "check", "test"} {
		if strings.HasPrefix(name, kind) {
			return i
		}
	}
	return 9
}

// inDir returns the checks of one directory. Tests are the repository's tests in Python.
func inDir(files *listed, dir string, marks []string, hasTests bool, tests []string) (found []Check) {
	add := func(name, format string, argv ...string) {
		if dir != "" {
			name += " " + dir
		}
		if slices.ContainsFunc(found, func(c Check) bool { return c.Name == name }) {
			return
		}
		found = append(found, Check{Name: name, Argv: argv, Dir: dir, Format: format})
	}
	has := func(name string) bool { return slices.Contains(marks, name) }
	if has("go.mod") {
		add("build", "", "go", "build", "./...")
		add("vet", "", "go", "vet", "./...")
		add("test", formatGo, "go", "test", "-json", "./...")
	}
	if has("package.json") {
		before, manager := len(found), nodeManager(files, dir)
		for _, script := range scripts(files.Read(path.Join(dir, "package.json"))) {
			// The script as it is now: a change to it takes effect once a person has seen it.
			add(script[0], "", "/bin/sh", "-c", `PATH="`+binFolders(dir)+`$PATH"; export PATH; `+script[1])
			found[len(found)-1].Shown = manager + " run " + script[0]
		}
		if hasTests && !slices.ContainsFunc(found[before:], func(c Check) bool { return strings.HasPrefix(c.Name, "test") }) && !has("go.mod") {
			if manager == "bun" {
				add("test", "", "bun", "test")
			} else {
				add("test", "", "node", "--test", "--test-reporter=tap")
			}
		}
	}
	if has("Cargo.toml") {
		add("check", "", "cargo", "check", "--offline")
		add("test", "", "cargo", "test", "--offline")
	}
	switch {
	case has("pytest.ini") || has("pyproject.toml") && strings.Contains(files.Read(path.Join(dir, "pyproject.toml")), "pytest"):
		add("test", "", "python3", "-m", "pytest", "-q")
	case has(pythonTests):
		add("test", "", pythonCommand(files, tests)...)
	}
	if has("phpunit.xml") || has("phpunit.xml.dist") {
		add("test", "", "vendor/bin/phpunit")
	}
	if has("Gemfile") {
		if argv := rubyTest(files, dir); argv != nil {
			add("test", "", argv...)
		}
	}
	if len(found) == 0 {
		if target := makeTarget(files, dir, marks); target != "" {
			add(target, "", "make", target)
		}
	}
	return found
}

// scripts returns the scripts of a package.json that check something.
func scripts(content string) (list [][2]string) {
	var manifest struct{ Scripts map[string]string }
	if json.Unmarshal([]byte(content), &manifest) != nil {
		return nil
	}
	for _, name := range []string{"build", "typecheck", "lint", "test"} {
		if script := manifest.Scripts[name]; script != "" && !strings.Contains(script, "no test specified") {
			for before, after := range map[string]bool{"pre" + name: false, "post" + name: true} {
				switch other := manifest.Scripts[before]; {
				case other != "" && after:
					script += " && " + other
				case other != "":
					script = other + " && " + script
				}
			}
			list = append(list, [2]string{name, script})
		}
	}
	return list
}

// Concerns reports whether changes to some paths are what a check is about.
func (c *Check) Concerns(changed []string, matches func(pattern, path string) bool) bool {
	return slices.ContainsFunc(changed, func(name string) bool {
		if c.When != "" && !matches(c.When, name) {
			return false
		}
		return c.Dir == "" || strings.HasPrefix(name, c.Dir+"/")
	})
}

// Describe lists checks by name.
func Describe(list []Check) string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// The causes of a failure.
const (
	// CauseChange is what the change is to blame for.
	CauseChange = "change"
	// CauseEnvironment is what keeps a check from saying anything about the change.
	CauseEnvironment = "environment"
)

// An Outcome is what a check said.
type Outcome struct {
	Name    string `json:"name"`
	Command string `json:"command"`
	OK      bool   `json:"ok"`
	Exit    int    `json:"exit"`
	Cause   string `json:"cause,omitempty"`
	// Remedy says what to do, where the cause is the environment.
	Remedy string `json:"remedy,omitempty"`
	// Tests is how many ran, -1 where the runner does not say.
	Tests   int      `json:"tests"`
	Skipped int      `json:"skipped,omitempty"`
	Failing []string `json:"failing,omitempty"`
	// Flaky are tests that failed and passed when they were run again, unchanged.
	Flaky []string `json:"flaky,omitempty"`
	// Diagnostics are the places that the output names.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
	// Excerpt is the beginning and the end of the output, which File holds.
	Excerpt string        `json:"excerpt,omitempty"`
	File    string        `json:"file,omitempty"`
	Took    time.Duration `json:"took"`

	Output string `json:"-"`
}

// A Diagnostic is a place that a check complains about.
type Diagnostic struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// String is the diagnostic as compilers write it.
func (d Diagnostic) String() string {
	if d.Column > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", d.Path, d.Line, d.Column, d.Message)
	}
	return fmt.Sprintf("%s:%d: %s", d.Path, d.Line, d.Message)
}

// Signature is what two equal failures have in common: no line numbers.
func (o *Outcome) Signature() string {
	parts := []string{o.Name}
	for _, d := range o.Diagnostics {
		parts = append(parts, d.Path+" "+numbers.ReplaceAllString(d.Message, "#"))
	}
	parts = append(parts, o.Failing...)
	if len(parts) == 1 {
		parts = append(parts, numbers.ReplaceAllString(tail(o.Excerpt, 500), "#"))
	}
	return strings.Join(parts, "\n")
}

var numbers = regexp.MustCompile(`\d+(\.\d+)?`)

func tail(text string, n int) string {
	if len(text) > n {
		return text[len(text)-n:]
	}
	return text
}

// Errors is how many things are wrong, for telling progress from none.
func (o *Outcome) Errors() int { return max(len(o.Diagnostics)+len(o.Failing), 1) }

// Mark is the outcome in a word or two.
func (o *Outcome) Mark() string {
	text := o.Name + " ✓"
	if !o.OK {
		text = o.Name + " ✗"
		if len(o.Failing) > 0 {
			text += " " + strings.Join(o.ShortFailing()[:min(len(o.Failing), 3)], ", ")
		}
	}
	if o.OK && o.Tests > 0 {
		text += fmt.Sprintf(" (%s)", testCount(o.Tests))
	}
	if len(o.Flaky) > 0 {
		text += ", flaky: " + strings.Join(short(o.Flaky), ", ")
	}
	return text
}

// ForPeople is the check in words, with the first of the tests that fail in it.
func (o *Outcome) ForPeople() string {
	text := "the check “" + o.Name + "”"
	if failing := o.ShortFailing(); len(failing) > 0 {
		text += " (" + strings.Join(failing[:min(len(failing), 3)], ", ") + ")"
	}
	return text
}

// ShortFailing are the tests that fail, with their package only where two have one name.
func (o *Outcome) ShortFailing() []string { return short(o.Failing) }

// ShortFlaky are the tests that are not to be relied on, in the same way.
func (o *Outcome) ShortFlaky() []string { return short(o.Flaky) }

func short(names []string) (list []string) {
	count := map[string]int{}
	for _, name := range names {
		_, test := splitGoTest(name)
		count[test]++
	}
	for _, name := range names {
		if pkg, test := splitGoTest(name); test != "" {
			if name = test; count[test] > 1 {
				name = path.Base(pkg) + "." + test
			}
		}
		list = append(list, name)
	}
	return list
}

var goTest = regexp.MustCompile(`^(\S*?[^\s/]+)\.((?:Test|Fuzz|Example)\S*)$`)

// splitGoTest takes the name of a test in Go apart; test is empty for any other name.
func splitGoTest(name string) (pkg, test string) {
	if m := goTest.FindStringSubmatch(name); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

func testCount(n int) string {
	if n == 1 {
		return "1 test"
	}
	return fmt.Sprintf("%d tests", n)
}
