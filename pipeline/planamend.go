package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// amendDocument makes the document of a plan that of another one. The parts of steps that
// say the same stay, with their new numbers, and so does what is before, between and after
// the steps; the other parts are written from the plan. Where the document has no steps
// that are recognised, it is written anew, above what it says if somebody has edited it. What
// somebody has written below a step, among what was made, stays below it.
func amendDocument(text string, isEdited bool, made string, was, now []PlanStep) string {
	marks := marksOf(text, was)
	if marks == nil {
		anew := (&Plan{now}).Markdown()
		if isEdited && strings.TrimSpace(text) != "" {
			anew += "\n## What the document said before\n\n" + strings.TrimSpace(text) + "\n"
		}
		return anew
	}
	level := max(headingLevel(text[marks[0].at:]), 2)
	parts, tail := partsOf(text, marks)
	b := strings.Builder{}
	write := func(part string) {
		if part = strings.TrimRight(part, "\n"); part != "" {
			b.WriteString(part + "\n\n")
		}
	}
	lines := linesOf(made)
	byHand := func(part stepPart) string {
		if !isEdited {
			return ""
		}
		return part.byHand(lines)
	}
	b.WriteString(text[:marks[0].at])
	stays := map[int]bool{}
	for i := range now {
		n := i + 1
		if old := slices.IndexFunc(was, func(s PlanStep) bool { return s.saysSame(&now[i]) }); old >= 0 && parts[old+1].text != "" {
			stays[old+1] = true
			write(parts[old+1].renumbered(old+1, n, level))
			continue
		}
		write(now[i].section(n, level))
		if old := slices.IndexFunc(was, func(s PlanStep) bool { return s.ID == now[i].ID }); old >= 0 {
			stays[old+1] = true
			write(renumbered(byHand(parts[old+1]), old+1, n))
			write(parts[old+1].between())
		}
	}
	left := "" // what was written at steps that are not there any more
	for i := range was {
		if stays[i+1] {
			continue
		}
		write(parts[i+1].between())
		if hand := byHand(parts[i+1]); hand != "" {
			left += "\n" + unmarked(hand) + "\n"
		}
	}
	if left != "" && !strings.Contains(tail, leftHeading) {
		left = "\n" + leftHeading + "\n" + left
	}
	return strings.TrimRight(b.String()+tail, "\n") + "\n" + left
}

// leftHeading is above what a person wrote at steps that were left out: it may be about others.
const leftHeading = "## Written by hand at steps that were left out"

// A stepPart is what a document says of a step: its title, what follows it in its line, and all of it.
type stepPart struct{ title, rest, text string }

// between is what follows the step in its part and is none of it.
func (p stepPart) between() string { return p.text[endOfStep(p.text):] }

// partsOf are the parts of a document by the numbers of their steps, and what is after them.
func partsOf(text string, marks []stepMark) (parts map[int]stepPart, tail string) {
	parts = map[int]stepPart{}
	for i := 0; i < len(marks); {
		first, end := marks[i], len(text)
		for i++; i < len(marks) && marks[i].number == first.number; i++ { // "Step 1.2" is part of step 1
		}
		if i < len(marks) {
			end = marks[i].at
		}
		part := text[first.at:end]
		if i == len(marks) {
			end = endOfStep(part)
			part, tail = part[:end], part[end:]
		}
		if _, ok := parts[first.number]; !ok {
			parts[first.number] = stepPart{first.title, first.rest, part}
		}
	}
	return parts, tail
}

// endOfStep is where in a text that begins with a step something else begins: below a
// heading that is none of a step, and no deeper than the step's own.
func endOfStep(text string) int {
	level, at, code := headingLevel(text), 0, codeLines(text)
	if level == 0 {
		level = 6
	}
	for line := range strings.Lines(text) {
		if n := headingLevel(line); at > 0 && !code[at] && n > 0 && n <= level && !stepForms[0].MatchString(line) {
			return at
		}
		at += len(line)
	}
	return len(text)
}

// headingLevel is that of the heading that a text begins with, 0 where it begins with none.
func headingLevel(text string) int {
	line, _, _ := strings.Cut(text, "\n")
	if m := heading.FindStringSubmatch(strings.TrimRight(line, "\r")); m != nil {
		return len(m[1])
	}
	return 0
}

// renumbered is the part of a step under another number. Marks of another form than
// "## Step 1" become such headings, so that a document has one form.
func (p stepPart) renumbered(was, now, level int) string {
	part := p.text
	if at := stepForms[0].FindStringIndex(part); at == nil || at[0] != 0 {
		_, body, _ := strings.Cut(part, "\n")
		if p.rest != "" {
			body = p.rest + "\n" + body
		}
		return fmt.Sprintf("%s Step %d: %s\n\n%s", strings.Repeat("#", level), now, p.title, strings.TrimLeft(body, "\n"))
	}
	return renumbered(part, was, now)
}

// renumbered is a text in which the headings of a step have another number.
func renumbered(text string, was, now int) string {
	code := codeLines(text)
	for _, m := range slices.Backward(stepForms[0].FindAllStringSubmatchIndex(text, -1)) {
		if !code[m[0]] && text[m[2]:m[3]] == strconv.Itoa(was) {
			text = text[:m[2]] + strconv.Itoa(now) + text[m[3]:]
		}
	}
	return text
}

// section is a step as part of a document. Headings in its goal are set below its own, and
// none of them is taken for a step's.
func (s *PlanStep) section(n, level int) string {
	goal := strings.TrimSpace(s.Goal)
	if marks := stepMarks(goal); marks != nil && marks[0].at == 0 && headingLevel(goal) > 0 { // it was made of a document
		_, goal, _ = strings.Cut(goal, "\n")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s Step %d: %s\n\n", strings.Repeat("#", level), n, s.Title)
	goal = strings.TrimSpace(goal) + "\n"
	at, code := 0, codeLines(goal)
	for line := range strings.Lines(goal) {
		isCode := code[at]
		at += len(line)
		if !isCode && stepForms[0].MatchString(line) {
			line = strings.TrimLeft(line, "# \t")
		} else if own := headingLevel(line); own > 0 && own <= level && !isCode {
			line = strings.Repeat("#", min(level+own, 6)-own) + line
		}
		b.WriteString(line)
	}
	for _, part := range []struct {
		name  string
		items []string
	}{{"Files", s.Files}, {"Depends on", s.DependsOn}, {"Acceptance", s.Acceptance}} {
		if len(part.items) > 0 {
			fmt.Fprintf(&b, "\n%s: %s\n", part.name, strings.Join(part.items, ", "))
		}
	}
	return b.String()
}
