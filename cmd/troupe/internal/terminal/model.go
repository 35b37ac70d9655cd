package terminal

import (
	"context"
	"strings"
	"sync"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/troupe-dev/troupe"
)

// A model is the state of an interactive conversation. Its methods are called by
// one goroutine; only say runs in others.
type model struct {
	config   Config
	ctx      context.Context // of all turns: what bubbletea calls has none
	send     func(tea.Msg)   // to the goroutine that calls Update
	turns    sync.WaitGroup
	styles   styles
	markdown markdown

	width, height int
	input         textarea.Model
	menu          menu
	history       *history
	turn          *turn // nil while the user is writing
	meter         Meter
	frame         int    // of what moves while one waits
	notice        string // shown in place of the status line
	isArmed       bool   // ctrl-C was pressed at an empty prompt
	isLeaving     bool

	queue     []string // lines to be printed above the view
	printing  bool
	hasShrunk bool // the view is smaller than what may still be on the screen
}

// The messages that the model sends to itself.
type (
	happened struct{ event troupe.Event } // something happened in a turn
	ended    struct{ err error }          // a turn is over
	printed  struct{}                     // what was to be printed is on the screen
	ticked   struct{}                     // time passes while a turn is on
	leave    struct{}                     // the program was told to end
)

// tickTime is how often a reply in the making is laid out anew.
const tickTime = 80 * time.Millisecond

func tick() tea.Cmd { return tea.Tick(tickTime, func(time.Time) tea.Msg { return ticked{} }) }

func newModel(ctx context.Context, c Config, h *history) *model {
	m := &model{config: c, ctx: ctx, styles: plain(), history: h, meter: c.Used, width: 80, height: 24}
	if c.Colour {
		m.styles = colourful()
	}
	m.markdown.style = m.styles.markdown
	m.menu.all = c.Commands
	m.input = newInput(&m.styles)
	return m
}

// maxInput is how many lines of what the user writes are shown.
const maxInput = 6

func newInput(s *styles) textarea.Model {
	input := textarea.New()
	input.ShowLineNumbers = false
	input.DynamicHeight, input.MinHeight, input.MaxHeight = true, 1, maxInput
	input.MaxContentHeight = 1000
	input.CharLimit = 64 << 10
	input.SetVirtualCursor(false)
	input.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	// Terminals paste by themselves; the library would start a program to do it.
	input.KeyMap.Paste.SetEnabled(false)
	input.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "› "
		}
		return "  "
	})
	look := textarea.StyleState{Base: lipgloss.NewStyle(), Prompt: s.user}
	input.SetStyles(textarea.Styles{Focused: look, Blurred: look, Cursor: textarea.CursorStyle{Shape: tea.CursorBar}})
	input.Focus()
	return input
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return nil }

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.handle(msg)
	m.menu.follow(m.input.Value())
	return m, tea.Batch(cmd, m.printNext())
}

func (m *model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 4), max(msg.Height, 4)
		m.input.SetWidth(m.width)
		m.input.MaxHeight = min(maxInput, m.tallest()-2)
		if m.turn != nil {
			m.turn.stale = true
		}
	case tea.KeyPressMsg:
		return m.press(msg)
	case happened:
		m.note(&msg.event)
	case ended:
		m.isLeaving = m.isLeaving || m.turn != nil && m.turn.isLast && msg.err == nil
		m.end(msg.err)
	case printed:
		m.printing = false
	case ticked:
		return m.tick()
	case leave:
		m.quit()
	default:
		return m.write(msg)
	}
	return nil
}

// write passes a message on to the input.
func (m *model) write(msg tea.Msg) (cmd tea.Cmd) {
	m.input, cmd = m.input.Update(msg)
	return cmd
}

// tick lays out the reply in the making, as far as it has changed.
func (m *model) tick() tea.Cmd {
	if m.turn == nil {
		return nil
	}
	m.frame++
	if m.turn.stale {
		m.turn.live = m.markdown.render(lastPart(m.turn.pieces.Kept()+m.turn.text.String()), m.width)
		m.turn.stale = false
	}
	return tick()
}

// maxLive is how much of a reply in the making is laid out, in bytes. A screen does
// not hold more, and laying out takes time that grows with it.
const maxLive = 8 << 10

func lastPart(text string) string {
	if len(text) <= maxLive {
		return text
	}
	text = text[len(text)-maxLive:]
	_, text, _ = strings.Cut(text, "\n")
	return text
}

// say sends a message to the agent.
func (m *model) say(text string) tea.Cmd {
	ctx, cancel := context.WithCancelCause(m.ctx)
	m.turn = &turn{cancel: cancel, isLast: m.config.Leaves != nil && m.config.Leaves(text)}
	m.turn.wait.Begin()
	m.turns.Go(func() {
		defer cancel(nil)
		err := m.config.Say(ctx, text, func(e *troupe.Event) { m.send(happened{*e}) })
		m.send(ended{err})
	})
	return tick()
}

// quit leaves once nothing is under way any more.
func (m *model) quit() {
	m.isLeaving = true
	if m.turn != nil {
		m.turn.stop()
	}
}

// print queues lines for the screen above the view.
func (m *model) print(texts ...string) {
	for _, text := range texts {
		m.queue = append(m.queue, strings.Split(text, "\n")...)
	}
}

// printNext prints the next lines of the queue. One batch goes out at a time, because
// the order of commands that run at once is nobody's promise. And it must fit above
// the view: more would push the view, which is drawn later than it is asked for and
// may still be as tall as it was, into the terminal's memory.
func (m *model) printNext() tea.Cmd {
	switch {
	case m.printing:
		return nil
	case len(m.queue) == 0:
		if m.isLeaving && m.turn == nil {
			return tea.Quit
		}
		return nil
	}
	n := min(len(m.queue), max(1, m.height-m.tallest()-1))
	text := strings.Join(m.queue[:n], "\n")
	m.queue = m.queue[n:]
	if text == "" {
		text = " " // nothing at all would print no line
	}
	m.printing = true
	print := []tea.Cmd{tea.Println(text), func() tea.Msg { return printed{} }}
	if m.hasShrunk {
		m.hasShrunk = false
		print = append([]tea.Cmd{tea.Tick(redrawTime, func(time.Time) tea.Msg { return nil })}, print...)
	}
	return tea.Sequence(print...)
}

// redrawTime is how long a view that has become smaller takes to be drawn. What is
// printed earlier is in its place too, but the view is left hanging higher than it
// could be.
const redrawTime = 40 * time.Millisecond
