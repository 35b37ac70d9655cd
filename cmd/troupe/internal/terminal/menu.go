package terminal

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Command is what the user can ask the agent for by name.
type Command struct {
	// Name is what to type, such as *help.
	Name        string
	Description string
}

// A menu offers the commands that what is typed may become.
type menu struct {
	all     []Command
	matches []Command
	chosen  int
	typed   string // what the matches are for
}

// maxMenu is how many commands are shown at once.
const maxMenu = 6

// follow brings the menu up to date with what is typed. It is open while that is the
// beginning of a command and not yet all of it.
func (m *menu) follow(typed string) {
	if typed == m.typed {
		return
	}
	m.typed, m.matches, m.chosen = typed, nil, 0
	if !strings.HasPrefix(typed, "*") || strings.ContainsAny(typed, " \n") {
		return
	}
	wanted := strings.ToLower(typed)
	var within []Command
	for _, c := range m.all {
		switch name := strings.ToLower(c.Name); {
		case name == wanted:
			m.matches = nil
			return
		case strings.HasPrefix(name, wanted):
			m.matches = append(m.matches, c)
		case strings.Contains(name, wanted[1:]):
			within = append(within, c)
		}
	}
	m.matches = append(m.matches, within...)
}

func (m *menu) isOpen() bool { return len(m.matches) > 0 }

func (m *menu) close() { m.matches = nil }

// move changes the choice, around the ends.
func (m *menu) move(by int) { m.chosen = (m.chosen + by + len(m.matches)) % len(m.matches) }

// lines shows the part of the menu around the choice.
func (m *menu) lines(s *styles, width, room int) []string {
	if room = min(room, maxMenu); !m.isOpen() || room < 1 {
		return nil
	}
	first := max(0, min(m.chosen-room/2, len(m.matches)-room))
	shown := m.matches[first:min(first+room, len(m.matches))]
	widest := 0
	for _, c := range shown {
		widest = max(widest, ansi.StringWidth(c.Name))
	}
	var lines []string
	for i, c := range shown {
		mark, style := "  ", s.dim
		if first+i == m.chosen {
			mark, style = "› ", s.chosen
		}
		pad := strings.Repeat(" ", widest-ansi.StringWidth(c.Name)+2)
		line := mark + c.Name + pad + OneLine(c.Description, width)
		lines = append(lines, style.Render(ansi.Truncate(line, width, "…")))
	}
	return lines
}

// slashCommand is a message that is a command of the program, if it is anything: a path
// has more than one slash, or words behind it.
var slashCommand = regexp.MustCompile(`^/[a-zA-Z][a-zA-Z0-9_-]*$`)

// Help answers a message that is a command of the program and not for the agent: /help
// with all that there are, and one that is none with a hint, because asking the model
// about it would cost money and bring nothing. What an agent has itself goes to the agent.
func Help(all []Command, text string) (said string, ok bool) {
	text = strings.TrimSpace(text)
	has := func(c Command) bool { return c.Name == text }
	if !slashCommand.MatchString(text) || slices.ContainsFunc(all, has) {
		return "", false
	}
	if text != "/help" {
		return "There is no command " + text + ", and the agent was not asked. /help lists those there are.", true
	}
	all = append(slices.Clone(all), Command{"/help", "Show this list"}, Command{"/quit", "Leave"})
	widest := 0
	for _, c := range all {
		widest = max(widest, ansi.StringWidth(c.Name))
	}
	var lines []string
	for _, c := range all {
		lines = append(lines, strings.TrimRight(OneLine(c.Name, 80)+strings.Repeat(" ", widest-ansi.StringWidth(c.Name)+2)+OneLine(c.Description, 200), " "))
	}
	return strings.Join(lines, "\n"), true
}
