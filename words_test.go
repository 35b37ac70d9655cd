package troupe_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words are those of fields that are plain strings with a fixed set of words: see the
// fields' comments.
var words = map[string][]string{
	"Stop": {"answered", "input_requested", "handed_off", "decided", "turns", "tool_calls", "tokens", "cost", "time", "handoffs",
		"repeated_calls", "length", "content_filter", "refused", "empty", ""},
	"Class": {"not_found", "unauthorized", "invalid_arguments", "timeout", "failed", "panicked", "interrupted", ""},
}

// TestWordsAreSpelledRight looks at every comparison with a word in the repository: no
// compiler would notice a slip there.
func TestWordsAreSpelledRight(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"), d.Name() == "cassettes_test.go", d.Name() == "corpus_test.go": // those have words of others
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		check := func(field, value ast.Expr) {
			selector, isField := field.(*ast.SelectorExpr)
			literal, isText := value.(*ast.BasicLit)
			if !isField || !isText || words[selector.Sel.Name] == nil {
				return
			}
			seen++
			if word, err := strconv.Unquote(literal.Value); err != nil || !slices.Contains(words[selector.Sel.Name], word) {
				t.Errorf("%s: %s is never %s", files.Position(literal.Pos()), selector.Sel.Name, literal.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					check(n.X, n.Y)
				}
			case *ast.SwitchStmt:
				for _, clause := range n.Body.List {
					for _, value := range clause.(*ast.CaseClause).List {
						if n.Tag != nil {
							check(n.Tag, value)
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 40 {
		t.Errorf("only %d comparisons seen", seen)
	}
}

// mostNames is how many exported names a reader of go doc has to go through.
const mostNames = 110

func TestTheRootPackageHasFewNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	if len(names) > mostNames || len(names) < mostNames/2 {
		t.Errorf("%d exported names, at most %d fit: %s", len(names), mostNames, strings.Join(names, " "))
	}
}
