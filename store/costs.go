package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// CostsIn returns what events say was spent, by day and agent, in that order. A store adds
// it to what it has when it stores the events.
func CostsIn(events []troupe.Event) (all []troupe.DayCost) {
	first := 0 // what a fork begins with, which is stored together with it, was paid in another session
	for i := range events {
		if _, ok := events[i].Body.(*troupe.SessionForked); ok {
			first = i
		}
	}
	for i := range events[first:] {
		e := &events[first+i]
		replied, ok := e.Body.(*troupe.ModelReplied)
		if !ok || replied.Cost == 0 {
			continue
		}
		one := troupe.DayCost{Day: e.Time.UTC().Format(time.DateOnly), Agent: e.Agent, Cost: replied.Cost}
		at, found := slices.BinarySearchFunc(all, one, func(a, b troupe.DayCost) int {
			return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Agent, b.Agent))
		})
		if found {
			all[at].Cost += one.Cost
		} else {
			all = slices.Insert(all, at, one)
		}
	}
	return all
}
