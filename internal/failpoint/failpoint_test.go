package failpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// A point that is missing from the list is one that nobody is killed at.
func TestTheListHasEveryPointOnce(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "points.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []failpoint.Point
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		declared = append(declared, failpoint.Point(name))
		return true
	})
	if !slices.Equal(declared, failpoint.Points()) || len(declared) == 0 {
		t.Errorf("declared are %v, listed are %v", declared, failpoint.Points())
	}
	slices.Sort(declared)
	if len(slices.Compact(declared)) != len(failpoint.Points()) {
		t.Errorf("two have the same name: %v", declared)
	}
}
