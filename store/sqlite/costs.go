package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"github.com/troupe-dev/troupe"
)

// spend adds to what was spent.
func (w *writer) spend(more []troupe.DayCost) error {
	for _, one := range more {
		_, err := w.exec("INSERT INTO spent (day, agent, cost) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET cost = cost + excluded.cost", one.Day, one.Agent, one.Cost)
		if err != nil {
			return err
		}
	}
	return nil
}

// Costs implements [troupe.Store].
func (r *Reader) Costs(ctx context.Context, since time.Time) iter.Seq2[troupe.DayCost, error] {
	return func(yield func(troupe.DayCost, error) bool) {
		var found []troupe.DayCost
		err := r.file.read(ctx, func(db *sql.DB) (err error) {
			found, err = r.spent(ctx, db, since)
			return err
		})
		if err != nil {
			yield(troupe.DayCost{}, fmt.Errorf("what was spent: %w", r.readError(ctx, err)))
			return
		}
		for _, one := range found {
			if !yield(one, nil) {
				return
			}
		}
	}
}

func (r *Reader) spent(ctx context.Context, db *sql.DB, since time.Time) (found []troupe.DayCost, err error) {
	rows, err := r.prepared.query(ctx, db, "SELECT day, agent, cost FROM spent WHERE day >= ? ORDER BY day, agent", since.UTC().Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one troupe.DayCost
		if err := rows.Scan(&one.Day, &one.Agent, &one.Cost); err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, rows.Err()
}
