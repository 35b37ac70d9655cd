package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/troupe-dev/troupe"
)

// A Config says whom a conversation is with.
type Config struct {
	// Title is shown at the beginning, Agent and Model in the status line.
	Title, Agent, Model string
	// Earlier is what was said before.
	Earlier []Said
	// Where says where a file is that an agent has saved under some name. Nil leaves it at
	// the name that the agent uses.
	Where func(saved string) string
	// Used is what the conversation has used before.
	Used Meter
	// Commands are offered for completion.
	Commands []Command
	// Say sends a message and calls show for each event, in order, until the reply is
	// complete. It stops when ctx is done.
	Say func(ctx context.Context, text string, show func(*troupe.Event)) error
	// Choose takes a message that is about the model and not for the agent: it says what
	// is to be shown and which model answers from now on. Nil takes none.
	Choose func(ctx context.Context, text string) (now Answering, ok bool, err error)
	// Leaves says whether a message means to leave. The agent answers it, and then the
	// chat is over. Nil takes none for such.
	Leaves func(text string) bool
	// History is the file that keeps what the user said; empty keeps nothing.
	History string
	// Colour is whether to use any.
	Colour bool

	// In and Out are the terminal.
	In  *os.File
	Out io.Writer
}

// Answering is the model that answers from now on, and what is to be said of it.
type Answering struct {
	Said, Model string
	// Window is how many tokens the model holds, 0 where nobody knows.
	Window int
}

// A Crash is a panic in the part that draws the screen, with the place it came from.
type Crash struct {
	Value any
	Stack []byte
}

// Error says what the panic said.
func (c *Crash) Error() string { return fmt.Sprintf("panic: %v", c.Value) }

// Chat talks with the user until they leave or ctx is done. When it returns, no
// turn is under way and the terminal is as it was.
func Chat(ctx context.Context, c Config) error {
	h, historyErr := openHistory(c.History)
	turns, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := newModel(turns, c, h)
	if historyErr != nil {
		m.notice = historyErr.Error()
	}
	width := WidthOf(c.In)
	m.earlier(c.Out, width)
	greet(c, &m.styles, width)
	guarded := &guard{model: m}
	profile := colorprofile.ANSI
	if !c.Colour {
		profile = colorprofile.ASCII
	}
	p := tea.NewProgram(guarded,
		tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithoutSignalHandler(), tea.WithColorProfile(profile))
	m.send = p.Send
	stop := context.AfterFunc(ctx, func() { p.Send(leave{}) })
	_, err := p.Run()
	stop()
	cancel()
	m.turns.Wait()
	return errors.Join(err, guarded.crash())
}

// greet says whom one talks to, and how.
func greet(c Config, s *styles, width int) {
	var names []string
	for _, command := range c.Commands {
		names = append(names, command.Name)
	}
	fmt.Fprintln(c.Out, s.title.Render(OneLine(c.Title, width)))
	for _, line := range []string{strings.Join(names, "  "), "tab completes a command, ctrl-C stops a reply, ctrl-D or /quit leaves"} {
		if line != "" {
			fmt.Fprintln(c.Out, s.dim.Render(fold(Clean(line), width)))
		}
	}
	fmt.Fprintln(c.Out)
}

// guard ends the program where the model panics, so that the terminal is restored
// and the panic is reported like any other.
type guard struct {
	model  tea.Model
	failed *Crash
}

func (g *guard) crash() error {
	if g.failed == nil {
		return nil
	}
	return g.failed
}

func (g *guard) note() {
	if value := recover(); value != nil {
		g.failed = &Crash{value, debug.Stack()}
	}
}

// Init implements [tea.Model].
func (g *guard) Init() (cmd tea.Cmd) {
	defer g.note()
	return g.model.Init()
}

// Update implements [tea.Model].
func (g *guard) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	if g.failed != nil {
		return g, tea.Quit
	}
	func() {
		defer g.note()
		_, cmd = g.model.Update(msg)
	}()
	if g.failed != nil {
		cmd = tea.Quit
	}
	return g, cmd
}

// View implements [tea.Model].
func (g *guard) View() (v tea.View) {
	if g.failed != nil {
		return tea.NewView("")
	}
	defer g.note()
	return g.model.View()
}
