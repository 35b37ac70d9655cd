package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe/bundle"
)

// allCodes returns every code that a finding can have: the constants named Code...
// of this package, of package bundle, and those of references, of markup and of YAML.
func allCodes(t *testing.T) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for _, code := range dangling {
		found[code] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../finding.go", "../../markup/node.go", "../../internal/laxyaml/yaml.go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			value, isLiteral := spec.Values[0].(*ast.BasicLit)
			if isLiteral && (strings.HasPrefix(spec.Names[0].Name, "Code") || kind != nil && kind.Name == "Code") {
				code, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[code] = true
			}
			return true
		})
	}
	if len(found) < 50 {
		t.Fatalf("only %d codes", len(found))
	}
	return found
}

func TestEveryCodeIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^### `(.+)`\n(.+)").FindAllStringSubmatch(string(page), -1) {
		if explained[m[1]] {
			t.Errorf("docs/lint.md explains %s twice", m[1])
		}
		explained[m[1]] = true
	}
	known := allCodes(t)
	for code := range known {
		if !explained[code] {
			t.Errorf("docs/lint.md has no section on %s", code)
		}
	}
	for code := range explained {
		if !known[code] {
			t.Errorf("docs/lint.md explains %s, which nothing reports", code)
		}
	}
}

// The archives are the tests of the codes; only what an archive cannot hold is
// tested in Go.
func TestEveryCodeIsProvoked(t *testing.T) {
	provoked := map[string]bool{CodeNothing: true, CodeTooMuch: true, CodeTooLarge: true, bundle.CodeUnreadable: true, bundle.CodeLink: true}
	for _, code := range []string{CodeNoStep, CodeNoMember, CodeDeadRow, CodeNoKey, CodeSameStep} {
		provoked[code] = true // by the seeded defects
	}
	for _, name := range archives(t) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name != "want" {
				continue
			}
			for line := range strings.Lines(string(f.Data)) {
				provoked[strings.Fields(line)[1]] = true
			}
		}
	}
	for code := range allCodes(t) {
		if !provoked[code] {
			t.Errorf("no test comes to %s", code)
		}
	}
}
