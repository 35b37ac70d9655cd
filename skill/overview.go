package skill

import (
	"cmp"
	"fmt"
	"strings"
)

// An Overview is what an agent is told of the skills before it asks for one.
type Overview struct {
	// Text is empty if there are no skills.
	Text string
	// Listed of Total skills are named in Text.
	Listed, Total int
	// Tokens is an estimate of what Text takes of a model's context.
	Tokens int
}

// defaultOverview is what an overview may take, in bytes: about 4,000 tokens.
const defaultOverview = 16 << 10

const overviewHead = "Skills are proven ways of doing certain tasks. Before a task that one of these fits, call use_skill with its name and follow what it says.\n\n"

// Overview lists names and descriptions, sorted, in maxBytes or, if that is 0, in
// 16 KiB. Where they do not fit, descriptions are cut before names are left out.
func (l *Library) Overview(maxBytes int) Overview {
	room := cmp.Or(maxBytes, defaultOverview) - len(overviewHead)
	skills := l.List()
	if len(skills) == 0 {
		return Overview{}
	}
	var lines []string
	for _, most := range []int{maxDescription, 256, 128, 64, 32, 0} {
		size := 0
		lines = lines[:0]
		for _, s := range skills {
			lines = append(lines, outline(s, most))
			size += len(lines[len(lines)-1])
		}
		if size <= room {
			break
		}
	}
	var text strings.Builder
	text.WriteString(overviewHead)
	o := Overview{Total: len(skills)}
	const more = "- and %d more; search_skills finds them\n"
	for _, line := range lines {
		left := room - len(line)
		if o.Listed+1 < o.Total {
			left -= len(more) + 4
		}
		if left < 0 {
			fmt.Fprintf(&text, more, o.Total-o.Listed)
			break
		}
		room -= len(line)
		text.WriteString(line)
		o.Listed++
	}
	o.Text = text.String()
	o.Tokens = len(o.Text)/4 + 1
	return o
}

// outline is a skill on one line, with about so many bytes of its description.
func outline(s Skill, most int) string {
	if most == 0 {
		return "- " + s.Name + "\n"
	}
	description := s.Description
	if len(description) > most {
		description = description[:most]
		if space := strings.LastIndexByte(description, ' '); space > most/2 {
			description = description[:space]
		}
		description = strings.ToValidUTF8(description, "") + "…"
	}
	return "- " + s.Name + ": " + description + "\n"
}
