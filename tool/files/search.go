package files

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"

	"github.com/troupe-dev/troupe"
)

//go:embed search.md
var searchDescription string

// Search returns the tool search_files, which finds lines by a regular expression.
// The time it takes is linear in the size of the files.
func Search(find Finder) troupe.Tool { return searchAt(ofSession(find)) }

func searchAt(at place) troupe.Tool {
	return newTool("search_files", described(searchDescription, at.names.listing()), at, search, troupe.ReadOnly())
}

type searchRequest struct {
	Pattern    string `json:"pattern" jsonschema:"the regular expression"`
	Path       string `json:"path,omitempty" jsonschema:"the directory or file to search"`
	Glob       string `json:"glob,omitempty" jsonschema:"which files to search, such as *.go or docs/**/*.md; all by default"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Context    int    `json:"context,omitempty" jsonschema:"how many lines to show before and after each match; 0 by default, 20 at most"`
	Limit      int    `json:"limit,omitempty" jsonschema:"how many matching lines to show; 100 by default, 1000 at most"`
}

func (r searchRequest) asked() string { return r.Path }

type searchResult struct {
	Success bool         `json:"success"`
	Matches int          `json:"matches" jsonschema:"how many matching lines are shown"`
	Files   []foundLines `json:"files"`
	// Truncated says that there may be more matches than are shown.
	Truncated bool   `json:"truncated,omitempty"`
	Note      string `json:"note,omitempty"`
}

type foundLines struct {
	Path  string   `json:"path"`
	Lines []string `json:"lines"`
}

const (
	mostContext  = 20
	mostMatches  = 1000
	longestRegex = 1000
	// mostBytes and mostDirs bound how much one call reads.
	mostBytes = 64 << 20
	mostDirs  = 10_000
)

// A badPattern is a regular expression or a glob that is none.
type badPattern struct {
	field string
	err   error
}

func (e *badPattern) Error() string { return e.field + ": " + e.err.Error() }
func (e *badPattern) Unwrap() error { return e.err }

func search(ctx context.Context, v view, _ *troupe.Run, in searchRequest) (searchResult, error) {
	s, err := newSearcher(v, in)
	if err != nil {
		return searchResult{}, err
	}
	for _, top := range v.names.tops(in.Path) {
		if err := s.searchFrom(ctx, top); err != nil {
			return searchResult{}, err
		}
	}
	s.out.Truncated = s.full || s.partial
	switch {
	case s.out.Truncated:
		s.out.Note = "there may be more than is shown; search a narrower path, glob or pattern"
	case s.out.Matches == 0 && s.searched == 0:
		s.out.Note = "there was no text file to search"
	case s.out.Matches == 0:
		s.out.Note = fmt.Sprintf("no line matches in %d files", s.searched)
	}
	return s.out, nil
}

func newSearcher(v view, in searchRequest) (*searcher, error) {
	if len(in.Pattern) > longestRegex || len(in.Glob) > longestRegex {
		return nil, &badPattern{"pattern and glob", fmt.Errorf("at most %d bytes each", longestRegex)}
	}
	expression := in.Pattern
	if in.IgnoreCase {
		expression = "(?i)" + expression
	}
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return nil, &badPattern{"pattern", err}
	}
	glob, err := newGlob(in.Glob)
	if err != nil {
		return nil, &badPattern{"glob", err}
	}
	s := &searcher{
		view: v, pattern: pattern, glob: glob, context: min(max(in.Context, 0), mostContext),
		limit: mostMatches, bytes: mostBytes, dirs: mostDirs, room: room,
		out: searchResult{Success: true, Files: []foundLines{}},
	}
	if in.Limit <= 0 {
		s.limit = 100
	} else if in.Limit < mostMatches {
		s.limit = in.Limit
	}
	return s, nil
}
