package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

var _ work.Queue = (*Store)(nil)

// AddJob implements [work.Queue].
func (s *Store) AddJob(ctx context.Context, job work.Job) error {
	if err := s.refuse("add a job for", job.Session); err != nil {
		return err
	}
	return s.retrying(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `INSERT INTO jobs (session, step, digest, "user", queue, batch) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (session) DO UPDATE SET step = $2, digest = $3, "user" = $4, queue = $5, batch = $6, since = clock_timestamp(), handed = NULL`,
			job.Session, clean(job.Step), job.Digest, clean(job.User), clean(job.Queue), clean(job.Batch))
		return err
	})
}

// WaitingJobs implements [work.Queue].
func (s *Store) WaitingJobs(ctx context.Context, queue string, limit int) ([]work.Job, error) {
	return s.jobs(ctx, `SELECT j.session, j.step, j.digest, j."user", j.queue, j.batch, j.since FROM jobs j
LEFT JOIN sessions ON sessions.id = j.session LEFT JOIN owners o ON o.name = sessions.owner
WHERE j.queue = $1 AND NOT coalesce(`+isAlive+`, false) ORDER BY j.since LIMIT $2`, queue, limit)
}

// UnhandedJobs returns the jobs of a queue that were not handed to another scheduler, or
// so long ago that it may have lost them, the oldest first. What somebody is working on is
// not lost, however long it takes.
func (s *Store) UnhandedJobs(ctx context.Context, queue string, limit int, longAgo time.Duration) ([]work.Job, error) {
	return s.jobs(ctx, `SELECT session, step, digest, "user", queue, batch, since FROM jobs
WHERE queue = $1 AND (handed IS NULL OR handed < clock_timestamp() - $3::interval
	AND NOT EXISTS (SELECT 1 FROM sessions JOIN owners o ON o.name = sessions.owner WHERE sessions.id = jobs.session AND `+isAlive+`))
ORDER BY since LIMIT $2`, queue, limit, longAgo)
}

// LostJobs returns the jobs of a queue that another scheduler has and whose runs were under way in
// processes that have not been heard of for as long as their leases last, the oldest first.
// It looks at those processes and what they had, however many jobs wait.
func (s *Store) LostJobs(ctx context.Context, queue string, limit int) ([]work.Job, error) {
	return s.jobs(ctx, `SELECT j.session, j.step, j.digest, j."user", j.queue, j.batch, j.since FROM owners o
JOIN sessions ON sessions.owner = o.name JOIN jobs j ON j.session = sessions.id
WHERE NOT `+isAlive+` AND j.queue = $1 AND j.handed IS NOT NULL ORDER BY j.since LIMIT $2`, queue, limit)
}

// HandJob notes that the job of a session was handed to another scheduler.
func (s *Store) HandJob(ctx context.Context, session string) error {
	return s.retrying(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, "UPDATE jobs SET handed = clock_timestamp() WHERE session = $1", session)
		return err
	})
}

func (s *Store) jobs(ctx context.Context, query string, args ...any) (list []work.Job, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[work.Job])
		return err
	})
	return list, err
}

// JobOf implements [work.Queue].
func (s *Store) JobOf(ctx context.Context, session string) (job work.Job, there bool, err error) {
	list, err := s.jobs(ctx, `SELECT session, step, digest, "user", queue, batch, since FROM jobs WHERE session = $1`, session)
	if err != nil || len(list) == 0 {
		return work.Job{}, false, err
	}
	return list[0], true, nil
}

// RemoveJob implements [work.Queue].
func (s *Store) RemoveJob(ctx context.Context, job work.Job) (there bool, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, "DELETE FROM jobs WHERE session = $1 AND since = $2", job.Session, job.Since)
		there = there || err == nil && tag.RowsAffected() > 0
		return err
	})
	return there, err
}

// Seize makes a session nobody's that a process has: for somebody who knows better than the
// clock of its lease that this process is gone. What that one writes when it
// is there after all is refused. A session that another has by now is left to it.
func (s *Store) Seize(ctx context.Context, session string, from troupe.Owner) error {
	if err := s.refuse("seize", session); err != nil {
		return err
	}
	err := s.retrying(ctx, func(ctx context.Context) error {
		var epoch int64
		err := s.pool.QueryRow(ctx, `UPDATE sessions SET owner = NULL, epoch = nextval('epochs')
WHERE id = $1 AND events > 0 AND since = $2 AND owner IN (SELECT name FROM owners WHERE host = $3 AND pid = $4) RETURNING epoch`,
			session, from.Since.UnixNano(), clean(from.Host), int64(from.PID)).Scan(&epoch)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("seize session %s: %w", session, err)
	}
	s.notices.add(notice{kind: taken, session: session})
	return nil
}
