package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
)

// spentParts is how many parts there are of what an agent spends in a day: those who
// write to the same one wait for each other.
const spentParts = 32

// spendings are what a batch says was spent, in columns.
type spendings struct {
	part         int16
	days, agents []string
	costs        []float64
}

func spendingsIn(session string, events []troupe.Event) (s spendings) {
	var costs []troupe.DayCost
	for i := range events {
		costs = events[i].AddCost(costs)
	}
	for _, one := range costs {
		s.days = append(s.days, one.Day)
		s.agents = append(s.agents, clean(one.Agent))
		s.costs = append(s.costs, one.Cost)
	}
	if len(s.days) > 0 {
		h := fnv.New32a()
		h.Write([]byte(session))
		s.part = int16(h.Sum32() % spentParts)
	}
	return s
}

// values are those that addSpending names: none where nothing was spent.
func (s *spendings) values() []any {
	if len(s.days) == 0 {
		return nil
	}
	return []any{s.part, s.days, s.agents, s.costs}
}

// addSpending adds to what was spent if the statement before it has changed its session.
// Rows are in one order, so that no two writers wait for each other for good.
const addSpending = `, spending AS (
	INSERT INTO spent (day, agent, part, cost)
	SELECT n.day, n.agent, $23::smallint, sum(n.cost) FROM s, unnest($24::text[], $25::text[], $26::double precision[]) AS n (day, agent, cost)
	GROUP BY n.day, n.agent ORDER BY n.day COLLATE "C", n.agent COLLATE "C"
	ON CONFLICT (day, agent, part) DO UPDATE SET cost = spent.cost + EXCLUDED.cost
) ` + addEvents

// withSpending is an append that counts what was spent, too.
func withSpending(statement string) string {
	return strings.TrimSuffix(statement, " "+addEvents) + addSpending
}

// Costs implements [troupe.Store].
func (s *Store) Costs(ctx context.Context, since time.Time) iter.Seq2[troupe.DayCost, error] {
	return func(yield func(troupe.DayCost, error) bool) {
		var found []troupe.DayCost
		err := s.retrying(ctx, func(ctx context.Context) error {
			rows, err := s.pool.Query(ctx, "SELECT day, agent, sum(cost) FROM spent WHERE day >= $1 GROUP BY day, agent ORDER BY day, agent", since.UTC().Format(time.DateOnly))
			if err != nil {
				return err
			}
			found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[troupe.DayCost])
			return err
		})
		if err != nil {
			yield(troupe.DayCost{}, fmt.Errorf("what was spent: %w", err))
			return
		}
		for _, one := range found {
			if !yield(one, nil) {
				return
			}
		}
	}
}
