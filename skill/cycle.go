package skill

import (
	"cmp"
	"maps"
	"slices"
	"strings"
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
	d := descent{needs: l.needs, state: make(map[string]int)}
	for _, name := range slices.Sorted(maps.Keys(l.needs)) {
		d.visit(name)
	}
	for _, way := range d.ways {
		var names []string
		certain := true
		for _, s := range way {
			names = append(names, s.from)
			certain = certain && s.declared
		}
		first := way[0]
		round := strings.Join(append(names, first.from), " → ")
		if certain {
			l.found = append(l.found, problem(CodeCycle, first.file, first.line, "these skills require each other: %s", round))
		} else {
			l.found = append(l.found, warning(CodeCycle, first.file, first.line, "these skills refer to each other: %s", round))
		}
	}
}

// A leg is a part of a way from skill to skill.
type leg struct {
	from string
	need
}

// A descent goes through needs depth first, each skill once.
type descent struct {
	needs map[string][]need
	state map[string]int // 1 + the place in path while a skill is on it, -1 afterwards
	path  []leg
	ways  [][]leg
}

func (d *descent) visit(name string) {
	d.state[name] = len(d.path) + 1
	for _, n := range d.needs[name] {
		d.path = append(d.path, leg{name, n})
		switch at := d.state[n.name]; {
		case at > 0:
			d.ways = append(d.ways, fromLowest(d.path[at-1:]))
		case at == 0:
			d.visit(n.name)
		}
		d.path = d.path[:len(d.path)-1]
	}
	d.state[name] = -1
}

// fromLowest turns a way round so that it begins with the same skill wherever it
// was entered.
func fromLowest(way []leg) []leg {
	lowest := slices.MinFunc(way, func(a, b leg) int { return cmp.Compare(a.from, b.from) })
	i := slices.IndexFunc(way, func(s leg) bool { return s.from == lowest.from })
	return append(slices.Clone(way[i:]), way[:i]...)
}
