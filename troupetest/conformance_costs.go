package troupetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// spending checks that what was spent is counted once, by whom and when, whatever
// becomes of the sessions it was spent in.
func (s *storeTest) spending() {
	first := time.Date(2024, 2, 28, 23, 59, 59, 0, time.UTC)
	paid := func(session string, seq int64, when time.Time, agent string, cost float64) troupe.Event {
		e := eventOf(session, seq, &troupe.ModelReplied{Message: &troupe.Message{Role: troupe.RoleAssistant, Text: `{"cost":7,"latency_ms":1}` + "\x00"}, Cost: cost, Model: "m"})
		e.Time, e.Agent = when, agent
		return e
	}
	one, two := sessionID(1), sessionID(2)
	s.append(paid(one, 1, first, "alex", 0.5), paid(one, 2, first.Add(time.Second), "alex", 0.25), paid(one, 3, first.Add(time.Second), "Ünal", 1))
	s.append(paid(one, 4, first.Add(2*time.Second), "alex", 0.25))
	s.expectConflict(paid(one, 4, first, "alex", 16))
	s.append(paid(two, 1, first.In(time.FixedZone("", 3600)), "alex", 2), eventOf(two, 2, &troupe.UserSaid{Text: "free"}), paid(two, 3, first, "alex", 0))
	want := []troupe.DayCost{{Day: "2024-02-28", Agent: "alex", Cost: 2.5}, {Day: "2024-02-29", Agent: "alex", Cost: 0.5}, {Day: "2024-02-29", Agent: "Ünal", Cost: 1}}
	s.expectSpent(time.Time{}, want)
	s.expectSpent(first, want)
	s.expectSpent(first.Add(time.Second), want[1:])
	s.expectSpent(first.Add(48*time.Hour), nil)
	if err := s.store.Delete(s.Context(), one); err != nil {
		s.Fatal(err)
	}
	s.expectSpent(first, want) // what is paid is paid

	three := sessionID(3) // a fork of another
	s.append(paid(three, 1, first, "alex", 32), eventOf(three, 2, &troupe.SessionForked{From: two, After: 1}))
	s.expectSpent(first, want)

	many := 40 // sessions that pay at the same time
	failed := make(chan error, many)
	for n := range many {
		go func() {
			id := sessionID(10 + n)
			failed <- s.store.Append(s.Context(), id, paid(id, 1, first.Add(72*time.Hour), fmt.Sprint("agent ", n%2), 0.25))
		}()
	}
	for range many {
		if err := <-failed; err != nil {
			s.Error(err)
		}
	}
	s.expectSpent(first.Add(48*time.Hour), []troupe.DayCost{{Day: "2024-03-02", Agent: "agent 0", Cost: 5}, {Day: "2024-03-02", Agent: "agent 1", Cost: 5}})
}

func (s *storeTest) expectSpent(since time.Time, want []troupe.DayCost) {
	s.Helper()
	var got []troupe.DayCost
	for one, err := range s.store.Costs(s.Context(), since) {
		if err != nil {
			s.Fatal(err)
		}
		got = append(got, one)
	}
	if !slices.Equal(got, want) {
		s.Errorf("spent since %v: %v, want %v", since, got, want)
	}
}
