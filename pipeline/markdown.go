package pipeline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	heading   = regexp.MustCompile(`^(#{1,6})\s+(.+?)[\s#]*$`)
	bullet    = regexp.MustCompile(`^(?:[-*+]|\d+[.)])\s+(.+)$`)
	paragraph = regexp.MustCompile(`^\s*(.+)$`)
	// ornament is what is around the name in a title such as "2. **User Stories**".
	ornament = regexp.MustCompile(`^[^\pL]+|[^\pL\pN]+$`)
	between  = regexp.MustCompile(`[\s_-]+`)
	// meantAsJSON is how an answer begins whose headings are within its JSON.
	meantAsJSON = regexp.MustCompile("^\\s*(```\\w*\\s*)?\\{")
)

// A section is a heading and the lines up to the next heading that is not below it.
type section struct {
	level int
	title string
	lines []string
}

// readMarkdown makes an answer of a text whose headings name the outputs; the text
// itself is its artifact. It refuses one that names an output twice.
func (c *Contract) readMarkdown(text string) (Output, bool) {
	if meantAsJSON.MatchString(text) {
		return Output{}, false
	}
	outputs, next := map[string]any{}, NextPhase{Ready: true}
	for _, s := range sections(text) {
		name, value := outputNamed(s.title)
		s.lines = c.withoutOthers(s.lines)
		if value = strings.Trim(value, " *_"); value != "" {
			s.lines = append([]string{value}, s.lines...)
		}
		isList, isOutput := c.outputs[name]
		if name == "blockers" && !isOutput {
			for _, blocker := range s.entries() {
				next.Ready = false
				next.Blockers = append(next.Blockers, TextItem(blocker))
			}
		}
		if !isOutput {
			continue
		}
		if _, isTwice := outputs[name]; isTwice {
			return Output{}, false
		}
		if isList {
			outputs[name] = s.entries()
		} else {
			outputs[name] = strings.TrimSpace(strings.Join(s.lines, "\n"))
		}
	}
	data, err := json.Marshal(outputs)
	if err != nil || len(outputs) == 0 && !c.isPlan(text) {
		return Output{}, false
	}
	output := Output{
		Status:    "partial",
		Phase:     c.phase,
		Outputs:   data,
		Artifacts: []Artifact{{Name: c.phase + ".md", Content: text, Type: c.keeping}},
		NextPhase: next,
		Errors:    Items{TextItem("the answer is markdown, not JSON: its outputs were read from the headings")},
	}
	answer, err := json.Marshal(output)
	return output, err == nil && c.fits(answer)
}

// stepTitle is how the heading of a step of a plan begins.
var stepTitle = regexp.MustCompile(`(?i)^\W*(step|task)\W*\d+\b`)

// isPlan reports whether a text is what planning is for: its headings are steps. A list of
// numbers alone may be anything.
func (c *Contract) isPlan(text string) bool {
	if c.phase != phasePlanning || !slices.ContainsFunc(sections(text), func(s section) bool { return stepTitle.MatchString(s.title) }) {
		return false
	}
	plan := planFromText(text)
	return plan.Check() == nil
}

// outputNamed is the output that a title would name, and what stands after its colon.
func outputNamed(title string) (name, value string) {
	name, value, _ = strings.Cut(title, ":")
	return between.ReplaceAllString(strings.ToLower(ornament.ReplaceAllString(name, "")), "_"), value
}

// withoutOthers leaves out of a section's lines the sections below it that are outputs of
// their own: a title such as "User Stories" may stand above all that follows.
func (c *Contract) withoutOthers(lines []string) (own []string) {
	other := 0 // the level of the section that is left out
	for _, line := range lines {
		if match := heading.FindStringSubmatch(line); match != nil {
			if len(match[1]) <= other {
				other = 0
			}
			name, _ := outputNamed(match[2])
			if _, isOutput := c.outputs[name]; other == 0 && (isOutput || name == "blockers") {
				other = len(match[1])
			}
		}
		if other == 0 {
			own = append(own, line)
		}
	}
	return own
}

// sections returns the sections of a text. Headings in code blocks are none.
func sections(text string) (all []section) {
	var open []int // the sections that the current line belongs to, as places in all
	isCode := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			isCode = !isCode
		}
		if isCode {
			line = "\t" + line // so that nothing in it is taken for a heading or a bullet
		}
		var match []string
		if strings.HasPrefix(line, "#") {
			match = heading.FindStringSubmatch(line)
		}
		for match != nil && len(open) > 0 && all[open[len(open)-1]].level >= len(match[1]) {
			open = open[:len(open)-1]
		}
		for _, i := range open {
			all[i].lines = append(all[i].lines, line)
		}
		if match != nil {
			open = append(open, len(all))
			all = append(all, section{level: len(match[1]), title: match[2]})
		}
	}
	return all
}

// entries returns what a section lists: its subsections, else its bullets, else its
// paragraphs. "None" is no entry.
func (s section) entries() []string {
	marker := bullet
	if slices.ContainsFunc(s.lines, func(line string) bool { return strings.HasPrefix(line, "#") && heading.MatchString(line) }) {
		marker = heading
	} else if !slices.ContainsFunc(s.lines, bullet.MatchString) {
		marker = paragraph
	}
	var found [][]string // the lines of each entry
	isBlank := true
	for _, line := range s.lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			isBlank = true
			continue
		}
		match := marker.FindStringSubmatch(line)
		if match != nil && (marker != paragraph || isBlank) {
			found = append(found, []string{match[len(match)-1]})
		} else if last := len(found) - 1; last >= 0 {
			found[last] = append(found[last], trimmed)
		}
		isBlank = false
	}
	entries := []string{}
	for _, lines := range found {
		entry := strings.Join(lines, "\n")
		switch strings.ToLower(strings.Trim(entry, " .*_")) {
		case "", "none", "n/a":
		default:
			entries = append(entries, entry)
		}
	}
	return entries
}
