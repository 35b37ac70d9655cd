package repo

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/edit"
)

type outlineRequest struct {
	Path string `json:"path,omitempty" jsonschema:"file or directory; the root by default"`
}

const maxDefinitions = 200

func (s *set) outline(ctx context.Context, call *troupe.Invocation, in outlineRequest) (string, error) {
	view, err := s.Open(ctx, call.Run.Session())
	if err != nil {
		return "", err
	}
	paths := below(view.Paths(), clean(in.Path))
	if len(paths) == 0 {
		return "", notFound(view, clean(in.Path))
	}
	text, err := Outline(view, paths, maxDefinitions, maxBytes)
	if err == nil && text == "" {
		text = "no definitions were recognised"
	}
	return text, err
}

// Outline lists the definitions of files, up to a number and a size.
func Outline(view View, paths []string, limit, size int) (string, error) {
	if err := view.Load(paths[:min(len(paths), 2000)]); err != nil {
		return "", err
	}
	var b strings.Builder
	n := 0
	for _, p := range paths[:min(len(paths), 2000)] {
		content, ok, err := view.Read(p)
		if err != nil || !ok || len(content) > 1<<20 || !edit.IsText(content) {
			continue
		}
		for _, d := range definitions(p, content) {
			if n++; n > limit || b.Len() > size {
				fmt.Fprintf(&b, "[more than %d definitions; name a path]\n", limit)
				return b.String(), nil
			}
			b.WriteString(d + "\n")
		}
	}
	return b.String(), nil
}

func definitions(name, content string) []string {
	if path.Ext(name) == ".go" {
		return goDefinitions(name, content)
	}
	pattern := patterns[strings.TrimPrefix(path.Ext(name), ".")]
	if pattern == nil {
		return nil
	}
	var list []string
	for i, line := range strings.Split(content, "\n") {
		if pattern.MatchString(line) {
			list = append(list, fmt.Sprintf("%s:%d: %s", name, i+1, clip(strings.TrimSpace(line), 160)))
		}
	}
	return list
}

var (
	script   = regexp.MustCompile(`^\s*(export\s+)?(default\s+)?(async\s+)?(function\b|class\b|interface\b|type\s+\w+\s*=|enum\b|(const|let|var)\s+\w+\s*=\s*(async\s*)?(\(|function|\w+\s*=>))|^\s{2,4}(async\s+|static\s+|get\s+|set\s+)*\w+\([^)]*\)\s*\{\s*$`)
	curly    = regexp.MustCompile(`^\s*((public|private|protected|internal|static|final|abstract|override|sealed|async|virtual)\s+)*(class|interface|enum|record|struct|fun|func|namespace|trait|object)\s+\w+|^\s*(public|private|protected)\s[^=;]*\(`)
	patterns = map[string]*regexp.Regexp{
		"js": script, "mjs": script, "cjs": script, "ts": script, "tsx": script, "jsx": script,
		"py": regexp.MustCompile(`^\s*(async\s+)?(def|class)\s+\w+`), "rb": regexp.MustCompile(`^\s*(def|class|module)\s+\S+`),
		"rs":   regexp.MustCompile(`^\s*(pub(\([^)]*\))?\s+)?(async\s+|unsafe\s+)*(fn|struct|enum|trait|impl|mod|type|const|static)\b`),
		"java": curly, "kt": curly, "cs": curly, "swift": curly, "scala": curly, "php": regexp.MustCompile(`^\s*((public|private|protected|static|abstract|final)\s+)*(function|class|interface|trait)\s+\w+`),
		"c": regexp.MustCompile(`^[A-Za-z_][\w\s\*]*\([^;]*\)\s*\{?\s*$|^(struct|enum|union|typedef)\b`), "h": regexp.MustCompile(`^(struct|enum|union|typedef|class)\b|^[A-Za-z_][\w\s\*]*\(.*\);`),
		"sh": regexp.MustCompile(`^\s*(function\s+)?\w+\s*\(\)`), "md": regexp.MustCompile(`^#{1,3} `), "sql": regexp.MustCompile(`(?i)^\s*create\s+`), "proto": regexp.MustCompile(`^\s*(message|service|rpc|enum)\s+\w+`),
	}
)

func goDefinitions(name, content string) []string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, content, parser.SkipObjectResolution)
	if file == nil {
		return []string{fmt.Sprintf("%s: %v", name, err)}
	}
	var list []string
	add := func(at token.Pos, text string) {
		list = append(list, fmt.Sprintf("%s:%d: %s", name, set.Position(at).Line, text))
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			receiver := ""
			if d.Recv != nil && len(d.Recv.List) > 0 {
				receiver = "(" + source(set, content, d.Recv.List[0].Type.Pos(), d.Recv.List[0].Type.End()) + ") "
			}
			add(d.Pos(), "func "+receiver+d.Name.Name+source(set, content, d.Type.Params.Pos(), d.Type.End()))
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Pos(), "type "+s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name != "_" {
							add(n.Pos(), d.Tok.String()+" "+n.Name)
						}
					}
				}
			}
		}
	}
	return list
}

// source is a part of the file in one line.
func source(set *token.FileSet, content string, begin, end token.Pos) string {
	from, to := set.Position(begin).Offset, set.Position(end).Offset
	if from < 0 || to > len(content) || from > to {
		return ""
	}
	return clip(strings.Join(strings.Fields(content[from:to]), " "), 160)
}
