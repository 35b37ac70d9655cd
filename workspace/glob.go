package workspace

import (
	"path"
	"regexp"
	"strings"
)

// maxMatches bounds what a pattern matches.
const maxMatches = 1000

// Glob returns the files that a pattern matches, in order of their names: * is any part
// of an element, ? a character and ** any number of directories.
// Variables are filled in before. A pattern that is in a plain directory, docs/*.md, is
// looked for where Resolve looks for that directory.
func (w *Workspace) Glob(pattern string) ([]Location, error) {
	r, rel, err := w.split(pattern)
	if err != nil {
		return nil, err
	}
	fixed, rest := cutPattern(path.Clean(strings.TrimPrefix(rel, "/")))
	base := fixed
	if r != nil {
		base = "{" + r.Name + "}/" + fixed
	}
	dir, err := w.Resolve(base)
	if err != nil {
		return nil, err
	}
	if rest == "" {
		if _, err := w.Stat(dir); err != nil {
			return nil, err
		}
		return []Location{dir}, nil
	}
	matcher, err := regexp.Compile(globExpression(rest))
	if err != nil {
		return nil, &Error{Op: "list", Path: pattern, Err: ErrBadName, Reason: "it is no pattern"}
	}
	depth := 1 + strings.Count(rest, "/")
	if strings.Contains(rest, "**") {
		depth = w.limits.Depth
	}
	list, err := w.List(dir, depth)
	if err != nil {
		return nil, err
	}
	var found []Location
	for _, e := range list.Entries {
		if e.IsDir || !matcher.MatchString(e.Path) || len(found) == maxMatches {
			continue
		}
		loc, err := w.reading(Location{dir.root, path.Join(dir.name, e.Path)}, nil)
		if err == nil {
			found = append(found, loc)
		}
	}
	return found, nil
}

// IsPattern says whether a name has wildcards.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?") }

// cutPattern cuts a pattern before the first element with a wildcard.
func cutPattern(pattern string) (fixed, rest string) {
	elements := strings.Split(pattern, "/")
	for i, element := range elements {
		if strings.ContainsAny(element, "*?") {
			fixed = strings.Join(elements[:i], "/")
			if fixed == "" {
				fixed = "."
			}
			return fixed, strings.Join(elements[i:], "/")
		}
	}
	return pattern, ""
}

// globExpression returns the regular expression of a pattern.
func globExpression(pattern string) string {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:[^/]+/)*")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString("$")
	return b.String()
}
