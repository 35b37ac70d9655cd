package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Durability says what a server's settings make of an acknowledged event.
type Durability struct {
	Place  string // where it is, without the password
	User   string // who has looked
	Server string // its version
	// FSync, FullPageWrites and SynchronousCommit are the settings of these names.
	FSync, FullPageWrites bool
	SynchronousCommit     string
	// Checksums says that damaged pages are noticed.
	Checksums bool
	// Standbys are those that are connected now.
	Standbys []Standby
	// Ahead is by how much this machine's clock is ahead of the server's.
	Ahead time.Duration
	// Waiting is how many runs have waited for a worker for more than a minute, by queue.
	Waiting map[string]int
	// Workers is how many processes take runs from each queue, nil where that is not known: an
	// older Troupe made the tables.
	Workers map[string]int
	// Queues are those that workers may ask for, nil where that is not known. Whoever knows
	// them sets it, and is given no advice that is then refused.
	Queues []string
}

// A Standby is a server that takes over when the first one is lost.
type Standby struct {
	Name string
	// Synchronous says that a commit waits for it.
	Synchronous bool
	// Behind is how many bytes of the log it does not have yet.
	Behind int64
	// Hidden says that the user may see neither.
	Hidden bool
}

// A Problem is a way to lose what was acknowledged.
type Problem struct {
	What string
	// Fix says what to do.
	Fix string
}

// Problems returns what can be lost, and what to do about it.
func (d *Durability) Problems() (problems []Problem) {
	if !d.FSync {
		problems = append(problems, Problem{"fsync is off: a crash of the machine can destroy the database", "set fsync = on"})
	}
	if !d.FullPageWrites {
		problems = append(problems, Problem{"full_page_writes is off: a crash of the machine can leave half-written pages", "set full_page_writes = on"})
	}
	if d.SynchronousCommit == "off" {
		problems = append(problems, Problem{"synchronous_commit is off: a crash loses the events of the last moments although they were acknowledged", "set synchronous_commit = on"})
	}
	if what := clockProblem(d.Ahead); what != "" {
		problems = append(problems, Problem{what, "set the clock of this machine or of the database's, as by timedatectl set-ntp true"})
	}
	for _, queue := range slices.Sorted(maps.Keys(d.Waiting)) {
		where, command := "", "troupe worker"
		if queue != "" {
			where, command = " in queue "+queue, "troupe worker --queue "+queue
		}
		fix := "start '" + command + "' with those files, or cancel the runs"
		if queue != "" && d.Queues != nil && !slices.Contains(d.Queues, queue) {
			fix = "add " + queue + " to queues again and " + fix
		}
		problems = append(problems, Problem{
			fmt.Sprintf("%s waited%s for a worker for more than a minute: none is there, none has the files that the run began with, or the queue's rate holds it back", have(d.Waiting[queue], "run"), where),
			fix,
		})
	}
	return append(problems, d.standbyProblems()...)
}

func (d *Durability) standbyProblems() (problems []Problem) {
	var late, hidden []string
	for _, s := range d.Standbys {
		switch {
		case s.Hidden:
			hidden = append(hidden, s.Name)
		case !s.Synchronous:
			late = append(late, fmt.Sprintf("%s (%d bytes behind)", s.Name, s.Behind))
		}
	}
	switch {
	case len(hidden) > 0:
		problems = append(problems, Problem{
			fmt.Sprintf("a standby is connected (%s), and user %q may not see whether commits wait for it: if they do not, what it does not have is lost when it takes over", strings.Join(hidden, ", "), d.User),
			fmt.Sprintf("GRANT pg_monitor TO %s, and look again", pgx.Identifier{d.User}.Sanitize()),
		})
	case len(late) > 0 && len(late) == len(d.Standbys):
		problems = append(problems, Problem{
			"no standby is synchronous: " + strings.Join(late, ", ") + ": when one takes over, acknowledged events that it does not have are lost, and tools that ran for them may run again",
			"set synchronous_standby_names",
		})
	case d.SynchronousCommit == "local" && len(d.Standbys) > 0:
		problems = append(problems, Problem{"synchronous_commit is local: no commit waits for a standby, and what it does not have is lost when it takes over", "set synchronous_commit = on"})
	}
	return problems
}

// have begins a sentence on what so many things have done.
func have(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " has"
	}
	return fmt.Sprintf("%d %ss have", n, thing)
}

