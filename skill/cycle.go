package skill

import (
	"strings"

	"github.com/troupe-dev/troupe/internal/circle"
)

// A need is one skill naming another.
type need struct {
	mention
	file     string
	declared bool // in the header, as required
}

// cycles reports the ways round by which a skill needs itself. One whose skills all
// require the next is an error; one that their texts only mention may be meant.
func (l *linter) cycles() {
	for _, way := range circle.Find(l.needs, func(n need) string { return n.name }) {
		var names []string
		certain := true
		for _, leg := range way {
			names = append(names, leg.From)
			certain = certain && leg.Need.declared
		}
		first := way[0].Need
		round := strings.Join(append(names, way[0].From), " → ")
		if certain {
			l.found = append(l.found, problem(CodeCycle, first.file, first.line, "these skills require each other: %s", round))
		} else {
			l.found = append(l.found, warning(CodeCycle, first.file, first.line, "these skills refer to each other: %s", round))
		}
	}
}
