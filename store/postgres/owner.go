package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
)

// An owner is this process, as one of those that write to the store, with the sessions
// it has.
type owner struct {
	store *Store
	name  string
	host  string

	mu     sync.Mutex
	leases map[string]*lease
	looked map[string]*glance // at sessions that others have
	queues []string           // that this process takes runs from
}

func newOwner(s *Store) *owner {
	host, _ := os.Hostname()
	return &owner{store: s, name: rand.Text(), host: cmp.Or(host, "localhost"), leases: map[string]*lease{}, looked: map[string]*glance{}}
}

// beat says that this process lives.
func (o *owner) beat(ctx context.Context, db execer) error {
	o.mu.Lock()
	queues := append([]string{}, o.queues...)
	o.mu.Unlock()
	_, err := db.Exec(ctx, `INSERT INTO owners (name, host, pid, lease, until, queues) VALUES ($1, $2, $3, $4, clock_timestamp() + $4, $5)
ON CONFLICT (name) DO UPDATE SET until = clock_timestamp() + $4, queues = $5`, o.name, clean(o.host), int64(os.Getpid()), o.store.lease, queues)
	return err
}

// AnnounceWorker says that this process takes runs from a queue, until withdraw is called or
// the process is heard of no more: see [Durability.Workers].
func (s *Store) AnnounceWorker(ctx context.Context, queue string) (withdraw func(), err error) {
	if s.readOnly {
		return nil, fmt.Errorf("announce a worker: %w", ErrReadOnly)
	}
	o, queue := s.owner, clean(queue)
	o.mu.Lock()
	o.queues = append(o.queues, queue)
	o.mu.Unlock()
	withdraw = sync.OnceFunc(func() {
		o.mu.Lock()
		i := slices.Index(o.queues, queue)
		o.queues = slices.Delete(o.queues, i, i+1)
		o.mu.Unlock()
		// Where the database cannot be told now, the next beat does, or the lease ends.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.lease/3)
		defer cancel()
		if s.closed.Err() == nil { // or it has left already
			_ = o.beat(ctx, s.pool)
		}
	})
	if err := s.insisting(ctx, func(ctx context.Context) error { return o.beat(ctx, s.pool) }); err != nil {
		withdraw()
		return nil, err
	}
	return withdraw, nil
}

const (
	// sweepPause is how often what ended processes left behind is removed, and partitions
	// are made in time.
	sweepPause = 10 * time.Minute
	// silence is how long after its lease a process that was not heard of is forgotten.
	silence = time.Hour
)

