package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A feature is something that can be taken away.
type feature struct {
	name, what string
	file       string
	isRead     bool     // by tests, as a file
	old, new   []string // lines
	tests      map[string][]string
}

//go:embed features.txt
var list string

// readAll reads the list of features. Each begins with its name and what is taken away;
// the file follows, with "(read)" where tests read it as a file, then lines that go (-) and that come (+), and tests that must notice,
// after the directory of their package (=).
func readAll() (features []*feature, err error) {
	var f *feature
	for i, line := range strings.Split(list, "\n") {
		wrong := func(why string) error { return fmt.Errorf("features.txt:%d: %s: %q", i+1, why, line) }
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
			continue
		case f == nil && strings.ContainsRune("-+= ", rune(line[0])):
			return nil, wrong("nothing began here")
		case line[0] == '-':
			f.old = append(f.old, line[1:])
		case line[0] == '+':
			f.new = append(f.new, line[1:])
		case line[0] == '=':
			words := strings.Fields(line[1:])
			if len(words) < 2 {
				return nil, wrong("a package and its tests are missing")
			}
			f.tests[words[0]] = append(f.tests[words[0]], words[1:]...)
		case strings.HasPrefix(line, " "):
			f.file, f.isRead = strings.CutSuffix(strings.TrimSpace(line), " (read)")
		default:
			name, what, ok := strings.Cut(line, " ")
			if !ok {
				return nil, wrong("what is taken away is missing")
			}
			f = &feature{name: name, what: what, tests: map[string][]string{}}
			features = append(features, f)
		}
	}
	return features, nil
}

// edited returns the file of a feature without the feature.
func (f *feature) edited(root string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, f.file))
	if err != nil {
		return nil, err
	}
	old := []byte(strings.Join(f.old, "\n"))
	if n := bytes.Count(source, old); n != 1 || len(old) == 0 {
		return nil, fmt.Errorf("what goes stands %d times in %s, not once", n, f.file)
	}
	return bytes.Replace(source, old, []byte(strings.Join(f.new, "\n")), 1), nil
}

// attributed returns the tests that say which requirement they show, by requirement and
// package.
func attributed(root string) (map[string]map[string][]string, error) {
	shown := map[string]map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for _, id := range requirements(f) {
				if shown[id] == nil {
					shown[id] = map[string][]string{}
				}
				shown[id][filepath.ToSlash(pkg)] = append(shown[id][filepath.ToSlash(pkg)], f.Name.Name)
			}
		}
		return nil
	})
	return shown, err
}

// requirements returns those that a test says it shows: t.Attr("FR", "FR-001, FR-002").
func requirements(f *ast.FuncDecl) (ids []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		selector, isMethod := call.Fun.(*ast.SelectorExpr)
		key, isKey := call.Args[0].(*ast.BasicLit)
		value, isValue := call.Args[1].(*ast.BasicLit)
		if isMethod && isKey && isValue && selector.Sel.Name == "Attr" && key.Value == `"FR"` {
			text, _ := strconv.Unquote(value.Value)
			ids = append(ids, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		return true
	})
	return ids
}
