package checks

import (
	"os"
	"path"
	"path/filepath"
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
func pythonCommand(files *listed, tests []string) []string {
	pytest := []string{"python3", "-m", "pytest", "-q"}
	for _, name := range files.paths {
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
	if files.has(folder + "/__init__.py") {
		argv = append(argv, "-t", ".") // so that tests may import each other
	}
	return argv
}

// virtual has programs that run in a directory use the virtual environment of their
// project, as they do for a person who has activated it. Such an environment may name the
// checkout that it was made for: what is below src here comes first.
func (room Room) virtual(env []string, dir string) []string {
	for _, folder := range []string{filepath.Join(room.Root, filepath.FromSlash(dir)), room.Root} {
		for _, name := range []string{".venv", "venv"} {
			home := filepath.Join(folder, name)
			if _, err := os.Stat(filepath.Join(home, "pyvenv.cfg")); err != nil {
				continue
			}
			env = append(slices.Clone(env), "VIRTUAL_ENV="+home, "PATH="+filepath.Join(home, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
			if src := filepath.Join(folder, "src"); isDir(src) {
				env = append(env, "PYTHONPATH="+src)
			}
			return slices.DeleteFunc(env, func(v string) bool { return v == "PATH="+os.Getenv("PATH") })
		}
	}
	return env
}
