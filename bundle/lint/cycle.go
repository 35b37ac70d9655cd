package lint

import (
	"cmp"
	"strings"

	"github.com/troupe-dev/troupe/internal/circle"
)

// A call is one file having another carried out.
type call struct {
	to          string
	file        string // that says so, if it is not the caller itself
	line        int
	conditional bool
}

func (l *linter) addCall(from string, c call) { l.calls[from] = append(l.calls[from], c) }

// cycles reports the ways round by which a file has itself carried out. One that
// nothing interrupts is an error.
func (l *linter) cycles() {
	for _, way := range circle.Find(l.calls, func(c call) string { return c.to }) {
		var names []string
		certain := true
		for _, leg := range way {
			names = append(names, leg.From)
			certain = certain && !leg.Need.conditional
		}
		first, line := cmp.Or(way[0].Need.file, way[0].From), way[0].Need.line
		names = append(names, way[0].From)
		if certain {
			l.wrong(CodeCycle, first, line, "this never ends: %s; make one of the calls depend on a condition", strings.Join(names, " → "))
		} else {
			l.warn(CodeCycle, first, line, "this goes in circles: %s; see that a condition ends it", strings.Join(names, " → "))
		}
	}
}
