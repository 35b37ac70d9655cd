package pipeline

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/tool/repo"
)

// A profile is what agents are told of a repository before they look at it.
type profile struct {
	Files     int            `json:"files"`
	Languages map[string]int `json:"languages,omitempty"`
	Checks    []string       `json:"checks,omitempty"`
	Readme    string         `json:"readme,omitempty"`
	Guides    string         `json:"guides,omitempty"`
	Outline   string         `json:"outline,omitempty"`
}

// profile describes a tree.
func (o *openSite) profile(ctx context.Context, id string) (profile, error) {
	view, err := o.view(ctx, id)
	if err != nil {
		return profile{}, err
	}
	p := profile{Files: len(view.Paths()), Languages: map[string]int{}}
	for _, c := range o.Checks {
		p.Checks = append(p.Checks, c.Name+": "+c.Command())
	}
	const most = 8 << 10
	for _, name := range view.Paths() {
		if ext := strings.TrimPrefix(filepath.Ext(name), "."); ext != "" && len(ext) < 8 {
			p.Languages[ext]++
		}
		switch lower := strings.ToLower(name); {
		case strings.HasPrefix(lower, "readme") && p.Readme == "":
			p.Readme = view.beginning(name, most)
		case lower == "agents.md" || lower == "claude.md" || lower == "contributing.md":
			p.Guides += view.beginning(name, most-len(p.Guides))
		}
	}
	if len(p.Languages) > 12 {
		for ext, n := range p.Languages {
			if n < 3 {
				delete(p.Languages, ext)
			}
		}
	}
	p.Outline, err = repo.Outline(view, view.Paths(), 200, most)
	return p, err
}

// A view is what agents may see of a tree: no keys, and nothing binary is read.
type view struct {
	tree  *git.Tree
	paths []string
}

func (o *openSite) view(ctx context.Context, id string) (*view, error) {
	tree, err := o.worktree.Tree(ctx, id)
	if err != nil {
		return nil, err
	}
	v := &view{tree: tree}
	for _, p := range tree.Paths() {
		if !edit.IsSecret(p) && tree.Mode(p) != "160000" {
			v.paths = append(v.paths, p)
		}
	}
	return v, nil
}

func (v *view) Paths() []string           { return v.paths }
func (v *view) Size(path string) int64    { return v.tree.Size(path) }
func (v *view) Load(paths []string) error { return v.tree.Load(paths, edit.MaxFile) }

func (v *view) Read(path string) (string, bool, error) {
	if _, known := slices.BinarySearch(v.paths, path); !known && !slices.Contains(v.paths, path) {
		return "", false, nil
	}
	f, ok, err := v.tree.File(path)
	return f.Content, ok, err
}

func (v *view) beginning(path string, n int) string {
	content, ok, err := v.Read(path)
	if err != nil || !ok || n <= 0 || !edit.IsText(content) {
		return ""
	}
	return strings.ToValidUTF8(content[:min(len(content), n)], "")
}
