package bundle

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
)

// isProseAgent says whether a file of an agents directory is an agent that its author has
// written as plain text: front matter that names it and says what it is for.
func isProseAgent(src string) bool {
	matter, body, _ := markup.FrontMatter([]byte(src))
	if len(matter) == 0 || strings.TrimSpace(string(body)) == "" || isPointer(src) {
		return false
	}
	root, _, err := ParseYAML("", 2, matter)
	if err != nil || laxyaml.Scalar(laxyaml.Field(root, "name")) == "" {
		return false
	}
	for _, key := range []string{"description", "title", "role", "icon", "persona"} {
		if laxyaml.Prose(laxyaml.Field(root, key)) != "" {
			return true
		}
	}
	return false
}

// withName has the front matter of a file say a name, which some editors take from the
// file's.
func withName(file, src string) string {
	matter, _, _ := markup.FrontMatter([]byte(src))
	if len(matter) == 0 || nameKey.Match(matter) {
		return src
	}
	first, rest, _ := strings.Cut(src, "\n")
	return first + "\nname: " + agentID(file) + "\n" + rest
}

var nameKey = regexp.MustCompile(`(?m)^name:`)

// parseProse reads an agent that is written as plain text. The text is who it is.
func (d *Definition) parseProse(src string) {
	d.Format = FormatProse
	matter, body, line := markup.FrontMatter([]byte(src))
	front, notes, _ := ParseYAML(d.File, 2, matter) // isProseAgent has read it
	d.Findings = append(d.Findings, notes...)
	field := func(keys ...string) string {
		for _, key := range keys {
			if text := laxyaml.Prose(laxyaml.Field(front, key)); text != "" {
				return text
			}
		}
		return ""
	}
	text := strings.TrimSpace(string(body))
	name, title := headingName(text)
	declared := cmp.Or(field("name"), agentID(d.File))
	if title != "" || !strings.EqualFold(name, declared) {
		name = declared
	}
	d.declare(cmp.Or(field("id"), declared), cmp.Or(laxyaml.Scalar(laxyaml.Field(front, "agent")), name, declared), cmp.Or(field("title"), title), field("icon"), field("description"))
	d.Persona = Persona{Role: field("role"), Identity: field("identity"), CommunicationStyle: field("communication_style", "style"), More: text}
	d.Critical = append(d.Critical, moduleConfig())
	d.capabilities(text, line)
	d.listedCommands(text, line)
	if d.IsForEditor() {
		return // which wants it like this
	}
	d.warn(CodeSchema, 1, "the agent is plain text; it is read all the same, but others will not find its commands: write an *.agent.yaml")
}

// commandHeading is that of a section with commands, and listedCommand an item in it:
// "- `*review {file}` - Review a file".
var (
	commandHeading = regexp.MustCompile(`(?i)^#+\s.*(?:\bcommands?\b|\bmenu\b|menú|\bcomandos\b|\bcomandi\b|\bcommandes\b|\bbefehle\b|команды|меню|命令|菜单|コマンド)`)
	listedCommand  = regexp.MustCompile("^\\s*(?:[-+*]|[0-9]+[.)])\\s+[*_]{0,2}[`]?(\\*?[\\p{L}][\\p{L}\\p{N}-]*)((?: \\{[^}]*\\})*)[`]?[*_]{0,2}\\s*(?:[-–—:]+\\s*(.*))?$")
)

// listedCommands reads the commands that a text lists below a heading that says so.
func (d *Definition) listedCommands(text string, line int) {
	in := false
	for row := range strings.Lines(text) {
		number := line
		line++
		row = strings.TrimRight(row, "\r\n")
		if strings.HasPrefix(row, "#") {
			in = commandHeading.MatchString(row)
			continue
		}
		m := listedCommand.FindStringSubmatch(row)
		if !in || m == nil || !strings.ContainsAny(strings.SplitN(row, m[1], 2)[0]+m[1], "*`") {
			continue
		}
		d.addCommand(m[1]+m[2], m[3], nil, number)
	}
}
