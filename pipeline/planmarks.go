package pipeline

import (
	"cmp"
	"regexp"
	"strings"
)

// marksOf finds the steps of a plan in its document: by their numbers, or by their ids or
// titles where all of these are there, or no headings have numbers.
func marksOf(text string, steps []PlanStep) []stepMark {
	numbered := stepMarks(text)
	if numbered != nil {
		if m := stepForms[0].FindStringIndex(text[numbered[0].at:]); m != nil && m[0] == 0 {
			return numbered
		}
	}
	named, found := namedMarks(text, steps)
	if named != nil && (found == len(steps) || numbered == nil || headingLevel(text[numbered[0].at:]) == 0) {
		return named
	}
	return numbered
}

// A nameForm is how a document names its steps: in headings or in list items, by id or by title.
type nameForm struct{ isItem, isTitle bool }

// namedMarks finds steps in the form that names the most of them, and says how many.
func namedMarks(text string, steps []PlanStep) (best []stepMark, most int) {
	for _, form := range []nameForm{{}, {isTitle: true}, {isItem: true}, {isItem: true, isTitle: true}} {
		if marks, found := form.marks(text, steps); found > most {
			best, most = marks, found
		}
	}
	return best, most
}

func (f nameForm) marks(text string, steps []PlanStep) (marks []stepMark, found int) {
	at, code, seen := 0, codeLines(text), map[int]bool{}
	for line := range strings.Lines(text) {
		label, rest := f.label(strings.TrimRight(line, "\r\n"))
		for i := 0; i < len(steps) && label != "" && !code[at]; i++ {
			if title := f.titleIn(label, &steps[i]); title != "" {
				if strings.EqualFold(rest, title) {
					rest = ""
				}
				marks, seen[i] = append(marks, stepMark{number: i + 1, at: at, title: title, rest: rest}), true
				break
			}
		}
		at += len(line)
	}
	return marks, len(seen)
}

var boldItem = regexp.MustCompile(`^(?:[-*+]|\d{1,4}[.)])[ \t]+(?:\*\*|__)(.+?)(?:\*\*|__)(.*)$`)

// label is the part of a line that may name a step, and what follows it.
func (f nameForm) label(line string) (label, rest string) {
	if f.isItem {
		if m := boldItem.FindStringSubmatch(line); m != nil {
			return m[1], strings.TrimLeft(m[2], " \t:.–—-")
		}
	} else if m := heading.FindStringSubmatch(line); m != nil {
		return m[2], ""
	}
	return "", ""
}

// afterID is what may stand between an id and a title: "step-1.2" does not begin with "step-1".
var afterID = regexp.MustCompile("^([*_`\\])]*[:.)–—-]*[*_`]*)(?:[ \t]+([:–—-]*)[ \t]*|$)")

// titleIn is the title that a label gives a step: none where it does not name the step.
func (f nameForm) titleIn(label string, s *PlanStep) string {
	label = strings.Trim(label, "*_`[( \t")
	if f.isTitle {
		if strings.EqualFold(strings.TrimRight(label, "*_`:. \t"), s.Title) {
			return s.Title
		}
		return ""
	}
	if s.ID == "" || len(label) < len(s.ID) || !strings.EqualFold(label[:len(s.ID)], s.ID) {
		return ""
	}
	m := afterID.FindStringSubmatch(label[len(s.ID):])
	if m == nil {
		return ""
	}
	said := strings.Trim(label[len(s.ID)+len(m[0]):], "*_` \t")
	if isWord := !strings.ContainsAny(s.ID, "0123456789"); isWord && said != "" && m[1]+m[2] == "" && !strings.EqualFold(said, s.Title) {
		return "" // an id such as "parser" may begin any heading
	}
	return cmp.Or(said, s.Title)
}
