package skill

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"

	"github.com/troupe-dev/troupe"
)

//go:embed use.md
var useDescription string

//go:embed search.md
var searchDescription string

// Tools returns use_skill and search_skills. Both only read, so both are safe to
// repeat. A failure is {success: false, error}, with the names that may have been
// meant as suggestions.
func Tools(l *Library) []troupe.Tool {
	return []troupe.Tool{
		troupe.NewTool("use_skill", strings.TrimSpace(useDescription), l.use, troupe.ReadOnly()),
		troupe.NewTool("search_skills", strings.TrimSpace(searchDescription), l.search, troupe.ReadOnly()),
	}
}

type useRequest struct {
	Name string `json:"name" jsonschema:"the skill's name"`
}

type useResult struct {
	Success     bool     `json:"success"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Version     string   `json:"version" jsonschema:"SHA-256 of the skill's file"`
	Content     string   `json:"content"`
	Requires    []string `json:"requires,omitempty" jsonschema:"skills to load as well"`
	Folder      string   `json:"folder,omitempty"`
	Resources   []string `json:"resources" jsonschema:"further files of the skill, for read_file"`
}

func (l *Library) use(ctx context.Context, in useRequest) (useResult, error) {
	doc, err := l.Load(ctx, strings.TrimSpace(in.Name))
	if err != nil {
		return useResult{}, l.failure(err, in.Name)
	}
	return useResult{true, doc.Name, doc.Description, doc.Version, doc.Content, doc.Requires, doc.Folder, doc.Resources}, nil
}

type failed struct {
	Success     bool     `json:"success"`
	Error       string   `json:"error"`
	Suggestions []string `json:"suggestions,omitempty"`
}

// failure tells the model what went wrong, and what it may have meant.
func (l *Library) failure(err error, name string) error {
	told := failed{Error: err.Error()}
	if errors.Is(err, ErrNotFound) {
		told.Suggestions = l.near(strings.TrimSpace(name))
		if told.Suggestions == nil {
			told.Error += "; search_skills finds what there is"
		}
	}
	content, encodeErr := json.Marshal(told)
	return &troupe.ToolError{Class: "failed", Err: errors.Join(err, encodeErr), Content: string(content)}
}

// maxHits is how many skills one search tells of.
const maxHits = 30

type searchRequest struct {
	Query    string `json:"query,omitempty" jsonschema:"words that say what the skill is about"`
	Category string `json:"category,omitempty" jsonschema:"a category, such as testing"`
}

type searchResult struct {
	Success bool  `json:"success"`
	Skills  []hit `json:"skills"`
	Total   int   `json:"total" jsonschema:"how many fit, listed or not"`
	// Categories are told when nothing fits.
	Categories []string `json:"categories,omitempty"`
}

type hit struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Category    string `json:"category,omitempty"`
}

func (l *Library) search(_ context.Context, in searchRequest) (searchResult, error) {
	found := l.Search(in.Query, in.Category)
	out := searchResult{Success: true, Skills: []hit{}, Total: len(found)}
	for _, s := range found[:min(maxHits, len(found))] {
		out.Skills = append(out.Skills, hit{s.Name, s.Description, s.Category})
	}
	if len(found) == 0 {
		out.Categories = l.Categories()
	}
	return out, nil
}
