package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/edit"
)

type listRequest struct {
	Path  string `json:"path,omitempty" jsonschema:"directory; the root by default"`
	Glob  string `json:"glob,omitempty" jsonschema:"pattern of paths or names, such as *.go or src/**"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many directories deep; 3 by default"`
}

const maxEntries = 500

func (s *set) list(ctx context.Context, call *troupe.Invocation, in listRequest) (string, error) {
	view, err := s.Open(ctx, call.Run.Session())
	if err != nil {
		return "", err
	}
	if in.Depth <= 0 {
		in.Depth = 3
	}
	dir := clean(in.Path)
	var b strings.Builder
	shown, more, deeper := 0, 0, map[string]int{}
	for _, p := range below(view.Paths(), dir) {
		rest := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
		if in.Glob != "" && !edit.MatchPath(in.Glob, p) && !edit.MatchPath(in.Glob, rest) {
			continue
		}
		if parts := strings.Split(rest, "/"); in.Glob == "" && len(parts) > in.Depth {
			deeper[path.Join(dir, path.Join(parts[:in.Depth]...))]++
			continue
		}
		if shown++; shown > maxEntries {
			more++
			continue
		}
		fmt.Fprintf(&b, "%s  %d bytes\n", p, view.Size(p))
	}
	dirs := make([]string, 0, len(deeper))
	for d := range deeper {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	for i, d := range dirs {
		if i == 100 {
			fmt.Fprintf(&b, "and %d more directories\n", len(dirs)-i)
			break
		}
		fmt.Fprintf(&b, "%s/  %d files\n", d, deeper[d])
	}
	if more > 0 {
		fmt.Fprintf(&b, "and %d more files; name a path or a glob\n", more)
	}
	if b.Len() == 0 {
		return "", notFound(view, dir)
	}
	return cut(b.String()), nil
}

func clean(name string) string {
	if name = path.Clean("/" + name)[1:]; name == "." {
		return ""
	}
	return name
}

func below(paths []string, dir string) []string {
	if dir == "" {
		return paths
	}
	var list []string
	for _, p := range paths {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			list = append(list, p)
		}
	}
	return list
}

func notFound(view View, name string) error {
	message := fmt.Sprintf("there is nothing at %q", name)
	if near := edit.Nearest(view.Paths(), name); len(near) > 0 {
		message += "; nearest: " + strings.Join(near, ", ")
	}
	return &troupe.ToolError{Class: "failed", Message: message}
}

type searchRequest struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression (RE2)"`
	Path       string `json:"path,omitempty" jsonschema:"file or directory; everything by default"`
	Glob       string `json:"glob,omitempty" jsonschema:"pattern of paths or names, such as *.go"`
	Context    int    `json:"context,omitempty" jsonschema:"lines around each match, 0 to 5"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
}

const maxMatches = 100

func (s *set) search(ctx context.Context, call *troupe.Invocation, in searchRequest) (string, error) {
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", &troupe.ToolError{Class: "invalid_arguments", Message: err.Error()}
	}
	view, err := s.Open(ctx, call.Run.Session())
	if err != nil {
		return "", err
	}
	paths := slices.DeleteFunc(slices.Clone(below(view.Paths(), clean(in.Path))), func(p string) bool { return in.Glob != "" && !edit.MatchPath(in.Glob, p) })
	if err := view.Load(paths); err != nil {
		return "", err
	}
	var b strings.Builder
	matches, rest, around := 0, []string{}, min(max(in.Context, 0), 5)
	for _, p := range paths {
		content, ok, err := view.Read(p)
		if err != nil || !ok || !edit.IsText(content) {
			continue
		}
		lines, here := strings.Split(content, "\n"), 0
		for i, line := range lines {
			if !re.MatchString(line) || line == "" && i == len(lines)-1 {
				continue
			}
			here++
			if matches++; matches > maxMatches {
				continue
			}
			for j := max(i-around, 0); j <= min(i+around, len(lines)-1); j++ {
				mark := ":"
				if j != i {
					mark = "-"
				}
				fmt.Fprintf(&b, "%s:%d%s %s\n", p, j+1, mark, clip(lines[j], 300))
			}
			if around > 0 {
				b.WriteString("--\n")
			}
		}
		if here > 0 && matches > maxMatches && len(rest) < 50 {
			rest = append(rest, fmt.Sprintf("%s: %d", p, here))
		}
	}
	if matches == 0 {
		return "no matches in " + fmt.Sprint(len(paths)) + " files", nil
	}
	if len(rest) > 0 {
		fmt.Fprintf(&b, "%d matches in all. By file: %s\n", matches, strings.Join(rest, ", "))
	}
	return cut(b.String()), nil
}

type readRequest struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty" jsonschema:"line to begin with; 1 by default"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines; 400 by default, 2000 at most"`
}

func (s *set) read(ctx context.Context, call *troupe.Invocation, in readRequest) (string, error) {
	view, err := s.Open(ctx, call.Run.Session())
	if err != nil {
		return "", err
	}
	name := clean(in.Path)
	content, ok, err := view.Read(name)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", notFound(view, name)
	case !edit.IsText(content):
		return name + " is binary", nil
	}
	text, whole := Numbered(name, content, in.Offset, in.Limit)
	if whole && s.Shown != nil {
		if err := s.Shown(call.Run.Session(), call.Run.ID(), name, content); err != nil {
			return "", err
		}
	}
	return text, nil
}

// Numbered shows a part of a file with its line numbers, and says whether it was all.
func Numbered(name, content string, offset, limit int) (text string, whole bool) {
	if offset < 1 {
		offset = 1
	}
	if limit <= 0 {
		limit = 400
	}
	limit = min(limit, 2000)
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	sum := sha256.Sum256([]byte(content))
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d lines, %s\n", name, len(lines), hex.EncodeToString(sum[:6]))
	whole = offset == 1
	i := offset - 1
	for ; i < len(lines) && i < offset-1+limit; i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		if len(line) > maxLine {
			whole = false
		}
		if b.Len()+min(len(line), maxLine) > maxBytes {
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, clip(line, maxLine))
	}
	if i < len(lines) {
		whole = false
		fmt.Fprintf(&b, "[goes on at line %d]\n", i+1)
	} else if len(lines) > 0 && !strings.HasSuffix(content, "\n") {
		b.WriteString("[no newline at the end]\n")
	}
	return b.String(), whole
}

type diffRequest struct {
	Path string `json:"path,omitempty"`
	Step string `json:"step,omitempty" jsonschema:"id of a step of the plan; everything since the base by default"`
}

func (s *set) diff(ctx context.Context, call *troupe.Invocation, in diffRequest) (string, error) {
	text, err := s.Diff(ctx, call.Run.Session(), in.Path, in.Step)
	if err == nil && text == "" {
		text = "nothing was changed"
	}
	return cut(text), err
}

type outputRequest struct {
	Check  string `json:"check"`
	Offset int    `json:"offset,omitempty" jsonschema:"line to begin with; 1 by default"`
}

func (s *set) output(ctx context.Context, call *troupe.Invocation, in outputRequest) (string, error) {
	text, err := s.Output(ctx, call.Run.Session(), in.Check)
	if err != nil {
		return "", err
	}
	page, _ := Numbered("output of "+in.Check, text, in.Offset, 200)
	return page, nil
}

type documentRequest struct {
	Phase string `json:"phase"`
}

func (s *set) document(ctx context.Context, call *troupe.Invocation, in documentRequest) (string, error) {
	text, err := s.Document(ctx, call.Run.Session(), in.Phase)
	return cut(text), err
}
