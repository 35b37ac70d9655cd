package checks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { os.Exit(sandboxtest.Main(m)) }

type tree map[string]string

func (t tree) Paths() (list []string) {
	for p := range t {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}
func (t tree) Read(path string) string { return t[path] }

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		files tree
		want  string
	}{
		{"Go", tree{"go.mod": "", "a.go": ""}, "build: go build ./...; vet: go vet ./...; test: go test ./..."},
		{"Node with scripts", tree{"package.json": `{"scripts":{"test":"node --test","lint":"eslint .","start":"x"}}`}, "lint: npm run lint; test: npm run test"},
		{"npm's placeholder", tree{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, ""},
		{"Node without scripts", tree{"package.json": `{}`, "a.test.js": ""}, "test: node --test --test-reporter=tap"},
		{"Rust", tree{"Cargo.toml": ""}, "check: cargo check --offline; test: cargo test --offline"},
		{"Python", tree{"pytest.ini": "", "a.py": ""}, "test: python3 -m pytest -q"},
		{"Python by its tests", tree{"tests/test_a.py": ""}, "test: python3 -m pytest -q"},
		{"Python with unittest", tree{"tests/test_a.py": "import unittest\n", "tests/__init__.py": ""}, "test: python3 -m unittest discover -v -s tests -t ."},
		{"Python with unittest, no package", tree{"tests/test_a.py": "from unittest import TestCase\n"}, "test: python3 -m unittest discover -v -s tests"},
		{"Python with a test beside", tree{"test_a.py": "import unittest\n"}, "test: python3 -m unittest discover -v"},
		{"unittest by pytest", tree{"tests/test_a.py": "import unittest\n", "requirements-dev.txt": "pytest==8\n"}, "test: python3 -m pytest -q"},
		{"make check", tree{"Makefile": "all:\ncheck: x\ntest: y\n"}, "check: make check"},
		{"make test", tree{"Makefile": "test:\n\ttrue\n"}, "test: make test"},
		{"make beside Go", tree{"Makefile": "test:\n", "go.mod": ""}, "build: go build ./...; vet: go vet ./...; test: go test ./..."},
		{"several", tree{"api/go.mod": "", "web/package.json": `{"scripts":{"test":"x"}}`}, "build api: go build ./... (in api); vet api: go vet ./... (in api); test api: go test ./... (in api); test web: npm run test (in web)"},
		{"what others made", tree{"node_modules/a/package.json": `{"scripts":{"test":"x"}}`, "testdata/go.mod": "", "vendor/go.mod": ""}, ""},
		{"pnpm", tree{"package.json": `{"scripts":{"test":"vitest run"}}`, "pnpm-lock.yaml": ""}, "test: pnpm run test"},
		{"a workspace of pnpm", tree{"package.json": `{}`, "pnpm-workspace.yaml": "", "pnpm-lock.yaml": "", "packages/a/package.json": `{"scripts":{"test":"vitest run"}}`}, "test packages/a: pnpm run test (in packages/a)"},
		{"Yarn", tree{"package.json": `{"scripts":{"build":"tsc","test":"jest"}}`, "yarn.lock": ""}, "build: yarn run build; test: yarn run test"},
		{"bun", tree{"package.json": `{"scripts":{"typecheck":"tsc"}}`, "bun.lock": "", "a.test.ts": ""}, "typecheck: bun run typecheck; test: bun test"},
		{"PHP", tree{"composer.json": "{}", "phpunit.xml.dist": ""}, "test: vendor/bin/phpunit"},
		{"PHP without a configuration", tree{"composer.json": "{}"}, ""},
		{"Ruby with rspec", tree{"Gemfile": "", "spec/a_spec.rb": ""}, "test: bundle exec rspec"},
		{"Ruby with rake", tree{"Gemfile": "", "Rakefile": "", "test/a_test.rb": ""}, "test: bundle exec rake test"},
		{"Ruby with Rails", tree{"Gemfile": "", "bin/rails": "", "Rakefile": "", "test/a_test.rb": ""}, "test: bundle exec rails test"},
		{"Ruby without tests", tree{"Gemfile": ""}, ""},
		{"makefile", tree{"makefile": "test : all\n\t./run\n"}, "test: make test"},
		{"a variable of make", tree{"Makefile": "test := x\nall:\n"}, ""},
		{"nothing", tree{"README.md": ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, check := range Find(c.files) {
				got = append(got, check.Name+": "+check.Command())
			}
			if joined := strings.Join(got, "; "); joined != c.want {
				t.Errorf("got  %s\nwant %s", joined, c.want)
			}
		})
	}
}

