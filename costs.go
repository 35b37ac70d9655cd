package troupe

import (
	"cmp"
	"slices"
	"time"
)

// A DayCost is what the answers that an agent got from models on a day have cost.
type DayCost struct {
	// Day is as in 2024-02-29, in UTC.
	Day   string  `json:"day"`
	Agent string  `json:"agent"`
	Cost  float64 `json:"cost"`
}

// costsIn returns what events say was spent, by day and agent, in that order, for the store
// in memory. Package store has the same for others: what a fork begins with was paid in
// another session.
func costsIn(events []Event) (all []DayCost) {
	for i := paidElsewhere(events); i < len(events); i++ {
		replied, ok := events[i].Body.(*ModelReplied)
		if !ok || replied.Cost == 0 {
			continue
		}
		one := DayCost{events[i].Time.UTC().Format(time.DateOnly), events[i].Agent, replied.Cost}
		at, found := slices.BinarySearchFunc(all, one, compareCosts)
		if found {
			all[at].Cost += one.Cost
		} else {
			all = slices.Insert(all, at, one)
		}
	}
	return all
}

// compareCosts orders by day and agent.
func compareCosts(a, b DayCost) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Agent, b.Agent))
}

// paidElsewhere is how many events were copied when a session was forked, which stores
// them and the fork at once.
func paidElsewhere(events []Event) int {
	for i := len(events) - 1; i >= 0; i-- {
		if _, ok := events[i].Body.(*SessionForked); ok {
			return i
		}
	}
	return 0
}
