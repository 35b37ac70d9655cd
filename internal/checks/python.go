package checks

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// pythonTests marks a repository that has tests in Python.
const pythonTests = "tests in Python"

// pythonTest is what both runners of Python take for a test, in the usual places.
var pythonTest = regexp.MustCompile(`^(?:tests?/(?:.*/)?)?test_[^/]*\.py$`)

// maxTestsRead is how many tests are looked at to see what they are written for.
const maxTestsRead = 50

// pythonCommand runs tests with what they are written for: unittest, which every Python
// has, where all of them import it and nothing speaks of pytest.
func pythonCommand(files Files, tests []string) []string {
	pytest := []string{"python3", "-m", "pytest", "-q"}
	for _, name := range files.Paths() {
		switch base := path.Base(name); {
		case base == "conftest.py":
			return pytest
		case strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt"), name == "tox.ini", name == "setup.cfg", name == "setup.py":
			if strings.Contains(files.Read(name), "pytest") {
				return pytest
			}
		}
	}
	for _, name := range tests[:min(len(tests), maxTestsRead)] {
		if text := files.Read(name); !strings.Contains(text, "unittest") || strings.Contains(text, "pytest") {
			return pytest
		}
	}
	folder, _, below := strings.Cut(tests[0], "/")
	if !below {
		return []string{"python3", "-m", "unittest", "discover", "-v"}
	}
	argv := []string{"python3", "-m", "unittest", "discover", "-v", "-s", folder}
	if slices.Contains(files.Paths(), folder+"/__init__.py") {
		argv = append(argv, "-t", ".") // so that tests may import each other
	}
	return argv
}
