package troupe

import (
	"cmp"
	"slices"
	"time"
)

// A DayCost is what the answers that an agent got from models on a day have cost, those
// included that came to nothing.
type DayCost struct {
	// Day is as in 2024-02-29, in UTC.
	Day   string  `json:"day"`
	Agent string  `json:"agent"`
	Cost  float64 `json:"cost"`
}

// AddCost adds what the event says was spent to sums, which are in the order of days and
// agents. A store adds up the events that it stores together, and adds that to what it has.
// What a fork begins with, which is stored together with it, was paid in another session.
func (e *Event) AddCost(sums []DayCost) []DayCost {
	cost := 0.0
	switch b := e.Body.(type) {
	case *SessionForked:
		return sums[:0]
	case *ModelReplied:
		cost = b.Cost
	case *ModelFailed:
		cost = b.Cost
	}
	if cost == 0 {
		return sums
	}
	return addCost(sums, DayCost{e.Time.UTC().Format(time.DateOnly), e.Agent, cost})
}

func addCost(sums []DayCost, one DayCost) []DayCost {
	at, found := slices.BinarySearchFunc(sums, one, compareCosts)
	if !found {
		return slices.Insert(sums, at, one)
	}
	sums[at].Cost += one.Cost
	return sums
}

// compareCosts orders by day and agent.
func compareCosts(a, b DayCost) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Agent, b.Agent))
}
