package troupe_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/troupe-dev/troupe"

// layers reads the table of ARCHITECTURE.md: package directory to layer.
func layers(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (-?\d) \| (.+?) \| (.+?) \|$`)
	name := regexp.MustCompile("`([^`]+)`")
	found := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		layer, _ := strconv.Atoi(m[1])
		for _, n := range name.FindAllStringSubmatch(m[2], -1) {
			dir := n[1]
			if dir == "troupe" {
				dir = "."
			}
			found[dir] = layer
		}
	}
	if len(found) < 5 {
		t.Fatalf("ARCHITECTURE.md has no table of layers: %v", found)
	}
	return found
}

// imports returns what each package of the module imports of the module, tests
// aside.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); file != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != "." {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		found[dir] = append(found[dir], "")
		for _, spec := range parsed.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			if p == module {
				found[dir] = append(found[dir], ".")
			} else if rest, ok := strings.CutPrefix(p, module+"/"); ok {
				found[dir] = append(found[dir], rest)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Imports go down the layer table; packages of one layer do not know each other.
func TestImportsGoDownTheLayers(t *testing.T) {
	layer := layers(t)
	of := func(dir string) (int, bool) {
		for d := dir; ; d = path.Dir(d) {
			if n, ok := layer[d]; ok && (d != "." || dir == ".") {
				return n, true
			}
			if d == "." {
				return 0, false
			}
		}
	}
	for dir, list := range imports(t) {
		if strings.HasPrefix(dir, "examples/") {
			continue // programs that use the library as anybody would
		}
		own, ok := of(dir)
		if !ok {
			t.Errorf("package %s has no row in ARCHITECTURE.md", dir)
			continue
		}
		for _, other := range list {
			if other == "" || strings.HasPrefix(other, dir+"/") || path.Dir(other) == path.Dir(dir) && strings.Contains(dir, "/internal/") {
				continue
			}
			if n, ok := of(other); !ok || n >= own {
				t.Errorf("%s (layer %d) imports %s (layer %d)", dir, own, other, n)
			}
		}
	}
}

// G8: the flows that come with the library are written with what everybody has. What a
// user writes can do what they do.
func TestFlowsAreWrittenWithPublicMeans(t *testing.T) {
	list, ok := imports(t)["flow"]
	if !ok {
		t.Fatal("there is no package flow")
	}
	for _, other := range list {
		if strings.Contains(other, "internal") {
			t.Errorf("flow imports %s, which a user's flow cannot", other)
		}
	}
}

// The root package links few modules, so that a program which uses the library
// gets little that it did not ask for.
func TestTheRootPackageLinksFewModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for line := range bytes.Lines(out) {
		if m := strings.TrimSpace(string(line)); m != "" && m != module && !slices.Contains(modules, m) {
			modules = append(modules, m)
		}
	}
	if len(modules) > 6 {
		t.Errorf("%d third-party modules: %v", len(modules), modules)
	}
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range directDependencies(t) {
		if !strings.Contains(string(text), m) {
			t.Errorf("ARCHITECTURE.md gives no reason for %s", m)
		}
	}
}

func directDependencies(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") {
			list = append(list, fields[0])
		}
		if len(fields) == 3 && fields[0] == "require" {
			list = append(list, fields[1])
		}
	}
	return list
}
