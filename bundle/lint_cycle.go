package bundle

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A call is one file having another carried out.
type call struct {
	to          string
	line        int
	conditional bool
}

func (l *linter) addCall(from string, c call) { l.calls[from] = append(l.calls[from], c) }

// cycles reports the ways round by which a file has itself carried out. One that
// nothing interrupts is an error.
func (l *linter) cycles() {
	d := &descent{calls: l.calls, state: make(map[string]int)}
	for _, file := range slices.Sorted(maps.Keys(l.calls)) {
		d.visit(file)
	}
	for _, way := range d.ways {
		var names []string
		certain := true
		for _, step := range way {
			names = append(names, step.from)
			certain = certain && !step.conditional
		}
		first := way[0]
		names = append(names, first.from)
		if certain {
			l.wrong(CodeCycle, first.from, first.line, "this never ends: %s; make one of the calls depend on a condition", strings.Join(names, " → "))
		} else {
			l.warn(CodeCycle, first.from, first.line, "this goes in circles: %s; see that a condition ends it", strings.Join(names, " → "))
		}
	}
}

// A leg is a part of a way.
type leg struct {
	from string
	call
}

// A descent goes through calls depth first, each file once.
type descent struct {
	calls map[string][]call
	state map[string]int // 1 + the place in path while a file is on it, -1 afterwards
	path  []leg
	ways  [][]leg
}

func (d *descent) visit(file string) {
	d.state[file] = len(d.path) + 1
	for _, c := range d.calls[file] {
		d.path = append(d.path, leg{file, c})
		switch place := d.state[c.to]; {
		case place > 0:
			d.ways = append(d.ways, fromLowest(d.path[place-1:]))
		case place == 0:
			d.visit(c.to)
		}
		d.path = d.path[:len(d.path)-1]
	}
	d.state[file] = -1
}

// fromLowest turns a way round so that it begins with the same file wherever it
// was entered.
func fromLowest(way []leg) []leg {
	lowest := slices.MinFunc(way, func(a, b leg) int { return cmp.Compare(a.from, b.from) })
	i := slices.IndexFunc(way, func(s leg) bool { return s.from == lowest.from })
	return append(slices.Clone(way[i:]), way[:i]...)
}
