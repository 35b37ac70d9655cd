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
	"Stop": {"answered", "input_requested", "handed_off", "decided", "turns", "tool_calls", "tokens", "cost", "time",
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
