package edit

import (
	"fmt"
	"strings"
)

// A line of a text: where it begins, and its indentation and content without its end.
type line struct {
	start, end      int // end is after the line's end
	indent, content string
}

func linesOf(text string) (lines []line) {
	at := 0
	for raw := range strings.Lines(text) {
		body := strings.TrimRight(raw, " \t\r\n")
		content := strings.TrimLeft(body, " \t")
		lines = append(lines, line{at, at + len(raw), body[:len(body)-len(content)], content})
		at += len(raw)
	}
	return lines
}

// An indentation says how indentation in an edit becomes that of the file: unit
// spaces for a tab, or the other way round.
type indentation struct {
	unit   int
	toTabs bool
}

func (n indentation) of(indent string) (string, bool) {
	switch {
	case n.unit == 0:
		return indent, true
	case n.toTabs:
		if strings.Contains(indent, "\t") || len(indent)%n.unit != 0 {
			return "", false
		}
		return strings.Repeat("\t", len(indent)/n.unit), true
	case strings.Contains(indent, " "):
		return "", false
	}
	return strings.Repeat(" ", len(indent)*n.unit), true
}

// shifted finds whole lines whose indentation differs by one and the same shift, and
// shifts the replacement alike.
func (e *Edit) shifted(text string) (found []span, note string) {
	search := linesOf(e.Search)
	first := firstFilled(search)
	if first < 0 {
		return nil, ""
	}
	file := linesOf(text)
	for at := range file {
		if at+len(search) > len(file) || file[at+first].content != search[first].content || !sameContent(file[at:], search) {
			continue
		}
		if replacement, ok := e.shiftedTo(file[at:at+len(search)], search); ok {
			s := span{start: file[at].start, end: file[at+len(search)-1].end, text: withLineEnds(replacement, text)}
			if last := text[s.start:s.end]; !strings.HasSuffix(e.Search, "\n") && strings.HasSuffix(last, "\n") {
				s.end -= 1
				if strings.HasSuffix(last, "\r\n") {
					s.end--
				}
			}
			if n := len(found); n > 0 && found[n-1].end > s.start {
				continue
			}
			found = append(found, s)
		}
	}
	return found, fmt.Sprintf("matched after ignoring indentation; the file uses %s", indentName(file))
}

func firstFilled(lines []line) int {
	for i, l := range lines {
		if l.content != "" {
			return i
		}
	}
	return -1
}

func sameContent(file, search []line) bool {
	for i, l := range search {
		if file[i].content != l.content {
			return false
		}
	}
	return true
}

// shiftedTo returns the replacement with the shift that makes the search these lines,
// false where no single shift does.
func (e *Edit) shiftedTo(file, search []line) (string, bool) {
	ways := []indentation{{}, {4, true}, {2, true}, {8, true}, {4, false}, {2, false}, {8, false}}
	for _, way := range ways {
		add, cut, ok := way.shift(file, search)
		if !ok {
			continue
		}
		var b strings.Builder
		for raw := range strings.Lines(e.Replace) {
			content := strings.TrimLeft(raw, " \t")
			if strings.TrimSpace(content) == "" {
				b.WriteString(content)
				continue
			}
			indent, ok := way.of(raw[:len(raw)-len(content)])
			if !ok || !strings.HasPrefix(indent, cut) {
				return "", false
			}
			b.WriteString(add + indent[len(cut):] + content)
		}
		return b.String(), true
	}
	return "", false
}

// shift returns what is added to or cut from the front of every line of the search.
func (n indentation) shift(file, search []line) (add, cut string, ok bool) {
	known := false
	for i, l := range search {
		if l.content == "" {
			continue
		}
		indent, ok := n.of(l.indent)
		if !ok {
			return "", "", false
		}
		var a, c string
		switch have := file[i].indent; {
		case strings.HasSuffix(have, indent):
			a = have[:len(have)-len(indent)]
		case strings.HasSuffix(indent, have):
			c = indent[:len(indent)-len(have)]
		default:
			return "", "", false
		}
		if known && (a != add || c != cut) {
			return "", "", false
		}
		add, cut, known = a, c, true
	}
	return add, cut, known
}

func indentName(lines []line) string {
	tabs, spaces := 0, 0
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l.indent, "\t"):
			tabs++
		case l.indent != "":
			spaces++
		}
	}
	if tabs > spaces {
		return "tabs"
	}
	return "spaces"
}
