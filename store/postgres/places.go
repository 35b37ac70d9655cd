package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A placeKey names what is counted together: the runs of a user, say.
type placeKey struct{ kind, user string }

// places are those that this process has taken. What the database has of them is how many
// there are, and never one more or one less: whatever was lost on the way, the next beat of this
// process puts it right. Those of a process that is not heard of count for nothing.
type places struct {
	store *Store
	// order has what is written of a key written one after the other.
	order [32]sync.Mutex

	mu     sync.Mutex
	counts map[placeKey]int
	wrong  bool // something was not written, or not removed
}

func newPlaces(s *Store) *places { return &places{store: s, counts: map[placeKey]int{}} }

// leaveTime is how long the end of something waits until it is written that it ended.
const leaveTime = 5 * time.Second

// TakePlace takes one of the places that a user has for a kind of thing, if all processes
// that have the store open have taken fewer than most of them. Whoever took it calls leave
// once. Places of a process that was killed are free when its lease is over.
func (s *Store) TakePlace(ctx context.Context, kind, user string, most int) (leave func(), free bool, err error) {
	if s.readOnly {
		return nil, false, fmt.Errorf("take a place: %w", ErrReadOnly)
	}
	key := placeKey{clean(kind), clean(user)}
	if free, err = s.places.take(ctx, key, most); err != nil || !free {
		return nil, false, err
	}
	return sync.OnceFunc(func() { s.places.leave(key) }), true, nil
}

// number is that of a key, for locks.
func (k placeKey) number(schema string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(schema + "\x00places\x00" + k.kind + "\x00" + k.user))
	return hash.Sum64()
}

// one has the counts of a key to itself until the function is called.
func (p *places) one(key placeKey) (done func()) {
	mu := &p.order[key.number("")%uint64(len(p.order))]
	mu.Lock()
	return mu.Unlock
}

func (p *places) count(key placeKey) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[key]
}

func (p *places) set(key placeKey, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts[key] = n; n == 0 {
		delete(p.counts, key)
	}
}

func (p *places) isWrong(wrong bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = wrong
}

func (p *places) take(ctx context.Context, key placeKey, most int) (free bool, err error) {
	defer p.one(key)()
	n := p.count(key) + 1
	err = p.store.retrying(ctx, func(ctx context.Context) error {
		free, err = p.write(ctx, key, n, most)
		return err
	})
	if err != nil {
		p.isWrong(true) // it may be written after all
		return false, fmt.Errorf("take a place: %w", err)
	}
	if free {
		p.set(key, n)
	}
	return free, nil
}

// write makes the number of this process's places that of a key, unless there are then more
// than most with those of others. Of all who do so one does it at a time.
func (p *places) write(ctx context.Context, key placeKey, n, most int) (bool, error) {
	var batch pgx.Batch
	batch.Queue("SELECT pg_advisory_xact_lock($1)", int64(key.number(p.store.schema)))
	batch.Queue(`INSERT INTO places (person, kind, owner, n) SELECT $1, $2, $3, $4::int WHERE $4 + (
	SELECT coalesce(sum(n), 0) FROM places JOIN owners o ON o.name = places.owner WHERE person = $1 AND kind = $2 AND places.owner <> $3 AND `+isAlive+`
) <= $5 ON CONFLICT (person, kind, owner) DO UPDATE SET n = excluded.n`, key.user, key.kind, p.store.owner.name, n, most)
	results := p.store.pool.SendBatch(ctx, &batch)
	defer results.Close()
	if _, err := results.Exec(); err != nil {
		return false, err
	}
	tag, err := results.Exec()
	if err != nil {
		return false, err
	}
	return tag.RowsAffected() > 0, results.Close()
}

func (p *places) leave(key placeKey) {
	defer p.one(key)()
	n := p.count(key) - 1
	p.set(key, n)
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := p.store.retrying(ctx, func(ctx context.Context) error { return p.put(ctx, key, n) }); err != nil {
		p.isWrong(true)
	}
}

// put makes the number of this process's places that of a key.
func (p *places) put(ctx context.Context, key placeKey, n int) error {
	statement := "INSERT INTO places (person, kind, owner, n) VALUES ($1, $2, $3, $4) ON CONFLICT (person, kind, owner) DO UPDATE SET n = $4"
	if n == 0 {
		statement = "DELETE FROM places WHERE person = $1 AND kind = $2 AND owner = $3 AND $4 = 0"
	}
	_, err := p.store.pool.Exec(ctx, statement, key.user, key.kind, p.store.owner.name, n)
	return err
}

// mend puts right what the database has of this process's places.
func (p *places) mend(ctx context.Context) error {
	p.mu.Lock()
	idle := len(p.counts) == 0 && !p.wrong
	p.wrong = false
	p.mu.Unlock()
	if idle {
		return nil
	}
	err := p.compare(ctx)
	if err != nil {
		p.isWrong(true)
	}
	return err
}

func (p *places) compare(ctx context.Context) error {
	rows, err := p.store.pool.Query(ctx, "SELECT person, kind, n FROM places WHERE owner = $1", p.store.owner.name)
	if err != nil {
		return err
	}
	written := map[placeKey]int{}
	var key placeKey
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&key.user, &key.kind, &n}, func() error { written[key] = n; return nil }); err != nil {
		return err
	}
	p.mu.Lock()
	for key := range p.counts {
		if _, ok := written[key]; !ok {
			written[key] = 0
		}
	}
	p.mu.Unlock()
	for key, n := range written {
		if err := p.correct(ctx, key, n); err != nil {
			return err
		}
	}
	return nil
}

func (p *places) correct(ctx context.Context, key placeKey, written int) error {
	if p.count(key) == written {
		return nil
	}
	defer p.one(key)()
	return p.put(ctx, key, p.count(key)) // which may have changed since
}
