package rehearsal

import (
	"regexp"
	"strconv"
	"strings"
)

// A part is what a system prompt says about the agent to be played.
type part struct {
	name, greeting string
	commands       []command
	files          []string          // what its commands use, besides their targets
	values         map[string]string // what configuration the prompt quotes
}

// A command is something the user can ask the agent for by name. Target is the file behind it, if any.
// Code is a short name for it. Template and data are files that go with the target.
type command struct {
	name, code, about, target string
	template, data            string
	validates                 bool // the target's checklist is what counts
	isWorkflow                bool // the target is for execute_workflow, whatever it is called
}

var (
	commandLine = regexp.MustCompile(`^\s*(?:[-•]\s+|\d+[.)]\s+)?\*([A-Za-z][\w-]*)(?:\s+[(\[]([A-Z]{1,4})[)\]])?:?(?:\s+(?:[-–—:]+\s*)?(.*))?$`)
	// menuLine is a command as the prompts of bundles list it, whose name may have blanks in it, or places for arguments.
	menuLine     = regexp.MustCompile(`^\*(\p{L}[\p{L}\p{N}_. '/-]*?)(?: \{[^}]*\})*(?: \(([A-Za-z][A-Za-z0-9]{0,4})\))? - (.*)$`)
	nameLine     = regexp.MustCompile(`(?m)^You are ([^,.\n]+)`)
	greetingLine = regexp.MustCompile(`(?mi)^[\s#*]*greeting[^:\n]*:[ \t*]*(?:(\S.*)|\n(.+(?:\n.+)*))`)
	// ownTarget is what such a prompt calls the file behind a command.
	ownTarget = regexp.MustCompile(`^  (?:Workflow|Skill|Read and follow|Validate with the checklist of the workflow): (\S.*)$`)
	// besideTarget is what goes with it.
	besideTarget = regexp.MustCompile(`^  (Template|Data): (\S.*)$`)
	targetLine   = regexp.MustCompile(`^(?: {1,3}|\t)[^\s:][^:]*:\s*["']?(` + filePath.String() + `)["']?$`)
	valueLine    = regexp.MustCompile(`^([A-Za-z_][\w.-]*):\s+["']?([^"'#]+?)["']?\s*(?:#.*)?$`)
	filePath     = regexp.MustCompile("[^\\s\"'`()\\[\\]<>,;:|]+\\.(?:yaml|yml|md|xml|csv|txt|json)\\b")
)

// filesHeading begins the list of files that commands use.
const filesHeading = "FILES THAT COMMANDS USE"

// withoutMarks takes the marks of markdown out of a line.
var withoutMarks = strings.NewReplacer("`", "", "**", "")

func readPart(prompt string) part {
	p := part{values: map[string]string{}}
	if m := nameLine.FindStringSubmatch(prompt); m != nil {
		p.name = m[1]
	}
	if m := greetingLine.FindStringSubmatch(prompt); m != nil {
		p.greeting = strings.TrimSpace(m[1] + m[2])
	}
	open := false   // the latest command may go on
	listed := false // these are files
	for line := range strings.Lines(prompt) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.HasPrefix(line, filesHeading):
			listed = true
			continue
		case listed && line != "":
			p.files = append(p.files, line)
			continue
		}
		listed = false
		if strings.HasPrefix(line, "*") {
			if m := menuLine.FindStringSubmatch(line); m != nil {
				open = p.add(command{name: m[1], code: m[2], about: m[3]})
				continue
			}
		}
		if strings.Contains(line, "*") {
			if m := commandLine.FindStringSubmatch(withoutMarks.Replace(line)); m != nil {
				open = p.add(command{name: m[1], code: m[2], about: m[3]})
				continue
			}
		}
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(name, " \t") {
			if m := valueLine.FindStringSubmatch(line); m != nil && p.values[m[1]] == "" {
				p.values[m[1]] = m[2]
			}
		}
		if open = open && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")); !open {
			continue
		}
		if m := ownTarget.FindStringSubmatch(line); m != nil {
			p.commands[len(p.commands)-1].target = m[1]
			p.commands[len(p.commands)-1].validates = strings.HasPrefix(line, "  Validate")
			p.commands[len(p.commands)-1].isWorkflow = strings.HasPrefix(line, "  Workflow:")
			continue
		}
		if m := besideTarget.FindStringSubmatch(line); m != nil {
			if c := &p.commands[len(p.commands)-1]; m[1] == "Template" {
				c.template = m[2]
			} else {
				c.data = m[2]
			}
			continue
		}
		if m := targetLine.FindStringSubmatch(line); m != nil && p.commands[len(p.commands)-1].target == "" {
			p.commands[len(p.commands)-1].target = m[1]
			p.commands[len(p.commands)-1].validates = strings.Contains(line, "Validate with the checklist")
		}
	}
	if p.values["date"] == "" {
		p.values["date"] = aDate.FindString(prompt)
	}
	for i := range p.commands {
		if c := &p.commands[i]; c.target == "" {
			if path := filePath.FindString(c.about); strings.Contains(path, "/") {
				c.target = path
			}
		}
	}
	return p
}

// add takes a command down. Of one that is listed twice the first counts.
func (p *part) add(c command) bool {
	if p.named(c.name) != nil {
		return false
	}
	p.commands = append(p.commands, c)
	return true
}

func (p *part) named(name string) *command {
	for i := range p.commands {
		if strings.EqualFold(p.commands[i].name, name) {
			return &p.commands[i]
		}
	}
	return nil
}

// wanted returns the commands that the user may mean: by name, by number, by code, or by a part of its name or description.
func (p *part) wanted(said string) []*command {
	if c := p.named(strings.TrimSpace(strings.TrimPrefix(said, "*"))); c != nil {
		return []*command{c}
	}
	word, _, _ := strings.Cut(said, " ")
	if c := p.named(strings.TrimPrefix(word, "*")); c != nil && (word == said || word[0] == '*') {
		return []*command{c}
	}
	if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(p.commands) {
		return []*command{&p.commands[n-1]}
	}
	said = strings.ToLower(strings.Trim(said, "*.!? "))
	words := strings.Join(strings.FieldsFunc(said, isSeparator), "-")
	var found []*command
	for i := range p.commands {
		c := &p.commands[i]
		about := strings.ToLower(c.about)
		if said != "" && (strings.EqualFold(c.code, said) || strings.HasPrefix(about, "["+said+"]")) {
			return []*command{c}
		}
		name := strings.ToLower(c.name)
		if len(words) > 2 && (strings.Contains(name, words) || strings.Contains(words, name) || strings.Contains(about, said)) {
			found = append(found, c)
		}
	}
	return found
}

func isSeparator(r rune) bool { return r == ' ' || r == '_' || r == '-' || r == '\n' }
