package terminal

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// frames are what moves while one waits.
var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// View implements [tea.Model].
func (m *model) View() tea.View {
	v := tea.NewView(m.view())
	if m.isLeaving {
		return v
	}
	if c := m.input.Cursor(); c != nil {
		c.Y += strings.Count(m.above(), "\n")
		v.Cursor = c
	}
	return v
}

// view is what the program owns of the screen. It is empty in the end, so that
// nothing but the conversation stays.
func (m *model) view() string {
	if m.isLeaving {
		return ""
	}
	return m.above() + m.input.View() + "\n" + m.status()
}

// tallest is how many lines the view may take. What is printed above it is never
// higher than the rest of the screen: see printNext.
func (m *model) tallest() int { return max(3, m.height/2) }

// above is what stands above the input, each line ended.
func (m *model) above() string {
	room := m.tallest() - m.input.Height() - 1
	menu := m.menu.lines(&m.styles, m.width-1, room)
	lines := append(m.progress(room-len(menu)), menu...)
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// progress shows what is waited for, and the end of the reply in the making, as much
// of it as fits.
func (m *model) progress(room int) []string {
	t := m.turn
	if t == nil || room < 1 {
		return nil
	}
	moving := frames[m.frame%len(frames)] + " "
	var waiting []string
	for _, call := range t.calls.Open() {
		waiting = append(waiting, m.styles.dim.Render(ansi.Truncate(moving+call, m.width-1, "…")))
	}
	if waiting == nil {
		waiting = []string{m.styles.dim.Render(moving + t.doing())}
	}
	if len(waiting) > room {
		return waiting[:room]
	}
	var lines []string
	if t.live != "" {
		lines = strings.Split("\n"+t.live+"\n", "\n")
	}
	if drop := len(lines) - (room - len(waiting)); drop > 0 {
		lines = lines[drop:]
	}
	return append(lines, waiting...)
}

// status says whom one talks to, with which model, and what it has used.
func (m *model) status() string {
	if m.notice != "" {
		return m.styles.dim.Render(OneLine(m.notice, m.width-1))
	}
	parts := []string{m.config.Agent, m.config.Model, m.meter.String()}
	return m.styles.dim.Render(OneLine(strings.Join(parts, " · "), m.width-1))
}
