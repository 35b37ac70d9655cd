// Package circle finds circles among things that need each other.
package circle

import (
	"cmp"
	"slices"
)

// A Leg is a part of a way: what is needed by something, and how.
type Leg[Need any] struct {
	From string
	Need Need
}

// Find returns the ways that lead back to where they began, each once and beginning
// with its lowest name. Needs lists what each thing needs, to names the thing that is
// needed. The search takes time in proportion to the needs, so of circles that share
// a part some may be left out; there are none if it returns none.
func Find[Need any](needs map[string][]Need, to func(Need) string) [][]Leg[Need] {
	d := descent[Need]{needs: needs, to: to, state: map[string]int{}}
	names := make([]string, 0, len(needs))
	for name := range needs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if d.state[name] == 0 {
			d.visit(name)
		}
	}
	return d.ways
}

// A descent goes through needs depth first, each thing once.
type descent[Need any] struct {
	needs map[string][]Need
	to    func(Need) string
	state map[string]int // 1 + the place in path while a thing is on it, -1 afterwards
	path  []Leg[Need]
	ways  [][]Leg[Need]
}

func (d *descent[Need]) visit(name string) {
	d.state[name] = len(d.path) + 1
	for _, need := range d.needs[name] {
		d.path = append(d.path, Leg[Need]{name, need})
		switch at := d.state[d.to(need)]; {
		case at > 0:
			d.ways = append(d.ways, fromLowest(d.path[at-1:]))
		case at == 0:
			d.visit(d.to(need))
		}
		d.path = d.path[:len(d.path)-1]
	}
	d.state[name] = -1
}

// fromLowest turns a way round so that it begins with the same thing wherever it was
// entered.
func fromLowest[Need any](way []Leg[Need]) []Leg[Need] {
	lowest := slices.MinFunc(way, func(a, b Leg[Need]) int { return cmp.Compare(a.From, b.From) })
	i := slices.IndexFunc(way, func(l Leg[Need]) bool { return l.From == lowest.From })
	return append(slices.Clone(way[i:]), way[:i]...)
}
