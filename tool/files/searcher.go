package files

import (
	"context"
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe/workspace"
)

// A searcher is one search under way.
type searcher struct {
	view
	pattern *regexp.Regexp
	glob    *glob
	context int

	limit, bytes, dirs, room int  // what is left of each
	searched                 int  // files
	full                     bool // nothing more is looked at
	partial                  bool // something was not looked at
	out                      searchResult
}

// searchFrom searches a file, or a directory and all below it.
func (s *searcher) searchFrom(ctx context.Context, name string) error {
	loc, _, err := s.resolve(name)
	if err != nil {
		return err
	}
	entry, err := s.Stat(loc)
	switch {
	case err == nil:
		return s.searchFile(ctx, loc, path.Base(entry.Path))
	case errors.Is(err, workspace.ErrNotRegular):
		return s.searchDir(ctx, loc, "")
	}
	return err
}

// searchDir searches a directory. Its name relative to where the search began is
// below. Directories and files that are gone or closed by now are passed over.
func (s *searcher) searchDir(ctx context.Context, dir workspace.Location, below string) error {
	if s.dirs--; s.dirs < 0 {
		s.full = true
	}
	if s.full {
		return nil
	}
	listing, err := s.List(dir, 1)
	if err != nil {
		if below == "" {
			return err
		}
		return nil
	}
	s.partial = s.partial || listing.Truncated
	for _, entry := range listing.Entries {
		name := path.Join(below, entry.Path)
		if entry.IsLink || entry.IsDir && isSkipped(entry.Path) || !entry.IsDir && !s.glob.fits(name) {
			continue
		}
		loc, err := placed(s.Workspace, dir.Root(), path.Join(dir.Name(), entry.Path))
		if err != nil {
			continue
		}
		if entry.IsDir {
			err = s.searchDir(ctx, loc, name)
		} else {
			err = s.searchFile(ctx, loc, name)
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// isSkipped tells directories that hold what nobody wrote by hand.
func isSkipped(name string) bool { return name == ".git" || name == "node_modules" }

func (s *searcher) searchFile(ctx context.Context, loc workspace.Location, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.full {
		return nil
	}
	text, err := s.ReadFile(loc)
	if err != nil {
		return err
	}
	if s.bytes -= len(text); s.bytes < 0 {
		s.full = true
		return nil
	}
	if strings.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return nil // binary
	}
	s.searched++
	found := foundLines{Path: s.names.show(loc)}
	s.room -= encodedSize(found.Path) + entryOverhead
	s.collect(&found, text)
	if len(found.Lines) > 0 {
		s.out.Files = append(s.out.Files, found)
	}
	return nil
}

// collect adds the lines of a text that match, and those around them.
func (s *searcher) collect(found *foundLines, text string) {
	number, shown := 0, 0 // of the latest line, and of the latest that is shown
	after := 0            // how many lines after a match are still to be shown
	var before []string   // the latest lines, as many as are shown before a match
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		number++
		if !s.pattern.MatchString(line) {
			if after > 0 {
				after--
				shown = number
				s.show(found, numbered(number, '-', line))
			} else if s.context > 0 {
				before = append(before, line)
				before = before[max(0, len(before)-s.context):]
			}
			continue
		}
		if s.limit == 0 || s.room < 0 {
			s.full = true
			return
		}
		s.limit--
		first := number - len(before)
		if s.context > 0 && shown > 0 && first > shown+1 {
			s.show(found, "--")
		}
		for i, earlier := range before {
			s.show(found, numbered(first+i, '-', earlier))
		}
		s.show(found, s.matched(number, line))
		before, after, shown = before[:0], s.context, number
		s.out.Matches++
	}
}

func (s *searcher) show(found *foundLines, line string) {
	s.room -= encodedSize(line) + len(`"",`)
	found.Lines = append(found.Lines, line)
}

// matched shows a line that matches. Of a long one it is the part that does.
func (s *searcher) matched(number int, line string) string {
	if len(line) <= longestLine {
		return numbered(number, ':', line)
	}
	at := s.pattern.FindStringIndex(line)
	if at == nil || at[0] < longestLine/2 {
		return numbered(number, ':', line)
	}
	from := at[0] - longestLine/4
	return numbered(number, ':', "..."+line[from:])
}
