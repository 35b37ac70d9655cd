package bundle

import (
	"errors"
	"regexp"
	"strings"
)

var (
	// saidOf is a line of an agent's definition that says who it is.
	saidOf = regexp.MustCompile(`(?m)^\s+(name|id|title|icon|whenToUse|role|identity|style|communication_style):[ \t]+["']?(.+?)["']?[ \t\r]*$`)
	// savedPart begins a part of a definition.
	savedPart = regexp.MustCompile(`^(\s*)([\w-]+):\s*$`)
	// savedItem is an item of a list of commands: "- create-prd: Create it", "- trigger: CP".
	savedItem = regexp.MustCompile(`^\s*-\s+["']?\*?([\w][\w{} -]*?)["']?(?::\s+(.*)| - (.*))?$`)
	// savedQuoted is such an item whose name is quoted, with whatever is in it, and more
	// behind it, which is no YAML: - '*debate <a> <b>' - Have them debate.
	savedQuoted = regexp.MustCompile(`^\s*-\s+(?:'\*?([^']+)'|"\*?([^"]+)")\s*(?::|-|–|—)\s+(.*)$`)
	// savedField is a further line of such an item.
	savedField = regexp.MustCompile(`^\s+([\w-]+):\s+["']?(.+?)["']?\s*$`)
)

// salvage reads what it can of a definition that is no YAML, line by line: whoever wrote
// it meant an agent, and a model understands the rest as it stands. It returns the error
// where there is not even a name.
func (d *Definition) salvage(text string, line int, cause error) error {
	found, ok := errors.AsType[*Finding](cause)
	if !ok || found.Code != CodeYAML {
		return cause
	}
	said := map[string]string{}
	for _, m := range saidOf.FindAllStringSubmatch(text, -1) {
		if said[m[1]] == "" {
			said[m[1]] = strings.TrimSpace(m[2])
		}
	}
	if said["name"] == "" || said["role"] == "" && said["title"] == "" {
		return cause
	}
	d.Findings = append(d.Findings, *found)
	d.declare(said["id"], said["name"], said["title"], said["icon"], said["whenToUse"])
	d.Persona.Role, d.Persona.Identity = said["role"], said["identity"]
	d.Persona.CommunicationStyle = said["communication_style"] + said["style"]
	d.salvageCommands(text, line)
	d.Rules = append(d.Rules, "Your definition, as your author wrote it:\n"+strings.TrimRight(text, "\n"))
	return nil
}

// salvageCommands reads the items below commands: or menu:.
func (d *Definition) salvageCommands(text string, line int) {
	inside, indent := false, 0
	trigger, description, at := "", "", 0
	var attributes []Attribute
	flush := func() {
		if trigger != "" {
			d.addCommand(trigger, description, attributes, at)
		}
		trigger, description, attributes = "", "", nil
	}
	for row := range strings.Lines(text) {
		number := line
		line++
		row = strings.TrimRight(row, "\r\n")
		if m := savedPart.FindStringSubmatch(row); m != nil && (!inside || len(m[1]) <= indent) {
			flush()
			inside, indent = m[2] == "commands" || m[2] == "menu", len(m[1])
			continue
		}
		if !inside {
			continue
		}
		if m := savedQuoted.FindStringSubmatch(row); m != nil {
			flush()
			trigger, description, at = m[1]+m[2], strings.Trim(m[3], `"'`), number
		} else if m := savedItem.FindStringSubmatch(row); m != nil {
			flush()
			trigger, description, at = m[1], strings.Trim(m[2]+m[3], `"'`), number
			if m[1] == "trigger" || m[1] == "name" || m[1] == "command" || m[1] == "cmd" {
				trigger, description = description, ""
			}
		} else if m := savedField.FindStringSubmatch(row); m != nil && trigger != "" {
			if m[1] == "description" {
				description = m[2]
			} else {
				attributes = append(attributes, Attribute{attributeName(m[1]), m[2], number})
			}
		}
	}
	flush()
}
