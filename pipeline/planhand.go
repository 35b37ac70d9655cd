package pipeline

import (
	"slices"
	"strings"
)

// linesOf are the lines of a text, as they are compared.
func linesOf(text string) map[string]bool {
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		lines[bare(line)] = true
	}
	return lines
}

// bare is a line without the space around it, nor what makes it a heading of some level.
func bare(line string) string { return strings.TrimLeft(strings.TrimSpace(line), "# ") }

// byHand are the paragraphs of a step's part in which a person has written, below its title: those
// with a line that is not among the lines that were made.
func (p stepPart) byHand(made map[string]bool) string {
	title, body, _ := strings.Cut(p.text[:endOfStep(p.text)], "\n")
	if p.rest != "" && !made[bare(title)] {
		body = p.rest + "\n" + body
	}
	var kept []string
	for _, paragraph := range paragraphs(body) {
		if slices.ContainsFunc(strings.Split(paragraph, "\n"), func(line string) bool {
			line = bare(line)
			return line != "" && !made[line]
		}) {
			kept = append(kept, paragraph)
		}
	}
	return strings.Join(kept, "\n\n")
}

// paragraphs are those of a text: a heading is one of its own, a block of code part of one.
func paragraphs(text string) (all []string) {
	var now []string
	end := func() {
		if len(now) > 0 {
			all = append(all, strings.Join(now, "\n"))
		}
		now = nil
	}
	at, code := 0, codeLines(text)
	for line := range strings.Lines(text) {
		isCode := code[at]
		at += len(line)
		line = strings.TrimRight(line, "\r\n")
		isHeading := !isCode && headingLevel(line) > 0
		if isHeading || !isCode && strings.TrimSpace(line) == "" {
			end()
		}
		if isCode || strings.TrimSpace(line) != "" {
			now = append(now, line)
		}
		if isHeading {
			end()
		}
	}
	end()
	return all
}

// unmarked is a text in which no heading is taken for a step, or for the end of what it is in.
func unmarked(text string) string {
	var b strings.Builder
	at, code := 0, codeLines(text)
	for line := range strings.Lines(text) {
		isCode := code[at]
		at += len(line)
		if !isCode && headingLevel(line) > 0 {
			line = "**" + bare(line) + "**\n"
		}
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n")
}