// Examine looks at the database at an address, and changes nothing. It fails where a
// store could not be opened for writing.
func Examine(ctx context.Context, address string) (Durability, error) {
	s, err := configure(address, Options{})
	if err != nil {
		return Durability{}, err
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return Durability{}, s.explain(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := s.examine(ctx, conn); err != nil {
		return Durability{}, s.explain(err)
	}
	if err := s.checkVersion(ctx, conn); err != nil && !errors.Is(err, ErrNoStore) {
		if older, ok := errors.AsType[*VersionError](err); !ok || older.Version > older.Known {
			return Durability{}, s.explain(err)
		}
	}
	d, err := durability(ctx, conn)
	d.Place, d.User = s.at(answering(ctx, conn)), s.user
	if err == nil {
		d.Ahead, err = ahead(ctx, conn, time.Now)
	}
	if err != nil {
		return d, s.explain(err)
	}
	switch err := s.checkVersion(ctx, conn); {
	case errors.Is(err, ErrNoStore):
		d.Workers = map[string]int{}
	case err == nil:
		if d.Waiting, err = waiting(ctx, conn); err == nil {
			d.Workers, err = counts(ctx, conn, "SELECT queue, count(*) FROM owners o, unnest(o.queues) queue WHERE "+isAlive+" GROUP BY queue")
		}
		return d, s.explain(err)
	}
	return d, nil
}

// clockTolerance is how far clocks may be apart before anybody is told.
const clockTolerance = 5 * time.Second

// clockProblem says what is wrong with a clock that is ahead by so much, or behind.
func clockProblem(ahead time.Duration) string {
	which := "ahead of"
	if ahead < 0 {
		which = "behind"
	}
	if ahead.Abs() < clockTolerance {
		return ""
	}
	return fmt.Sprintf("this machine's clock is %v %s the database's: schedules begin at the wrong time, and times on record are wrong; leases go by the database's clock, so that nothing is lost", ahead.Abs().Round(time.Second), which)
}

// ahead returns by how much a clock is ahead of the server's. It is asked twice, since
// the first answer may take longer.
func ahead(ctx context.Context, db querier, now func() time.Time) (off time.Duration, err error) {
	for range 2 {
		var there time.Time
		before := now()
		if err := db.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
			return 0, err
		}
		after := now()
		off = before.Add(after.Sub(before) / 2).Sub(there)
	}
	return off, nil
}

// ClockProblem says in a sentence what is wrong with this machine's clock, if anything is:
// it is compared with the database's.
func (s *Store) ClockProblem(ctx context.Context) (string, error) {
	off, err := ahead(ctx, s.pool, time.Now)
	return clockProblem(off), err
}

// waiting returns how many runs have waited for more than a minute, by queue.
func waiting(ctx context.Context, db querier) (map[string]int, error) {
	return counts(ctx, db, `SELECT j.queue, count(*) FROM jobs j LEFT JOIN sessions ON sessions.id = j.session LEFT JOIN owners o ON o.name = sessions.owner
WHERE j.since < clock_timestamp() - interval '1 minute' AND NOT coalesce(`+isAlive+`, false) GROUP BY j.queue`)
}

// counts returns the numbers that a query has for names.
func counts(ctx context.Context, db querier, query string) (map[string]int, error) {
	rows, err := db.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	found := map[string]int{}
	var name string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error { found[name] = n; return nil })
	return found, err
}

// durability returns how durable a server makes what is stored.
func durability(ctx context.Context, db querier) (d Durability, err error) {
	err = db.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync')::bool, current_setting('full_page_writes')::bool,
	current_setting('synchronous_commit'), current_setting('data_checksums')::bool`).Scan(&d.Server, &d.FSync, &d.FullPageWrites, &d.SynchronousCommit, &d.Checksums)
	if err != nil {
		return Durability{}, err
	}
	rows, err := db.Query(ctx, `SELECT coalesce(nullif(application_name, ''), 'a standby'), coalesce(sync_state IN ('sync', 'quorum'), false),
	CASE WHEN pg_is_in_recovery() THEN 0 ELSE coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint END, sync_state IS NULL FROM pg_stat_replication ORDER BY 1`)
	if err != nil {
		return Durability{}, err
	}
	d.Standbys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (st Standby, err error) {
		err = row.Scan(&st.Name, &st.Synchronous, &st.Behind, &st.Hidden)
		return st, err
	})
	return d, err
}
