package rehearsal

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe/markup"
)

// A program is the instructions of a workflow as a list of beats, so that a walk is a place in it.
type program struct {
	beats   []beat
	next    int            // the beat to play next
	places  map[string]int // beats that a goto can name
	jumps   map[int]int    // how often a goto went to a beat
	jumped  int            // how often it went to any
	decided map[*markup.Node]bool
}

// A beat is one tag, or one heading of instructions without tags.
type beat struct {
	kind string // the tag's name in lower case, or "heading"
	node *markup.Node
	line string // of a beat without a tag
	end  int    // the beat after all that it governs
}

// fresh returns the program as if nothing of it had been played.
func (p *program) fresh() *program {
	return &program{beats: p.beats, places: p.places, jumps: map[int]int{}, decided: map[*markup.Node]bool{}}
}

// text is what the tag holds, or the paragraph after it if it is never closed.
func (b *beat) text() string {
	if b.node == nil {
		return b.line
	}
	if !b.node.Unclosed {
		return b.node.Text()
	}
	if next := b.node.Following(); len(next) > 0 && next[0].Kind == markup.Text {
		paragraph, _, _ := strings.Cut(next[0].Text(), "\n\n")
		return strings.TrimSpace(paragraph)
	}
	return ""
}

// readProgram reads instructions. Those without tags are walked by their headings.
func readProgram(source string) *program {
	p := &program{places: map[string]int{}, jumps: map[int]int{}, decided: map[*markup.Node]bool{}}
	isTag := markup.IsInstructionTag
	if strings.Contains(source, "<task") {
		isTag = markup.IsTaskTag
	}
	if doc, err := markup.Parse([]byte(source), markup.Options{Known: isTag}); err == nil {
		p.addNodes(doc.Root.Children)
	}
	for i := range p.beats {
		switch p.beats[i].kind {
		case "step", "substep", "ask", "template-output", "action":
			return p
		}
	}
	p.beats = nil
	p.addHeadings(source)
	return p
}

// addNodes adds siblings and what is below them. An open check has only its condition and governs what follows it.
func (p *program) addNodes(siblings []*markup.Node) {
	open := -1
	end := func() {
		if open >= 0 {
			p.beats[open].end = len(p.beats)
			open = -1
		}
	}
	for _, n := range siblings {
		if endsCheck(n) {
			end()
		}
		if n.Kind != markup.Element || isAside(n) {
			continue
		}
		at := len(p.beats)
		p.addElement(n)
		if n.Is("check") && p.beats[at].end == at+1 && isBareCondition(n.Text()) {
			open = at
		}
	}
	end()
}

func (p *program) addElement(n *markup.Node) {
	at := len(p.beats)
	kind := strings.ToLower(n.Name)
	p.beats = append(p.beats, beat{kind: kind, node: n})
	place, ok := n.Attr("n")
	if kind == "anchor" {
		place, ok = n.Attr("id")
		place = "#" + place
	}
	if _, taken := p.places[strings.ToLower(place)]; ok && !taken {
		p.places[strings.ToLower(place)] = at
	}
	if kind != "ask" && kind != "template-output" {
		p.addNodes(n.Children)
	}
	p.beats[at].end = len(p.beats)
}

// isAside tells tags that a walk passes over: they are meant for the model's ear only.
func isAside(n *markup.Node) bool {
	switch strings.ToLower(n.Name) {
	case "note", "example", "format", "guide", "guideline", "guidelines", "param", "question-protocol", "moderation",
		"framework-specific-guidance":
		return true
	}
	return false
}

func endsCheck(n *markup.Node) bool {
	switch n.Kind {
	case markup.Text:
		return strings.TrimSpace(n.Raw()) != ""
	case markup.Element:
		return n.Is("check") || n.Is("template-output") || n.Is("step") || n.Is("substep")
	}
	return false
}

var conditionStart = regexp.MustCompile(`(?i)^(?:if|when|else|otherwise)\b`)

// isBareCondition tells "If it exists:" from "If it fails → stop" and from "Look for a file".
func isBareCondition(text string) bool {
	return conditionStart.MatchString(text) && !strings.Contains(text, "→") && !strings.Contains(text, "->")
}

var (
	heading         = regexp.MustCompile(`^#{1,4}\s+(.+?)[\s#:]*$`)
	numberedHeading = regexp.MustCompile(`^#{1,4}\s+(?:[Ss]tep\s+\d|STEP\s+\d|\d+[.)])`)
	topHeading      = regexp.MustCompile(`^##?\s`)
)

// addHeadings adds the numbered headings of a markdown source, or those of the first two levels if none is numbered,
// and its first menu as a question.
func (p *program) addHeadings(source string) {
	_, body := frontMatter(source)
	var headings, numbered []beat
	fenced, menu := false, ""
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		switch m := heading.FindStringSubmatch(line); {
		case fenced:
		case menu == "" && strings.Contains(line, "[C]"):
			menu = line
		case m == nil:
		case numberedHeading.MatchString(line):
			numbered = append(numbered, beat{kind: "heading", line: m[1]})
		case topHeading.MatchString(line):
			headings = append(headings, beat{kind: "heading", line: m[1]})
		}
	}
	p.beats = headings
	if len(numbered) > 0 {
		p.beats = numbered
	}
	if menu != "" {
		p.beats = append(p.beats, beat{kind: "ask", line: menu})
	}
	for i := range p.beats {
		p.beats[i].end = i + 1
	}
}

var leads = regexp.MustCompile(`(?i)\b(?:follow|load|next|execute)\b`)

// nextStep returns the step file that a step file leads to, "" if there is none: the one that its front matter names,
// or the last one that its text says to follow.
func nextStep(source, file string) string {
	next, _ := stepAfter(source, file)
	return next
}

// stepAfter is nextStep that also returns the name as it is written.
func stepAfter(source, file string) (joined, written string) {
	values, body := frontMatter(source)
	next := cmp.Or(values["nextStepFile"], values["nextStep"])
	if next == "" {
		for line := range strings.Lines(body) {
			if !strings.ContainsAny(line, "{./") || !leads.MatchString(line) {
				continue
			}
			for _, found := range filePath.FindAllString(expand(line, known(values)), -1) {
				if base := path.Base(found); strings.HasPrefix(base, "step-") && base != path.Base(file) {
					next = found
				}
			}
		}
	}
	if next == "" || strings.HasPrefix(next, "{") || strings.HasPrefix(next, "/") {
		return next, next
	}
	return path.Join(path.Dir(file), next), next
}

// frontMatter returns the values at the top of a markdown source, and what comes after them.
func frontMatter(source string) (values map[string]string, body string) {
	matter, rest, _ := markup.FrontMatter([]byte(source))
	values = map[string]string{}
	for line := range strings.Lines(string(matter)) {
		if m := valueLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			values[m[1]] = m[2]
		}
	}
	return values, string(rest)
}