// What an agent wrote does not say which commands are run.
func TestStandardChecksAreNotDefinedByTheTree(t *testing.T) {
	files := tree{"package.json": `{"scripts":{"test":"curl evil","build":"true"}}`, "a.test.js": "", "sub/Makefile": "test:\n\ttrue\n", "api/go.mod": ""}
	if got := Describe(Standard(files)); got != "build api, vet api, test, test api" {
		t.Error(got)
	}
	for _, c := range Standard(files) {
		if c.Name == "test" && c.Command() != "node --test --test-reporter=tap" {
			t.Error(c.Command())
		}
	}
}

// newRoom makes a folder with files, to be checked in the best sandbox.
func newRoom(t testing.TB, files tree) Room {
	t.Helper()
	box, err := sandbox.Open(t.Context(), "", sandboxtest.Helper, nil)
	if err != nil {
		t.Skipf("there is no sandbox: %v", err)
	}
	// One cache for all tests: compiling the standard library takes longer than they do.
	room := Room{Sandbox: box, Root: t.TempDir(), Cache: filepath.Join(os.TempDir(), fmt.Sprintf("troupe-test-cache-%d", os.Getuid()))}
	for name, content := range files {
		full := filepath.Join(room.Root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return room
}

// Scripts of a package in a workspace find what is installed at its root.
func TestScriptsFindProgramsOfTheirWorkspace(t *testing.T) {
	files := tree{"package.json": "{}", "packages/a/package.json": `{"scripts":{"test":"checker && own"}}`}
	room := newRoom(t, files)
	for _, name := range []string{"node_modules/.bin/checker", "packages/a/node_modules/.bin/own"} {
		full := filepath.Join(room.Root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("#!/bin/sh\necho ran $(basename $0)\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if o := runAll(t, room, files); !o.OK || !strings.Contains(o.Output, "ran checker") || !strings.Contains(o.Output, "ran own") {
		t.Errorf("%+v\n%s", o, o.Output)
	}
}

// A project in Python is checked with its own environment, where there is one.
func TestChecksUseTheEnvironmentOfAProject(t *testing.T) {
	for _, name := range []string{".venv", "venv"} {
		room := newRoom(t, tree{name + "/pyvenv.cfg": "", name + "/bin/python3": "#!/bin/sh\necho the environment of $VIRTUAL_ENV\n"})
		if err := os.Chmod(filepath.Join(room.Root, name, "bin/python3"), 0o755); err != nil {
			t.Fatal(err)
		}
		o, err := (&Check{Name: "test", Argv: []string{"python3", "-m", "pytest", "-q"}}).Run(t.Context(), room)
		if err != nil || !o.OK || !strings.Contains(o.Output, "the environment of "+name+"\n") {
			t.Errorf("%+v %v\n%s", o, err, o.Output)
		}
	}
}

func goModule(more tree) tree {
	files := tree{"go.mod": "module example.org/m\n\ngo 1.24\n", "a.go": "package m\n\nfunc Add(a, b int) int { return a + b }\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Error(\"no\")\n\t}\n}\n"}
	for name, content := range more {
		files[name] = content
	}
	return files
}

func needs(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

func runAll(t testing.TB, room Room, files tree) (last Outcome) {
	t.Helper()
	for _, c := range Find(files) {
		var err error
		if last, err = c.Run(t.Context(), room); err != nil {
			t.Fatal(err)
		}
		if !last.OK {
			break
		}
	}
	return last
}

func TestGo(t *testing.T) {
	needs(t, "go")
	for _, c := range []struct {
		name  string
		files tree
		want  func(Outcome) bool
	}{
		{"green", nil, func(o Outcome) bool { return o.OK && o.Tests == 1 }},
		{"does not compile", tree{"b.go": "package m\n\nfunc Sub(a, b int) int { return a - c }\n"}, func(o Outcome) bool {
			return !o.OK && o.Name == "build" && o.Cause == CauseChange && len(o.Diagnostics) == 1 && o.Diagnostics[0].Path == "b.go" && o.Diagnostics[0].Line == 3
		}},
		{"a test fails", tree{"a.go": "package m\n\nfunc Add(a, b int) int { return a - b }\n"}, func(o Outcome) bool {
			return !o.OK && o.Cause == CauseChange && slices.Equal(o.Failing, []string{"example.org/m.TestAdd"}) && o.Mark() == "test ✗ TestAdd" && o.Tests == 1 && len(o.Diagnostics) == 1
		}},
		{"a test is skipped", tree{"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) { t.Skip() }\n"}, func(o Outcome) bool { return o.OK && o.Tests == 0 && o.Skipped == 1 }},
		{"a server on loopback", tree{"s_test.go": "package m\n\nimport (\n\t\"net/http\"\n\t\"net/http/httptest\"\n\t\"testing\"\n)\n\nfunc TestServer(t *testing.T) {\n\ts := httptest.NewServer(http.NotFoundHandler())\n\tdefer s.Close()\n\tif _, err := http.Get(s.URL); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"},
			func(o Outcome) bool { return o.OK && o.Tests == 2 }},
		{"the internet", tree{"s_test.go": "package m\n\nimport (\n\t\"net/http\"\n\t\"testing\"\n)\n\nfunc TestNet(t *testing.T) {\n\tif _, err := http.Get(\"http://example.org/\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"},
			func(o Outcome) bool {
				return !o.OK && o.Cause == CauseEnvironment && strings.Contains(o.Remedy, "network")
			}},
		{"a module that is not here", tree{"b.go": "package m\n\nimport _ \"example.org/not/here\"\n"},
			func(o Outcome) bool { return !o.OK }},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := goModule(c.files)
			room := newRoom(t, files)
			if o := runAll(t, room, files); !c.want(o) {
				t.Errorf("%+v\n%s", o, o.Output)
			}
		})
	}
}

// Two packages may each have a test of the same name, and one may not even come to its
// tests: what failed before does not excuse the other one.
func TestGoTestsAreKnownByTheirPackage(t *testing.T) {
	needs(t, "go")
	test := func(pkg, body string) string {
		return "package " + pkg + "\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) {\n\tif os.Getpid() != 0 {\n\t\t" + body + "\n\t}\n}\n"
	}
	run := func(a, b string) Outcome {
		files := tree{"go.mod": "module example.org/m\n\ngo 1.24\n", "one/it_test.go": test("one", a), "two/it_test.go": test("two", b)}
		check := Find(files)[2]
		o, err := check.Run(t.Context(), newRoom(t, files))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	const passes, fails = "return", `t.Error("no")`
	base := run(fails, passes)
	for name, c := range map[string]struct {
		now  Outcome
		want string
	}{
		"the same":                 {run(fails, passes), ""},
		"the other one":            {run(passes, fails), "example.org/m/two.TestIt"},
		"both":                     {run(fails, fails), "example.org/m/two.TestIt"},
		"one that ends its tests":  {run(fails, "os.Exit(3)"), "example.org/m/two"},
		"one that does not build":  {run(fails, "undefined()"), "example.org/m/two"},
		"both end, with no result": {run("os.Exit(3)", "os.Exit(3)"), "example.org/m/one,example.org/m/two"},
	} {
		if got := strings.Join(Newly(c.now, base), ","); got != c.want {
			t.Errorf("%s: fails now and did not before: %q, not %q\n%s", name, got, c.want, c.now.Output)
		}
	}
	if got := run(fails, fails); got.Mark() != "test ✗ one.TestIt, two.TestIt" {
		t.Errorf("people are told %s", got.Mark())
	}
	// A delivery that was begun with names alone goes on.
	if got := Newly(base, Outcome{Name: "test", Exit: 1, Failing: []string{"TestIt"}}); got != nil {
		t.Errorf("what is on record without its package is new: %q", got)
	}
}

func TestNode(t *testing.T) {
	needs(t, "node")
	files := tree{"package.json": `{"type":"module"}`, "a.js": "export const add = (a, b) => a - b\n", "a.test.js": "import {test} from 'node:test'\nimport assert from 'node:assert'\nimport {createServer} from 'node:http'\nimport {add} from './a.js'\ntest('adds', () => assert.equal(add(1, 2), 3))\ntest('serves', async () => { const s = createServer((q, r) => r.end('x')).listen(0, '127.0.0.1'); await new Promise(r => s.on('listening', r)); const r = await fetch('http://127.0.0.1:' + s.address().port); assert.equal(await r.text(), 'x'); s.close(); s.closeAllConnections() })\n"}
	room := newRoom(t, files)
	if o := runAll(t, room, files); o.OK || !slices.Equal(o.Failing, []string{"adds"}) || o.Tests != 2 || o.Cause != CauseChange {
		t.Errorf("%+v\n%s", o, o.Output)
	}
}

func TestWhatKeepsAChecksFromSayingAnything(t *testing.T) {
	room := newRoom(t, nil)
	for _, c := range []struct {
		check  Check
		remedy string
	}{
		{Check{Name: "x", Argv: []string{"no-such-program"}}, "Install it"},
		{Check{Name: "x", Shell: "no-such-program"}, "Install it"},
		{Check{Name: "x", Shell: "sleep 30", Timeout: 300 * time.Millisecond}, "more time"},
		{Check{Name: "x", Shell: "echo 'write: No space left on device'; exit 1"}, "no space"},
		{Check{Name: "x", Shell: "echo \"Error: Cannot find module 'left-pad'\"; exit 1"}, "depends on is not here"},
		{Check{Name: "x", Shell: "echo \"ModuleNotFoundError: No module named 'requests'\"; exit 1"}, "depends on is not here"},
		{Check{Name: "x", Shell: "echo 'npm error code ENOTFOUND'; exit 1"}, "needs the network"},
	} {
		o, err := c.check.Run(t.Context(), room)
		if err != nil || o.OK || o.Cause != CauseEnvironment || !strings.Contains(o.Remedy, c.remedy) {
			t.Errorf("%s: %+v %v", c.check.Command(), o, err)
		}
	}
}

// What a change does to manifests matters where it changes dependencies, and commands of
// an agent do not come along.
func TestManifests(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                bool
	}{
		{"package.json", `{"scripts":{"test":"a"},"dependencies":{"a":"1"}}`, `{"version":"2","scripts":{"test":"b"},"dependencies":{"a":"1"}}`, false},
		{"package.json", `{"dependencies":{"a":"1"}}`, `{"dependencies":{"a":"2"}}`, true},
		{"package.json", `{}`, `{"devDependencies":{"a":"2"}}`, true},
		{"web/package.json", "", `{"name":"web"}`, false},
		{"package.json", `{"name":"x"}`, `{"name":`, true},
		{"go.mod", "module a\n", "module a\n\nrequire b v1.0.0\n", true},
		{"requirements.txt", "a\n", "a\n", false},
	} {
		if got := IsManifest(c.name) && ChangesDependencies(c.name, c.before, c.after); got != c.want {
			t.Errorf("%s: %q to %q: %t", c.name, c.before, c.after, got)
		}
	}
	for name, want := range map[string]bool{"requirements/dev.txt": true, "requirements-dev.txt": true, "notes.txt": false, "node_modules/a/package.json": false, "setup.py": false, "Makefile": false, ".npmrc": false, "a/Cargo.lock": true} {
		if IsManifest(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	got := WithScriptsOf("package.json", `{"scripts":{"postinstall":"evil"},"dependencies":{"a":"<2"}}`, `{"scripts":{"test":"good"}}`)
	if strings.Contains(got, "evil") || !strings.Contains(got, "good") || !strings.Contains(got, `"a": "<2"`) {
		t.Errorf("%s", got)
	}
	for name, c := range map[string][3]string{ // before, after, and what may not come along
		"package.json":        {`{"packageManager":"pnpm@9.0.0"}`, `{"packageManager":"pnpm@EVIL","trustedDependencies":["EVIL"],"pnpm":{"onlyBuiltDependencies":["EVIL"]},"devEngines":{"packageManager":"EVIL"}}`, "pnpm@9.0.0"},
		"composer.json":       {`{"config":{"sort-packages":true}}`, `{"config":{"allow-plugins":{"EVIL":true}},"require":{"a/b":"1"}}`, "sort-packages"},
		"pnpm-workspace.yaml": {"packages: [a]\nsharedWorkspaceLockfile: false\n", "packages: [a, b]\nignoreScripts: false\nonlyBuiltDependencies: [EVIL]\nconfigDependencies: {EVIL: '1'}\n", "sharedWorkspaceLockfile: false"},
	} {
		got := WithScriptsOf(name, c[1], c[0])
		if strings.Contains(got, "EVIL") || strings.Contains(got, "ignoreScripts") || !strings.Contains(got, c[2]) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := WithScriptsOf("pnpm-workspace.yaml", "packages: [a, b]\ncatalog: {x: '2'}\n", "packages: [a]\n"); !strings.Contains(got, "- b") || !strings.Contains(got, "x:") {
		t.Error(got)
	}
	exists := func(name string) bool { return name == "package-lock.json" }
	commands := LockCommands([]string{"go.mod", "packages/a/package.json", "packages/b/package.json"}, exists)
	if len(commands) != 2 || commands[1].Dir != "." || commands[1].Argv[0] != "npm" {
		t.Errorf("%+v", commands)
	}
	if commands := LockCommands([]string{"go.mod", "go.sum", "package.json", "package-lock.json"}, exists); len(commands) != 0 {
		t.Errorf("%+v", commands)
	}
}

// Lock files are brought up to date by the tool that wrote them.
func TestLockCommands(t *testing.T) {
	for _, c := range []struct{ changed, there, want string }{
		{"package.json", "pnpm-lock.yaml", ".: pnpm install --lockfile-only --ignore-scripts --no-frozen-lockfile"},
		{"packages/a/package.json packages/b/package.json", "pnpm-lock.yaml pnpm-workspace.yaml", ".: pnpm install --lockfile-only --ignore-scripts --no-frozen-lockfile"},
		{"pnpm-workspace.yaml", "pnpm-lock.yaml", ".: pnpm install --lockfile-only --ignore-scripts --no-frozen-lockfile"},
		{"package.json pnpm-lock.yaml", "pnpm-lock.yaml", ""},
		{"web/package.json", "web/yarn.lock", "web: yarn install --ignore-scripts"},
		{"web/package.json", "web/yarn.lock .yarnrc.yml", "web: yarn install --mode=update-lockfile --no-immutable"},
		{"package.json", "bun.lock", ".: bun install --lockfile-only --ignore-scripts"},
		{"package.json", "bun.lockb", ""}, // not to be written as a text
		{"pyproject.toml", "uv.lock", ".: uv lock --no-build"},
		{"pyproject.toml", "poetry.lock", ""}, // builds what it looks at
		{"crates/a/Cargo.toml", "Cargo.lock", ".: cargo update --workspace"},
		{"composer.json", "composer.lock", ".: composer update --minimal-changes --no-install --no-scripts --no-plugins --no-interaction"},
		{"composer.json", "", ""},
		{"package.json", "", ""},
	} {
		var got []string
		for _, command := range LockCommands(strings.Fields(c.changed), func(name string) bool { return slices.Contains(strings.Fields(c.there), name) }) {
			got = append(got, command.Dir+": "+command.Command())
		}
		if joined := strings.Join(got, "; "); joined != c.want {
			t.Errorf("%s beside %s: %q, want %q", c.changed, c.there, joined, c.want)
		}
	}
	if slices.Contains(WithoutScripts([]string{"web/.yarnrc.yml"}), "YARN_IGNORE_SCRIPTS=true") || !slices.Contains(WithoutScripts(nil), "YARN_IGNORE_SCRIPTS=true") {
		t.Error("Yarn 1 is told by a variable that later ones refuse")
	}
}

func TestChecksGetNothingOfOurEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	t.Setenv("WANTED", "yes")
	room := newRoom(t, nil)
	room.Env = []string{"WANTED"}
	o, err := (&Check{Name: "x", Shell: "env"}).Run(t.Context(), room)
	if err != nil || strings.Contains(o.Output, "sk-secret") || strings.Contains(o.Output, "SSH_AUTH") || !strings.Contains(o.Output, "WANTED=yes") || !strings.Contains(o.Output, "CI=1") {
		t.Errorf("%s %v", o.Output, err)
	}
}

func TestFeedbackShowsTheCode(t *testing.T) {
	o := Outcome{Name: "build", Command: "go build ./...", Exit: 1, Excerpt: "b.go:3:40: undefined: c\n", Diagnostics: diagnostics("b.go:3:40: undefined: c\n", "")}
	text := o.Feedback(func(string) string { return "package m\n\nfunc Sub() { c }\n\nx\n" })
	for _, part := range []string{`The check "build" (go build ./...) failed`, "b.go:3:40: undefined: c", "     3\tfunc Sub() { c }"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func TestRunnersThatAreRead(t *testing.T) {
	for _, c := range []struct {
		name, text     string
		tests, skipped int
		failing        string
	}{
		{"pytest", "FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 3 passed, 1 skipped in 0.02s\n", 4, 1, "tests/test_a.py::test_b"},
		{"unittest", "test_b (tests.test_a.T.test_b) ... FAIL\nFAIL: test_b (tests.test_a.T.test_b)\nRan 5 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n", 4, 1, "test_b (tests.test_a.T.test_b)"},
		{"cargo", "test a::b ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured\n", 4, 2, "a::b"},
		{"jest", "Tests:       1 failed, 1 skipped, 3 passed, 5 total\n", 4, 1, ""},
		{"TAP", "not ok 2 - adds\n# tests 5\n# skipped 1\n", 4, 1, "adds"},
		{"node's own", "✖ adds (1.5ms)\nℹ tests 5\nℹ skipped 0\n", 5, 0, "adds"},
		{"go without -json", "--- FAIL: TestA (0.00s)\n", -1, 0, "TestA"},
		{"nothing", "hello\n", -1, 0, ""},
	} {
		o := Outcome{Tests: -1}
		o.readTests(c.text)
		if o.Tests != c.tests || o.Skipped != c.skipped || strings.Join(o.Failing, ",") != c.failing {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
}