// keep says again and again that this process lives, and notices what others have taken
// over. What fails is tried again at the next beat.
func (o *owner) keep(ctx context.Context) {
	beats, sweeps := time.NewTicker(o.store.lease/3), time.NewTicker(sweepPause)
	defer beats.Stop()
	defer sweeps.Stop()
	for {
		select {
		case <-beats.C:
			limited, cancel := context.WithTimeout(ctx, o.store.lease/3)
			if o.beat(limited, o.store.pool) == nil {
				_ = o.refresh(limited)
				_ = o.store.places.mend(limited)
			}
			cancel()
		case <-sweeps.C:
			_ = o.store.makeMonths(ctx)
			_ = o.sweep(ctx)
			_ = o.store.sweepBlobs(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// refresh ends the leases that others have taken over, and gives up those that nobody
// here knows of: the answer to who acquired them was lost.
func (o *owner) refresh(ctx context.Context) error {
	before := o.held()
	rows, err := o.store.pool.Query(ctx, "SELECT id, epoch FROM sessions WHERE owner = $1", o.name)
	if err != nil {
		return err
	}
	still := map[int64]string{}
	var session string
	var epoch int64
	if _, err := pgx.ForEachRow(rows, []any{&session, &epoch}, func() error { still[epoch] = session; return nil }); err != nil {
		return err
	}
	for _, l := range before {
		if _, ok := still[l.epoch]; !ok {
			o.end(l)
		}
	}
	for epoch, session := range still {
		if !o.hasAny(session) {
			if err := o.giveUp(ctx, session, epoch); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveUp makes a session nobody's, if it is this process's under an epoch.
func (o *owner) giveUp(ctx context.Context, session string, epoch int64) error {
	_, err := o.store.pool.Exec(ctx, `WITH r AS (
	UPDATE sessions SET owner = NULL WHERE id = $1 AND epoch = $2 AND owner = $3 AND events > 0
), d AS (
	DELETE FROM sessions WHERE id = $1 AND epoch = $2 AND owner = $3 AND events = 0
) DELETE FROM live WHERE session = $1 AND epoch = $2`, session, epoch, o.name)
	return err
}

// held returns the leases that this process has.
func (o *owner) held() (list []*lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.leases {
		if l.epoch != 0 {
			list = append(list, l)
		}
	}
	return list
}

// sweep removes what processes left behind that have not been heard of for long.
func (o *owner) sweep(ctx context.Context) error {
	_, err := o.store.pool.Exec(ctx, `WITH gone AS (
	DELETE FROM owners WHERE until < clock_timestamp() - $1::interval RETURNING name
), freed AS (
	UPDATE sessions SET owner = NULL FROM gone WHERE sessions.owner = gone.name AND sessions.events > 0
), left_behind AS (
	DELETE FROM places USING gone WHERE places.owner = gone.name
) DELETE FROM sessions USING gone WHERE sessions.owner = gone.name AND sessions.events = 0`, silence)
	if err == nil { // what was made and not used goes, and the links that let nobody in any more
		_, err = o.store.pool.Exec(ctx, "DELETE FROM shelf WHERE (name LIKE 'draft/%' OR name LIKE 'link/%') AND changed < now() - interval '7 days' OR name LIKE 'talk/%' AND changed < now() - interval '30 days'")
	}
	return err
}

// leave gives up all that this process has.
func (o *owner) leave(ctx context.Context) {
	for _, l := range o.held() {
		o.end(l)
	}
	// Where the database cannot be told, the leases end by themselves.
	_, _ = o.store.pool.Exec(ctx, `WITH o AS (
	DELETE FROM owners WHERE name = $1
), p AS (
	DELETE FROM places WHERE owner = $1
), d AS (
	DELETE FROM sessions WHERE owner = $1 AND events = 0
) UPDATE sessions SET owner = NULL WHERE owner = $1 AND events > 0`, o.name)
}

// reserve makes a lease the one that this process is about to have on a session.
func (o *owner) reserve(l *lease) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if other := o.leases[l.session]; other != nil {
		return fmt.Errorf("session %s: %w", l.session, &troupe.Owner{Host: o.host, PID: os.Getpid(), Since: other.since})
	}
	o.leases[l.session] = l
	return nil
}

func (o *owner) unreserve(l *lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leases[l.session] == l {
		delete(o.leases, l.session)
	}
}

// hold makes a lease one that this process has.
func (o *owner) hold(l *lease, epoch, last int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.epoch, l.last = epoch, last
}

func (o *owner) has(l *lease) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leases[l.session] == l
}

// end makes a lease one that is over.
func (o *owner) end(l *lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leases[l.session] == l {
		delete(o.leases, l.session)
		close(l.requests)
	}
}

// forget ends the lease on a session that is no more.
func (o *owner) forget(session string) {
	o.mu.Lock()
	l := o.leases[session]
	o.mu.Unlock()
	if l != nil && l.epoch != 0 {
		o.end(l)
	}
}

// deliver passes a request on if this process has the session.
func (o *owner) deliver(session string, request troupe.SessionRequest) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.leases[session]
	if l == nil || l.epoch == 0 {
		return false
	}
	select {
	case l.requests <- request:
	default:
	}
	return true
}
