package skill

import (
	"errors"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/markup"
)

// Lint reads all skills, bodies too, and returns what is wrong with them, in order
// of file and line: the findings of the headers, tools that are not among tools,
// skills and files that are named and not there, and skills that require each
// other in a circle. Without tools, those that skills ask for are not checked.
func (l *Library) Lint(tools []string) []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	lint := linter{library: l, tools: tools, needs: make(map[string][]need), found: slices.Clone(l.findings)}
	for _, p := range l.places() {
		if e := l.entries[p]; e.header != nil {
			lint.skill(e)
		}
	}
	lint.cycles()
	sortFindings(lint.found)
	return slices.Compact(lint.found)
}

// A linter collects what it finds in the skills of a library.
type linter struct {
	library *Library
	tools   []string
	needs   map[string][]need // by skill
	found   []Finding
}

func (l *linter) skill(e *entry) {
	file := l.library.shown(e.place)
	for _, tool := range e.header.allowed {
		name, _, _ := strings.Cut(tool.name, "(")
		if len(l.tools) > 0 && !slices.Contains(l.tools, name) {
			l.found = append(l.found, warning(CodeTool, file, tool.line, "there is no tool %s; agents have %s", name, strings.Join(l.tools, ", ")))
		}
	}
	for _, other := range e.header.requires {
		l.need(e, need{mention: other, declared: true})
	}
	if err := l.body(e); err != nil {
		l.found = append(l.found, problem(CodeUnreadable, file, 1, "the skill cannot be loaded: %v", causeOf(err)))
	}
}

// need notes that a skill needs another, which must be there.
func (l *linter) need(e *entry, n need) {
	n.file = l.library.shown(e.place)
	if l.library.byName[n.name] != nil {
		l.needs[e.skill.Name] = append(l.needs[e.skill.Name], n)
		return
	}
	finding := warning(CodeNoSkill, n.file, n.line, "there is no skill %s; add it, or correct the name", n.name)
	if n.declared {
		finding.Severity = Error
	}
	l.found = append(l.found, finding)
}

var (
	// skillInText is how skills refer to each other.
	skillInText = regexp.MustCompile(`\bskill:([a-z0-9]+(?:-[a-z0-9]+)*)\b`)
	// fileInText is a link to a file, or one in backticks that lies where the files
	// of skills do.
	fileInText = regexp.MustCompile("\\]\\(([^()\\s:#?]+\\.\\w{1,5})[)#]|`((?:\\./|\\{skill-root\\}/)?(?:references?|scripts|assets|templates)/[\\w./-]+\\.\\w{1,5})`")
)

// body looks for the skills and files that the text of a skill names.
func (l *linter) body(e *entry) error {
	dir, err := os.OpenRoot(l.library.roots[e.root].dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	content, _, err := readWhole(dir, e.name)
	if err != nil {
		return err
	}
	for line, text := range unfenced(content) {
		if line < e.header.line {
			continue
		}
		for _, m := range skillInText.FindAllStringSubmatch(text, -1) {
			if m[1] != e.skill.Name {
				l.need(e, need{mention: mention{m[1], line}})
			}
		}
		for _, m := range fileInText.FindAllStringSubmatch(text, -1) {
			l.reference(e, dir, m[1]+m[2], line)
		}
	}
	return nil
}

// reference looks for a file that a skill names.
func (l *linter) reference(e *entry, dir *os.Root, written string, line int) {
	name, err := url.PathUnescape(strings.TrimPrefix(written, "{skill-root}/"))
	if err != nil || strings.HasPrefix(name, "/") || strings.ContainsAny(name, "{}<>*$") {
		return // not a name, or a pattern of names
	}
	_, err = dir.Stat(path.Join(path.Dir(e.name), name))
	switch file := l.library.shown(e.place); {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		l.found = append(l.found, warning(CodeNoFile, file, line, "there is no file %.200q; add it, or correct the name", written))
	default:
		l.found = append(l.found, warning(CodeNoFile, file, line, "the file %.200q cannot be read: %v", written, causeOf(err)))
	}
}

// unfenced walks the lines of a text that are not in a code block, with their numbers.
func unfenced(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		fences := markup.Fences(text)
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			for len(fences) > 0 && number > lastLine(fences[0]) {
				fences = fences[1:]
			}
			if len(fences) > 0 && number >= fences[0].Line {
				continue
			}
			if !yield(number, line) {
				return
			}
		}
	}
}

// lastLine is where a code block ends, the closing marks included.
func lastLine(f markup.Fence) int {
	return f.Line + strings.Count(string(f.Content), "\n") + 1
}
