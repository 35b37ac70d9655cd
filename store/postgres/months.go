package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A month is year*100 + month: that in which a session began. All its events are kept
// under it.
type month int32

func monthOf(t time.Time) month { return month(t.UTC().Year()*100 + int(t.UTC().Month())) }

// oldestMonth is how long ago a session may have begun to have a partition of its month.
const oldestMonth = 20 * 365 * 24 * time.Hour

// monthFor returns the month to keep a session under whose first event has a time. A
// time that makes no sense is not worth a partition.
func monthFor(t, now time.Time) month {
	if t.After(now) || now.Sub(t) > oldestMonth {
		return monthOf(now)
	}
	return monthOf(t)
}

func (m month) next() month {
	if m%100 == 12 {
		return m + 89
	}
	return m + 1
}

func (m month) table(of string) string { return fmt.Sprintf("%s_%d_%02d", of, m/100, m%100) }

// partitioned are the tables that have a partition for each month.
var partitioned = []string{"events", "texts"}

// makeMonth makes sure that there are partitions for a month. They are attached, not
// created in their place, so that nobody who reads or writes has to wait.
func (s *Store) makeMonth(ctx context.Context, m month) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var there bool
		look := func() error {
			// What to_regclass says may be out of date within a transaction.
			return tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2)",
				s.schema, m.table("texts")).Scan(&there)
		}
		if err := look(); err != nil || there {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		if err := look(); err != nil || there {
			return err
		}
		if err := s.becomeOwner(ctx, tx); err != nil {
			return err
		}
		for _, table := range partitioned {
			statement := fmt.Sprintf("CREATE TABLE %[1]s (LIKE %[2]s INCLUDING DEFAULTS); ALTER TABLE %[2]s ATTACH PARTITION %[1]s FOR VALUES FROM (%[3]d) TO (%[4]d)",
				m.table(table), table, m, m+1)
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// makeMonths makes sure that there are partitions for sessions that begin now, and for
// those of the month to come.
func (s *Store) makeMonths(ctx context.Context) error {
	now := monthOf(time.Now())
	var n int
	err := s.pool.QueryRow(ctx, "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = ANY($2)",
		s.schema, []string{now.table("texts"), now.next().table("texts")}).Scan(&n)
	if err != nil || n == 2 {
		return err
	}
	if err := s.makeMonth(ctx, now); err != nil {
		return err
	}
	return s.makeMonth(ctx, now.next())
}
