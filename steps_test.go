package troupe_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// worldly are packages that a step has no business with: it touches the world
// only through its Run.
var worldly = []string{"os", "os/exec", "net", "net/http", "io/fs", "math/rand", "math/rand/v2", "crypto/rand", "database/sql", "syscall"}

// clocks are what a step must not ask for the time, or wait with.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// TestStepsTouchTheWorldOnlyThroughTheirRun is law 8: it looks at every file that
// has a step in it.
func TestStepsTouchTheWorldOnlyThroughTheirRun(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || path == "bench" || path == "tools" || path == "examples") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		hasStep, found := examine(t, path)
		if hasStep {
			checked++
			for _, f := range found {
				t.Error(f)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 7 {
		t.Errorf("only %d files with steps were found", checked)
	}
}

func TestTheCheckOfStepsFindsWhatItIsFor(t *testing.T) {
	hasStep, found := examine(t, "testdata/steps/worldly.go")
	if !hasStep {
		t.Fatal("it does not see the step")
	}
	for _, want := range []string{"a go statement", "a channel", "select", "a send", "imports os", "imports math/rand/v2", "time.Now", "time.Sleep"} {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasSuffix(f, want) }) {
			t.Errorf("it does not find %s: %q", want, found)
		}
	}
}

// examine says whether a file has a step in it, and what in it no step may do.
func examine(t *testing.T, path string) (hasStep bool, found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	find := func(node ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s", files.Position(node.Pos()), what))
	}
	for _, imported := range file.Imports {
		if name := strings.Trim(imported.Path.Value, `"`); slices.Contains(worldly, name) {
			find(imported, "imports "+name)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			hasStep = hasStep || n.Recv != nil && isStep(n.Type)
		case *ast.FuncLit:
			hasStep = hasStep || isStep(n.Type)
		case *ast.GoStmt:
			find(n, "a go statement")
		case *ast.ChanType:
			find(n, "a channel")
		case *ast.SelectStmt:
			find(n, "select")
		case *ast.SendStmt:
			find(n, "a send")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				find(n, "time."+n.Sel.Name)
			}
		}
		return true
	})
	return hasStep, found
}

// isStep reports whether a function has the signature of Step.Do.
func isStep(f *ast.FuncType) bool {
	var types []string
	for _, p := range f.Params.List {
		for range max(len(p.Names), 1) {
			types = append(types, strings.ReplaceAll(exprText(p.Type), "troupe.", ""))
		}
	}
	return slices.Equal(types, []string{"context.Context", "*Run", "Handoff"})
}

func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + exprText(e.X)
	case *ast.SelectorExpr:
		return exprText(e.X) + "." + e.Sel.Name
	}
	return "?"
}
