package server

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// costly is a model whose every answer costs half a dollar.
type costly struct{}

func (costly) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		cost := 0.5
		if yield(troupe.Chunk{Text: "Dear."}, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop, Cost: &cost}}, nil)
		}
	}
}

// What a month may cost bounds everybody: who comes when it is spent is told when it goes
// on, what is under way comes to its end, and an operator who raises it lets others begin.
func TestAMonthsBudgetBoundsEverybody(t *testing.T) {
	var budget atomic.Int64 // in cents
	budget.Store(75)
	w := open(t, clerk(t, costly{}), withUsers, func(c *Config) {
		c.Operators = []string{"ann"}
		c.MonthBudget = func() float64 { return float64(budget.Load()) / 100 }
		c.StoreSize = func(context.Context) (int, int64, error) { return 7, 1 << 20, nil }
	})
	first := w.session()
	w.talk(first, "one")
	w.talk(w.session(), "two") // it was begun before everything was spent
	var spent spendingView
	w.want(http.StatusOK, &spent, "GET", "/api/spending", nil)
	if spent.Month != 1 || spent.Budget != 0.75 || spent.Usual != 0.5 || spent.Until.IsZero() {
		t.Errorf("%+v", spent)
	}
	if len(spent.Agents) != 1 || spent.Agents[0].Cost != 1 || spent.Sessions < 2 || spent.Dearest != 0.5 {
		t.Errorf("%+v", spent)
	}
	status, text := w.do("POST", "/api/sessions/"+w.session()+"/messages", message{Text: "three"})
	if next := monthOf(time.Now().UTC()).AddDate(0, 1, 0).Format("2 January"); status != http.StatusTooManyRequests || !strings.Contains(text, "budget of $0.75 is spent") || !strings.Contains(text, next) {
		t.Errorf("%d %s", status, text)
	}
	response := w.send(t.Context(), "POST", "/api/sessions/"+w.session()+"/messages", message{Text: "three"})
	response.Body.Close()
	if wait, err := strconv.Atoi(response.Header.Get("Retry-After")); err != nil || time.Until(nextMonth(time.Now()))-time.Duration(wait)*time.Second > time.Minute || wait > 32*24*3600 {
		t.Errorf("to be tried again after %q", response.Header.Get("Retry-After"))
	}
	// Who deletes what they have paid for has paid for it all the same.
	w.want(http.StatusNoContent, nil, "DELETE", "/api/sessions/"+first, nil)
	if status, text := w.do("POST", "/api/sessions/"+w.session()+"/messages", message{Text: "three"}); status != http.StatusTooManyRequests {
		t.Errorf("%d %s", status, text)
	}
	budget.Store(1000)
	w.talk(w.session(), "three")

	var people []personView
	w.want(http.StatusOK, &people, "GET", "/api/people", nil)
	if people[0].Seen.IsZero() || !people[1].Seen.IsZero() {
		t.Errorf("ann is here and bob never was: %+v", people)
	}
	w.want(http.StatusOK, nil, "GET", "/api/me", nil, as(tokenOfBob))
	if w.want(http.StatusOK, &people, "GET", "/api/people", nil); people[1].Seen.IsZero() {
		t.Errorf("bob was here: %+v", people)
	}
	w.renew() // whoever had something run is known to have been here
	seen, err := w.server.lastSeen(t.Context(), "ann")
	if err != nil || seen.IsZero() {
		t.Errorf("ann was last here %v, %v", seen, err)
	}
}

func TestABudgetLastsUntil(t *testing.T) {
	now := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name       string
		left, week float64
		want       time.Time
	}{
		{"ten days at this pace", 10, 7, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)},
		{"beyond the month", 30, 7, time.Time{}},
		{"nothing was spent", 30, 0, time.Time{}},
		{"nothing is left", 0, 7, now},
		{"a hundred years", 1e9, 1, time.Time{}},
	} {
		if got := usedUp(now, c.left, c.week); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// An amount is written as the page writes it: see money of format.js.
func TestABudgetIsSaidWithAllOfItsDigits(t *testing.T) {
	for budget, want := range map[float64]string{0.002: "$0.002 ", 0.75: "$0.75 ", 0.5: "$0.50 ", 20: "$20 ", 1234.125: "$1,234.125 "} {
		if said := (&MonthSpent{Budget: budget}).Error(); !strings.Contains(said, "budget of "+want+"is spent") || strings.Contains(said, "month_cost") {
			t.Errorf("%v: %s", budget, said)
		}
	}
}
