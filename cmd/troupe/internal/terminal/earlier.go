package terminal

import (
	"fmt"
	"io"
)

// A Said is something that was said before a conversation goes on.
type Said struct {
	By   Speaker
	Text string
}

// A Speaker is who said something.
type Speaker int

// The speakers: the agent, the user, and the program beside them.
const (
	Agent Speaker = iota
	User
	Aside
)

// earlier shows what was said before in the way in which it was shown then.
func (m *model) earlier(w io.Writer, width int) {
	for _, said := range m.config.Earlier {
		switch said.By {
		case User:
			fmt.Fprintln(w, m.styles.user.Render(fold("› "+Clean(said.Text), width)))
		case Agent:
			fmt.Fprintf(w, "\n%s\n\n", m.markdown.render(said.Text, width))
		case Aside:
			fmt.Fprintln(w, m.styles.dim.Render(fold("  "+Clean(said.Text), width)))
		}
	}
	if n := len(m.config.Earlier); n > 0 && m.config.Earlier[n-1].By != Agent {
		fmt.Fprintln(w)
	}
}
