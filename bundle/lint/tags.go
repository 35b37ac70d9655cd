package lint

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/markup"
)

// maxUnknownTags bounds the names looked at in one file that are no tags.
const maxUnknownTags = 200

// tags reports what is wrong with the tags of a file, and those that are taken for
// prose although somebody meant them: names that resemble a tag of instructions, and
// names that are closed. Tasks may have tags of their own if they close them.
func (l *linter) tags(file, src string, doc *markup.Document, unknown map[string]bool) {
	leading := make(map[int]bool)
	for n := range doc.Root.Descendants() {
		if n.Unclosed && isLeading(src, n.Start) {
			leading[n.Line] = true
		}
	}
	for _, p := range doc.Problems {
		if p.Code != markup.UnclosedElement || leading[p.Line] { // else it is mentioned in a sentence
			l.warn(string(p.Code), file, p.Line, "%s", p.Message)
		}
	}
	isTask := doc.Root.Named("task") != nil
	for name := range unknown {
		at := tagAt(src, name)
		isClosed := strings.Contains(src, "</"+name+">")
		if at < 0 || isClosed && isTask || markup.IsAgentTag(name) || slices.Contains(htmlTags, strings.ToLower(name)) {
			continue
		}
		line := 1 + strings.Count(src[:at], "\n")
		if meant := tagLike(name); meant != "" {
			l.warn(CodeTag, file, line, "<%s> is no tag of instructions and read as text; did you mean <%s>?", name, meant)
		} else if isClosed {
			l.warn(CodeTag, file, line, "<%s> is no tag of instructions and read as text", name)
		}
	}
}

// tagAt returns where a start tag of this name is first used, and not quoted in
// backticks, or -1.
func tagAt(src, name string) int {
	for at := 0; ; at++ {
		next := strings.Index(src[at:], "<"+name)
		if next < 0 {
			return -1
		}
		if at += next; at == 0 || src[at-1] != '`' {
			return at
		}
	}
}

// isLeading says whether nothing but a reasonable indentation precedes an offset on
// its line.
func isLeading(src string, offset int) bool {
	const deepest = 64
	before := strings.TrimRight(src[max(0, offset-deepest):offset], " \t")
	return before == "" && offset < deepest || strings.HasSuffix(before, "\n")
}

var htmlTags = strings.Fields("a b i u p em strong code pre br hr img ul ol li table tr td th thead tbody div span details summary " +
	"sub sup kbd h1 h2 h3 h4 h5 h6 blockquote script style")

// tagLike returns the tag of instructions that differs from name by one letter, or
// by two that have changed places.
func tagLike(name string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz-"
	name = strings.ToLower(name)
	if len(name) < 4 || len(name) > 30 {
		return ""
	}
	var tries []string
	for i := range len(name) {
		head, first, rest := name[:i], name[i:i+1], name[i+1:]
		tries = append(tries, head+rest)
		if rest != "" {
			tries = append(tries, head+rest[:1]+first+rest[1:])
		}
		for _, c := range letters {
			tries = append(tries, head+string(c)+rest, head+string(c)+first+rest)
		}
	}
	for _, c := range letters {
		tries = append(tries, name+string(c))
	}
	if i := slices.IndexFunc(tries, markup.IsInstructionTag); i >= 0 {
		return tries[i]
	}
	return ""
}
