package troupetest

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// inBranchOrder moves what happened in concurrent branches of a step together, the
// first branch first. All else stays in the order it happened in.
func inBranchOrder(events []troupe.Event) []troupe.Event {
	type placed struct {
		troupe.Event
		key []int
	}
	list := make([]placed, len(events))
	first := map[string]int{} // when something happened first below a step, by path
	began := 0
	for i, e := range events {
		if e.Parent == "" && e.Step == "0" {
			// A pass over the run begins or ends here, and no branch is open.
			began = i
			clear(first)
		}
		list[i] = placed{e, slices.Concat([]int{began}, placeOf(&e, i, first), []int{i})}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return slices.Compare(a.key, b.key) })
	ordered := make([]troupe.Event, len(events))
	for i := range list {
		ordered[i] = list[i].Event
	}
	return ordered
}

// placeOf says where event i stands: for each step from the root run down, when it
// was first heard of, and the branch of it that leads on. What happens at a step
// itself comes after all that happened in its branches.
func placeOf(e *troupe.Event, i int, first map[string]int) (place []int) {
	path := ""
	_, below, _ := strings.Cut(e.Run+":"+e.Step, ":")
	for segment := range strings.SplitSeq(below, ":") {
		for pair := range slices.Chunk(strings.Split(segment, "/"), 2) {
			path += ":" + pair[0]
			if _, known := first[path]; !known {
				first[path] = i
			}
			heard, branch := first[path], math.MaxInt
			if len(pair) == 2 {
				path += "/" + pair[1]
				branch, _ = strconv.Atoi(pair[1])
			}
			place = append(place, heard, branch)
		}
	}
	return place
}
