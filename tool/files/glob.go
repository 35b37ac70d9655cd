package files

import (
	"errors"
	"path"
	"regexp"
	"strings"
)

// A glob chooses files by their names. Nil chooses all.
type glob struct {
	pattern *regexp.Regexp
	ofPath  bool // it is about paths, not only their last elements
}

// newGlob reads a glob: * and ? stand for characters of one element, ** for any
// elements, [a-z] for one character of a set, {a,b} for either.
func newGlob(text string) (*glob, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "./")
	if text == "" {
		return nil, nil
	}
	expression, err := globExpression(text)
	if err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return nil, errors.New("not a glob: " + text)
	}
	return &glob{pattern, strings.Contains(text, "/")}, nil
}

func (g *glob) fits(name string) bool {
	switch {
	case g == nil:
		return true
	case !g.ofPath:
		name = path.Base(name)
	}
	return g.pattern.MatchString(name)
}

// globExpression returns the regular expression that means what a glob does.
func globExpression(text string) (string, error) {
	var b strings.Builder
	b.WriteString(`^(?:`)
	open := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case strings.HasPrefix(text[i:], "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			set, err := globSet(text[i:])
			if err != nil {
				return "", err
			}
			b.WriteString(strings.Replace(set, "[!", "[^", 1))
			i += len(set) - 1
		case c == '{':
			open++
			b.WriteString(`(?:`)
		case c == '}' && open > 0:
			open--
			b.WriteString(`)`)
		case c == ',' && open > 0:
			b.WriteString(`|`)
		default:
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
		}
	}
	if open > 0 {
		return "", errors.New("a { is not closed")
	}
	b.WriteString(`)$`)
	return b.String(), nil
}

// globSet returns the set that text begins with, brackets included.
func globSet(text string) (string, error) {
	end := strings.IndexByte(text, ']')
	if end < 0 {
		return "", errors.New("a [ is not closed")
	}
	return text[:end+1], nil
}
