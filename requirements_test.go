package troupe_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryRequirementIsShownByATest reads docs/requirements.md and looks for tests
// that say, by t.Attr, which requirement they show. With -v it prints them.
func TestEveryRequirementIsShownByATest(t *testing.T) {
	document, err := os.ReadFile("docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := testsByRequirement(t)
	var known []string
	for _, m := range regexp.MustCompile(`(?m)^\| (FR-\d+[a-z]?) \|`).FindAllStringSubmatch(string(document), -1) {
		known = append(known, m[1])
		if tests := shown[m[1]]; len(tests) == 0 {
			t.Errorf("%s is shown by no test", m[1])
		} else {
			t.Logf("%-8s %s", m[1], strings.Join(tests, "\n         "))
		}
	}
	if len(known) < 46 {
		t.Errorf("only %d requirements were found", len(known))
	}
	for id := range shown {
		if !slices.Contains(known, id) {
			t.Errorf("%s is not in docs/requirements.md", id)
		}
	}
}

// testsByRequirement returns the tests that show a requirement, by its id.
func testsByRequirement(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok {
				for _, id := range attributed(f) {
					found[id] = append(found[id], filepath.ToSlash(filepath.Dir(path))+" "+f.Name.Name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// attributed returns the requirements that a test says it shows.
func attributed(f *ast.FuncDecl) []string {
	var ids []string
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); !ok || s.Sel.Name != "Attr" {
			return true
		}
		if key, ok := call.Args[0].(*ast.BasicLit); !ok || key.Value != `"FR"` {
			return true
		}
		if value, ok := call.Args[1].(*ast.BasicLit); ok {
			text, _ := strconv.Unquote(value.Value)
			ids = append(ids, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		return true
	})
	return ids
}
