package bundle

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A trigger is how a menu says what users type.
type trigger struct {
	code     string   // CP
	name     string   // create-prd, without an asterisk
	synonyms []string // further names
}

var (
	// compound is a trigger with a code: "DS or fuzzy match on dev-story". Some
	// versions leave out "on".
	compound = regexp.MustCompile(`(?i)^\s*([A-Z][A-Z0-9]{0,4})\s+or\s+fuzzy\s+match(?:\s+on)?\s+(\S.*)$`)
	// listed separates the names of a trigger: "exit, leave, goodbye or dismiss agent".
	listed = regexp.MustCompile(`(?i)\s*,\s*(?:or\s+)?|\s+or\s+(?:fuzzy\s+match(?:\s+on)?\s+)?`)
	// labelCode is the code with which a label begins: "[CP] Create PRD".
	labelCode = regexp.MustCompile(`^\s*\[([A-Za-z][A-Za-z0-9]{0,4})\]\s*`)
)

// newTrigger reads a trigger: "*create-prd", "CP or fuzzy match on create-prd",
// "*exit, leave or goodbye", "plan {topic}".
func newTrigger(written string) trigger {
	var t trigger
	rest := withPlaces(strings.TrimSpace(written))
	if !strings.Contains(rest, "{") {
		rest = strings.ReplaceAll(rest, "|", ", ")
	}
	if m := compound.FindStringSubmatch(rest); m != nil {
		t.code, rest = strings.ToUpper(m[1]), m[2]
	}
	for i, name := range listed.Split(rest, -1) {
		name = strings.TrimLeft(strings.Trim(strings.TrimSpace(name), "`\"'"), "*/")
		switch {
		case name == "" || i > 0 && slices.Contains(t.synonyms, name):
		case t.name == "":
			t.name = name
		default:
			t.synonyms = append(t.synonyms, name)
		}
	}
	return t
}

// inAngles is an argument as manuals of commands write it.
var inAngles = regexp.MustCompile(`["']?<([\w .|-]+)>["']?`)

// withPlaces has the arguments of a trigger as menus have them, {topic} for <topic>, and
// leaves out what need not be given: [--rounds 3].
func withPlaces(written string) string {
	written = inAngles.ReplaceAllString(written, "{$1}")
	if name, _, ok := strings.Cut(written, " ["); ok && strings.TrimSpace(name) != "" {
		return name
	}
	return written
}

// label cuts the code off a description: what people are shown beside it.
func label(description string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	if strings.HasPrefix(first, "- ") {
		return "" // a list says it all
	}
	return strings.TrimSpace(labelCode.ReplaceAllString(first, ""))
}

// exits and helps are the words with which users leave, and ask what there is, in
// all menus.
var (
	exits = []string{"exit", "quit", "leave", "goodbye", "bye", "dismiss", "dismiss agent", "end", "stop agent"}
	helps = []string{"help", "menu", "h", "?"}
)

// IsExit says whether the command ends the conversation with the agent.
func (c *Command) IsExit() bool { return c.Kind == KindBuiltin && c.hasName(exits...) }

// IsHelp says whether the command shows what there is.
func (c *Command) IsHelp() bool { return c.Kind == KindBuiltin && c.hasName(helps...) }

// hasName says whether one of the command's names is among those given.
func (c *Command) hasName(names ...string) bool {
	return slices.ContainsFunc(c.names(), func(name string) bool { return slices.Contains(names, strings.ToLower(name)) })
}

// names are all that users may type for the command exactly, without asterisks or
// the places for arguments.
func (c *Command) names() []string {
	list := make([]string, 0, 2+len(c.Synonyms))
	for _, name := range slices.Concat([]string{c.Code, strings.TrimPrefix(c.Cmd, "*")}, c.Synonyms) {
		if name, _, _ = strings.Cut(name, "{"); strings.TrimSpace(name) != "" {
			list = append(list, strings.TrimSpace(name))
		}
	}
	return list
}

// IsExit says whether what a user typed means to leave the agent: in the words of
// its menu, or in those that all menus have.
func (d *Definition) IsExit(text string) bool {
	matched := d.Match(text)
	if len(matched) == 1 && matched[0].Exact {
		return matched[0].Command.IsExit()
	}
	text = strings.ToLower(strings.TrimSpace(text))
	name := strings.TrimLeft(text, "*/")
	return name != text && slices.Contains(exits, name) || len(matched) == 0 && slices.Contains(exits[:2], text)
}

// A Match is a command that a user may have meant.
type Match struct {
	Command *Command
	// Arguments are what follows the command's name.
	Arguments string
	// Exact says that the user typed its number, its code or one of its names.
	Exact bool
}

// Match finds the commands that a text means, as menus promise it: the number in the
// list, a code or a name with or without an asterisk and with arguments behind it, or
// else words that are in a command's names or description. Several matches are to be
// asked about; without any the text is conversation.
func (d *Definition) Match(text string) []Match {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 400 {
		return nil
	}
	if n, err := strconv.Atoi(strings.TrimRight(text, ".)")); err == nil {
		if n < 1 || n > len(d.Commands) {
			return nil
		}
		return []Match{{Command: &d.Commands[n-1], Exact: true}}
	}
	if exact := d.exactly(strings.TrimLeft(text, "*/")); exact != nil {
		return exact
	}
	return d.fuzzily(text)
}

// exactly finds the command that has a name with which the text begins, the longest.
func (d *Definition) exactly(text string) []Match {
	longest := 0
	var found []Match
	for i := range d.Commands {
		c := &d.Commands[i]
		for _, name := range c.names() {
			if len(name) < longest || len(text) < len(name) || !strings.EqualFold(text[:len(name)], name) {
				continue
			}
			rest := text[len(name):]
			if rest != "" && (len(name) < 2 || !unicode.IsSpace(rune(rest[0])) && rest[0] != ':') {
				continue
			}
			if strings.TrimSpace(rest) != "" && name != c.Code && !strings.ContainsAny(name, "-_") && !c.takesArguments() {
				continue // "help me with this" is no command
			}
			if len(name) > longest {
				longest, found = len(name), nil
			}
			found = append(found, Match{c, strings.TrimSpace(strings.TrimLeft(rest, ": ")), true})
			break
		}
	}
	if len(found) > 1 {
		found = found[:1] // the first of a doubled name, as a reader of the menu would take it
	}
	return found
}

func (c *Command) takesArguments() bool { return strings.Contains(c.Cmd, "{") }

// fuzzily finds the commands in whose names or descriptions all words of a short
// text are.
func (d *Definition) fuzzily(text string) []Match {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	if len(words) == 0 || len(words) > 6 {
		return nil
	}
	var found, named []Match
	for i := range d.Commands {
		c := &d.Commands[i]
		names := strings.ToLower(strings.ReplaceAll(strings.Join(c.names(), " "), "-", " "))
		if containsAll(names, words) {
			named = append(named, Match{Command: c})
		} else if containsAll(names+" "+strings.ToLower(c.Description), words) {
			found = append(found, Match{Command: c})
		}
	}
	if len(named) > 0 {
		return named
	}
	return found
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
