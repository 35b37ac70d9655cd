package main

import (
	"go/ast"
	"go/types"
	"strings"
)

// zero has a return give zero values. What it would have returned is still worked
// out, so that what it names is used and its effects are there.
func (b *breeder) zero(n *ast.ReturnStmt) {
	if len(b.results) == 0 {
		return
	}
	results := b.results[len(b.results)-1]
	if results.Len() == 0 || len(n.Results) == 0 {
		b.remove(n)
		return
	}
	values := make([]string, results.Len())
	for i := range values {
		values[i] = b.zeroOf(results.At(i).Type())
	}
	after := "return " + strings.Join(values, ", ")
	if b.isZero(n, values) {
		return
	}
	b.add("return zero", n.Pos(), n.End(), after, "{ "+b.evaluated(n, results.Len())+after+" }")
}

// isZero says whether a return gives zero values as it is.
func (b *breeder) isZero(n *ast.ReturnStmt, values []string) bool {
	if len(n.Results) != len(values) {
		return false
	}
	for i, result := range n.Results {
		if code := b.code(result); code != values[i] && !(values[i] == "0" && code == "0") && !isEmptyLiteral(result) {
			return false
		}
	}
	return true
}

func isEmptyLiteral(e ast.Expr) bool {
	literal, ok := e.(*ast.CompositeLit)
	return ok && len(literal.Elts) == 0
}

// evaluated works out what a return would give and throws it away.
func (b *breeder) evaluated(n *ast.ReturnStmt, count int) string {
	if len(n.Results) != count { // one call that gives them all
		return strings.Repeat("_, ", count-1) + "_ = " + b.code(n.Results[0]) + "; "
	}
	var text strings.Builder
	for _, result := range n.Results {
		if b.info.Types[result].IsNil() || b.info.Types[result].Value != nil {
			continue
		}
		text.WriteString("_ = " + b.code(result) + "; ")
	}
	return text.String()
}

// zeroOf is the zero value of a type as an expression.
func (b *breeder) zeroOf(t types.Type) string {
	if _, ok := t.(*types.TypeParam); !ok {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			switch info := u.Info(); {
			case info&types.IsBoolean != 0:
				return "false"
			case info&types.IsString != 0:
				return `""`
			case info&types.IsNumeric != 0:
				return "0"
			}
		case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
			return "nil"
		}
	}
	return "*new(" + types.TypeString(t, b.qualify) + ")"
}

func (b *breeder) qualify(p *types.Package) string {
	if p == b.pkg {
		return ""
	}
	return p.Name()
}
