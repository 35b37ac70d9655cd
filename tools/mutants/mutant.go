package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A mutant is one change of one file.
type mutant struct {
	File   string `json:"file"` // relative to the module
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Kind   string `json:"kind"`
	Before string `json:"before"`
	After  string `json:"after"`

	path       string // of the file
	start, end int    // the bytes that After takes the place of
	text       string // what is put there: After, and what keeps the rest compiling
}

// A breeder makes the mutants of one file.
type breeder struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	path    string
	source  []byte
	mutants []mutant
	results []*types.Tuple // of the functions that the walk is in
	parent  ast.Node       // of the node that is visited
}

// breed returns the mutants of a package, in the order of their files and places.
func breed(p *packages.Package, read func(path string) ([]byte, error)) ([]mutant, error) {
	var all []mutant
	for i, file := range p.Syntax {
		path := p.CompiledGoFiles[i]
		if strings.HasSuffix(path, "_test.go") || ast.IsGenerated(file) {
			continue
		}
		source, err := read(path)
		if err != nil {
			return nil, err
		}
		b := &breeder{fset: p.Fset, info: p.TypesInfo, pkg: p.Types, path: path, source: source}
		b.walk(file)
		all = append(all, b.mutants...)
	}
	return all, nil
}

// walk visits the nodes of a tree and keeps track of the function that it is in.
func (b *breeder) walk(root ast.Node) {
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			if isFunction(stack[len(stack)-1]) {
				b.results = b.results[:len(b.results)-1]
			}
			stack = stack[:len(stack)-1]
			return true
		}
		if isConstant(n) || isCapacity(b.info, n) {
			return false
		}
		if len(stack) > 0 {
			b.parent = stack[len(stack)-1]
		}
		stack = append(stack, n)
		if isFunction(n) {
			b.results = append(b.results, b.resultsOf(n))
		}
		b.visit(n)
		return true
	})
}

func isFunction(n ast.Node) bool {
	switch n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return true
	}
	return false
}

func (b *breeder) resultsOf(n ast.Node) *types.Tuple {
	var t types.Type
	switch f := n.(type) {
	case *ast.FuncDecl:
		t = b.info.ObjectOf(f.Name).Type()
	case *ast.FuncLit:
		t = b.info.TypeOf(f)
	}
	if signature, ok := t.(*types.Signature); ok {
		return signature.Results()
	}
	return nil
}

// isConstant tells declarations that are no statements: they are of data.
func isConstant(n ast.Node) bool {
	decl, ok := n.(*ast.GenDecl)
	return ok && decl.Tok != token.VAR
}

// isCapacity tells calls of make: how much room something gets is no behaviour.
func isCapacity(info *types.Info, n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return false
	}
	builtin, ok := info.Uses[name].(*types.Builtin)
	return ok && builtin.Name() == "make"
}

// swaps are the operators that take the places of others.
var swaps = map[token.Token]struct {
	by   string
	kind string
}{
	token.LSS: {"<=", "move boundary"}, token.LEQ: {"<", "move boundary"},
	token.GTR: {">=", "move boundary"}, token.GEQ: {">", "move boundary"},
	token.EQL: {"!=", "negate comparison"}, token.NEQ: {"==", "negate comparison"},
	token.LAND: {"||", "swap logic"}, token.LOR: {"&&", "swap logic"},
	token.ADD: {"-", "swap arithmetic"}, token.SUB: {"+", "swap arithmetic"},
	token.MUL: {"/", "swap arithmetic"}, token.QUO: {"*", "swap arithmetic"}, token.REM: {"*", "swap arithmetic"},
	token.AND: {"|", "swap arithmetic"}, token.OR: {"&", "swap arithmetic"},
	token.SHL: {">>", "swap arithmetic"}, token.SHR: {"<<", "swap arithmetic"},
	token.ADD_ASSIGN: {"-=", "swap arithmetic"}, token.SUB_ASSIGN: {"+=", "swap arithmetic"},
	token.INC: {"--", "swap arithmetic"}, token.DEC: {"++", "swap arithmetic"},
}

func (b *breeder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if !(n.Op == token.ADD && isText(b.info.TypeOf(n))) {
			b.swap(n.Op, n.OpPos)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			b.replace("drop !", n, b.code(n.X))
		}
	case *ast.IfStmt:
		b.negate(n.Cond)
	case *ast.ForStmt:
		b.negate(n.Cond)
	case *ast.IncDecStmt:
		b.swap(n.Tok, n.TokPos)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return
		}
		if !isText(b.info.TypeOf(n.Lhs[0])) {
			b.swap(n.Tok, n.TokPos)
		}
		b.remove(n)
	case *ast.ExprStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
		b.remove(n)
	case *ast.ReturnStmt:
		b.zero(n)
	}
}

func isText(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// negate negates a condition, unless one of its parts alone says the same.
func (b *breeder) negate(cond ast.Expr) {
	switch c := cond.(type) {
	case nil:
		return
	case *ast.UnaryExpr:
		if c.Op == token.NOT {
			return
		}
	case *ast.BinaryExpr:
		if c.Op == token.EQL || c.Op == token.NEQ {
			return
		}
	}
	b.replace("negate condition", cond, "!("+b.code(cond)+")")
}

func (b *breeder) swap(op token.Token, at token.Pos) {
	if s, ok := swaps[op]; ok {
		b.add(s.kind, at, at+token.Pos(len(op.String())), s.by, s.by)
	}
}

// remove has a statement not carried out. It stays where it is, so that what it
// names is still used and the rest compiles.
func (b *breeder) remove(n ast.Node) {
	switch parent := b.parent.(type) {
	case *ast.BlockStmt, *ast.CaseClause:
	case *ast.CommClause:
		if parent.Comm == n {
			return
		}
	default: // the head of a loop, a condition or a choice
		return
	}
	switch n := n.(type) {
	case *ast.BranchStmt:
		if n.Tok != token.BREAK && n.Tok != token.CONTINUE {
			return
		}
	case *ast.AssignStmt:
		if b.code(n.Lhs[0]) == "_" && len(n.Lhs) == 1 {
			return
		}
	}
	b.add("remove statement", n.Pos(), n.End(), "", "if false { "+b.code(n)+" }")
}

func (b *breeder) replace(kind string, n ast.Node, after string) {
	b.add(kind, n.Pos(), n.End(), after, after)
}

func (b *breeder) code(n ast.Node) string {
	return string(b.source[b.fset.Position(n.Pos()).Offset:b.fset.Position(n.End()).Offset])
}

func (b *breeder) add(kind string, from, to token.Pos, after, text string) {
	start, end := b.fset.Position(from), b.fset.Position(to)
	b.mutants = append(b.mutants, mutant{
		Line: start.Line, Column: start.Column, Kind: kind,
		Before: string(b.source[start.Offset:end.Offset]), After: after,
		path: b.path, start: start.Offset, end: end.Offset, text: text,
	})
}

// isAt says whether it is at a place, FILE or FILE:LINE; all are at "".
func (m *mutant) isAt(place string) bool {
	return place == "" || place == m.File || place == fmt.Sprintf("%s:%d", m.File, m.Line)
}

// apply returns the file with the change in it.
func (m *mutant) apply(source []byte) []byte {
	return slices.Concat(source[:m.start], []byte(m.text), source[m.end:])
}
