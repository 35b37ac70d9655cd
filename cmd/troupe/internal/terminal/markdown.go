package terminal

import (
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	xansi "github.com/charmbracelet/x/ansi"
)

// maxProse is the width of the widest line of prose: longer ones are hard to read.
const maxProse = 100

// maxRendered bounds the markdown that is laid out. What is larger is shown as it is.
const maxRendered = 64 << 10

// markdown lays out text for a terminal of some width.
type markdown struct {
	style    ansi.StyleConfig
	width    int
	renderer *glamour.TermRenderer
}

// render returns the text as lines that fit the width.
func (m *markdown) render(text string, width int) string {
	text = Clean(text)
	if width < 10 || len(text) > maxRendered {
		return fold(text, width)
	}
	if m.renderer == nil || m.width != width {
		r, err := glamour.NewTermRenderer(glamour.WithStyles(m.style), glamour.WithWordWrap(min(width, maxProse)))
		if err != nil {
			return fold(text, width)
		}
		m.renderer, m.width = r, width
	}
	laidOut, ok := layOut(m.renderer, text)
	if !ok {
		return fold(text, width)
	}
	return fold(trimLines(laidOut), width)
}

// layOut survives a text that the renderer does not: what a model says must not end
// the program.
func layOut(r *glamour.TermRenderer, text string) (laidOut string, ok bool) {
	defer func() {
		if recover() != nil {
			laidOut, ok = "", false
		}
	}()
	laidOut, err := r.Render(text)
	return laidOut, err == nil
}

// fold breaks the lines that are wider than the terminal, between words if it can.
func fold(text string, width int) string {
	if width < 1 {
		return text
	}
	// Wrap leaves a hyphen at the end of a line that is full.
	return xansi.Hardwrap(xansi.Wrap(text, width, ""), width, true)
}

// Fold breaks the lines of a text that are wider than a terminal, between words if it can,
// and begins what they go on with by an indent.
func Fold(text string, width int, indent string) string {
	if width <= 2*len(indent) {
		indent = ""
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		first, _, isWide := strings.Cut(fold(line, width), "\n")
		out = append(out, strings.TrimRight(first, " "))
		if isWide {
			// The rest has less room: it is folded anew, from where the line was broken.
			rest := strings.TrimLeft(line[min(len(line), len(first)):], " ")
			for part := range strings.SplitSeq(fold(rest, width-len(indent)), "\n") {
				out = append(out, indent+strings.TrimRight(part, " "))
			}
		}
	}
	return strings.Join(out, "\n")
}

// trimLines drops blanks that only pad lines, and empty lines at both ends.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		seen := strings.TrimRight(xansi.Strip(line), " ")
		lines[i] = xansi.Truncate(line, xansi.StringWidth(seen), "")
		if seen == "" {
			lines[i] = ""
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
