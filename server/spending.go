package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
)

// spendingView is what was spent in the last 31 days.
type spendingView struct {
	Total    float64 `json:"total"`
	Sessions int     `json:"sessions"`
	// Usual is what the session in the middle cost, and Dearest the dearest, of the latest
	// thousand that cost anything.
	Usual   float64    `json:"usual"`
	Dearest float64    `json:"dearest"`
	Days    []daySpent `json:"days"`
	// Agents are those that asked the models, on their own or for others.
	Agents []agentSpent `json:"agents"`
	// Month is what was spent in this calendar month (UTC), Budget what may be, 0 for no
	// limit. Until is when the budget is used up at the pace of the last seven days, left out
	// where it outlasts the month.
	Month  float64   `json:"month"`
	Budget float64   `json:"budget,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

type daySpent struct {
	Day  string  `json:"day"`
	Cost float64 `json:"cost"`
}

type agentSpent struct {
	Agent string  `json:"agent"`
	Cost  float64 `json:"cost"`
}

// usualOf is of how many sessions, the latest, it is said what one costs.
const usualOf = 1000

// eachSpent says what each of the latest sessions has cost since a day, and how many
// there are in all.
func (s *Server) eachSpent(ctx context.Context, since time.Time) (each []float64, all int, err error) {
	first := since.UTC().Format(time.DateOnly)
	for info, err := range s.config.Store.Sessions(ctx, troupe.SessionFilter{Since: since}) {
		if err != nil {
			return nil, 0, err
		}
		if all++; all > usualOf {
			continue
		}
		known, err := s.summaryOf(ctx, &info)
		if err != nil {
			return nil, 0, err
		}
		own := 0.0
		known.mu.Lock()
		for day, cost := range known.days {
			if day >= first {
				own += cost
			}
		}
		known.mu.Unlock()
		if own > 0 {
			each = append(each, own)
		}
	}
	slices.Sort(each)
	return each, all, nil
}

func (s *Server) showSpending(c *call) (spendingView, error) {
	now := time.Now().UTC()
	since := now.AddDate(0, 0, -31)
	days, agents := map[string]float64{}, map[string]float64{}
	v := spendingView{Days: []daySpent{}, Agents: []agentSpent{}}
	for one, err := range s.config.Store.Costs(c.r.Context(), since) {
		if err != nil {
			return v, err
		}
		days[one.Day] += one.Cost
		agents[one.Agent] += one.Cost
		v.Total += one.Cost
	}
	each, all, err := s.eachSpent(c.r.Context(), since)
	if err != nil {
		return v, err
	}
	if v.Sessions = all; len(each) > 0 {
		v.Usual, v.Dearest = each[len(each)/2], each[len(each)-1]
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		v.Days = append(v.Days, daySpent{day, days[day]})
	}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		v.Agents = append(v.Agents, agentSpent{agent, agents[agent]})
	}
	v.Month, v.Budget = spentIn(days, monthOf(now), now), s.monthBudget()
	v.Until = usedUp(now, v.Budget-v.Month, spentIn(days, now.AddDate(0, 0, -6), now))
	if v.Budget == 0 {
		v.Until = time.Time{}
	}
	return v, nil
}

// monthOf is when the month of a time begins.
func monthOf(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// spentIn is what was spent from one day to another.
func spentIn(days map[string]float64, from, to time.Time) (sum float64) {
	for day, cost := range days {
		if day >= from.UTC().Format(time.DateOnly) && day <= to.UTC().Format(time.DateOnly) {
			sum += cost
		}
	}
	return sum
}

// usedUp is when what is left is used up where a week takes as much as the last one, zero
// where that is not in this month.
func usedUp(now time.Time, left, week float64) time.Time {
	if left <= 0 {
		return now
	}
	days := left / (week / 7)
	if week <= 0 || days > 31 {
		return time.Time{}
	}
	until := now.Add(time.Duration(days * float64(24*time.Hour)))
	if !until.Before(monthOf(now).AddDate(0, 1, 0)) {
		return time.Time{}
	}
	return until
}

// A month is what was spent in one, as it was last counted.
type month struct {
	mu    sync.Mutex
	begun time.Time // when it was begun to be counted
	spent float64
}

func (s *Server) monthBudget() float64 {
	if s.config.MonthBudget == nil {
		return 0
	}
	return s.config.MonthBudget()
}

// mayBegin turns away whoever would begin a run that nobody wants to pay for.
func (s *Server) mayBegin(ctx context.Context, user string) error {
	if budget := s.monthBudget(); budget > 0 {
		spent, err := s.spentThisMonth(ctx, time.Now())
		if err != nil {
			return fmt.Errorf("what was spent this month cannot be read: %w", err)
		}
		if spent >= budget {
			return &MonthSpent{Budget: budget, Until: nextMonth(time.Now())}
		}
	}
	if s.config.Admit == nil {
		return nil
	}
	return s.config.Admit(ctx, user)
}

// spentThisMonth counts what is on record. Of those who ask at the same time, the first
// counts for all that came while it was waited for.
func (s *Server) spentThisMonth(ctx context.Context, now time.Time) (float64, error) {
	m := &s.month
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun.After(now) {
		return m.spent, nil
	}
	begun := time.Now()
	sum, err := spentSince(ctx, s.config.Store, monthOf(now.UTC()))
	if err != nil {
		return 0, err
	}
	m.begun, m.spent = begun, sum
	return sum, nil
}

// A MonthSpent turns away a run because a month's budget is spent.
type MonthSpent struct {
	Budget float64
	// Until is when the next month begins.
	Until time.Time
}

// Error says when it goes on.
func (e *MonthSpent) Error() string {
	return fmt.Sprintf("this month's budget of %s is spent; it begins anew on %s, or whoever runs Troupe raises it under Settings, Limits", words.Dollars(e.Budget), e.Until.Format("2 January"))
}

// CheckMonth is a [*MonthSpent] error where what a store has on record for this month is
// as much as a budget. A budget of 0 is none.
func CheckMonth(ctx context.Context, store troupe.Store, budget float64) error {
	if budget <= 0 {
		return nil
	}
	now := time.Now()
	spent, err := spentSince(ctx, store, monthOf(now.UTC()))
	if err != nil {
		return fmt.Errorf("what was spent this month cannot be read: %w", err)
	}
	if spent < budget {
		return nil
	}
	return &MonthSpent{Budget: budget, Until: nextMonth(now)}
}

func nextMonth(now time.Time) time.Time { return monthOf(now.UTC()).AddDate(0, 1, 0) }

func spentSince(ctx context.Context, store troupe.Store, since time.Time) (sum float64, err error) {
	for one, err := range store.Costs(ctx, since) {
		if err != nil {
			return 0, err
		}
		sum += one.Cost
	}
	return sum, nil
}
