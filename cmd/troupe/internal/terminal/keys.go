package terminal

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// press handles a key.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	m.notice = ""
	wasArmed := m.isArmed
	m.isArmed = false
	switch name {
	case "ctrl+c":
		m.interrupt(wasArmed)
	case "ctrl+d":
		if m.input.Value() == "" {
			m.quit()
			return nil
		}
		return m.write(k)
	case "ctrl+z":
		return tea.Suspend
	case "enter":
		return m.enter()
	case "tab":
		m.complete()
	case "esc":
		m.menu.close()
	case "up", "ctrl+p":
		return m.up(k)
	case "down", "ctrl+n":
		return m.down(k)
	default:
		return m.write(k)
	}
	return nil
}

// interrupt stops the reply, or drops what is written, or leaves at the second time.
func (m *model) interrupt(wasArmed bool) {
	switch {
	case m.turn != nil:
		m.turn.stop()
	case m.input.Value() != "":
		m.input.Reset()
	case wasArmed:
		m.quit()
	default:
		m.isArmed = true
		m.notice = "press ctrl-C again to leave"
	}
}

// enter takes the chosen command into the input, or sends what is written.
func (m *model) enter() tea.Cmd {
	if m.menu.isOpen() {
		m.complete()
		return nil
	}
	text := strings.TrimSpace(m.input.Value())
	switch {
	case text == "" || m.isLeaving:
		return nil
	case m.turn != nil:
		m.notice = "wait for the reply, or stop it with ctrl-C"
		return nil
	}
	m.input.Reset()
	if text == "/quit" || text == "/exit" {
		m.quit()
		return nil
	}
	if err := m.history.add(text); err != nil {
		m.notice = err.Error()
	}
	m.print(m.styles.user.Render(fold("› "+Clean(text), m.width)))
	if m.choose(text) {
		return nil
	}
	if said, ok := Help(m.config.Commands, text); ok {
		for line := range strings.Lines(said) {
			m.print(m.styles.dim.Render(fold("  "+strings.TrimRight(line, "\n"), m.width)))
		}
		m.print("")
		return nil
	}
	return m.say(text)
}

// complete takes the chosen command into the input.
func (m *model) complete() {
	if m.menu.isOpen() {
		m.put(m.menu.matches[m.menu.chosen].Name)
	}
}

// put replaces what is written.
func (m *model) put(text string) {
	m.input.SetValue(text)
	m.input.MoveToEnd()
}

func (m *model) up(k tea.KeyPressMsg) tea.Cmd {
	if m.menu.isOpen() {
		m.menu.move(-1)
		return nil
	}
	if info := m.input.LineInfo(); m.input.Line() > 0 || info.RowOffset > 0 {
		return m.write(k)
	}
	if text, ok := m.history.older(m.input.Value()); ok {
		m.recall(text)
	}
	return nil
}

func (m *model) down(k tea.KeyPressMsg) tea.Cmd {
	if m.menu.isOpen() {
		m.menu.move(1)
		return nil
	}
	info := m.input.LineInfo()
	if m.input.Line() < m.input.LineCount()-1 || info.RowOffset < info.Height-1 {
		return m.write(k)
	}
	if text, ok := m.history.newer(); ok {
		m.recall(text)
	}
	return nil
}

// recall puts an earlier message into the input, without the menu it would open.
func (m *model) recall(text string) {
	m.put(text)
	m.menu.follow(m.input.Value())
	m.menu.close()
}
