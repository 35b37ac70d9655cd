package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// A Store keeps sessions in a database. It may be used concurrently, and so may the
// database, by any number of processes.
type Store struct {
	config   *pgxpool.Config
	pool     *pgxpool.Pool
	schema   string
	place    string // for people: where the store is
	user     string
	sslmode  string // as it was asked for
	readOnly bool
	lease    time.Duration
	patience time.Duration
	blobs    Blobs // nil where the database has them

	owner   *owner
	places  *places
	notices *notices
	atHand  *sessionCache
	stored  chan struct{} // says that events came in since it was last heard

	closing    sync.Once
	closed     context.Context // done when the store is closed
	close      context.CancelFunc
	background sync.WaitGroup
}

var _ store.Log = (*Store)(nil)

// Options say how a store is opened. The zero Options are fine.
type Options struct {
	// ReadOnly opens a store that is there, changes nothing, and takes a standby too.
	ReadOnly bool
	// Lease is how long a process that is not heard of keeps the sessions that it has
	// runs in, before others may take them over: 15 seconds by default. One that closes
	// its store gives them up at once.
	Lease time.Duration
	// Patience is how long reading and writing wait for a database that does not answer,
	// because it is started again or another takes its place: a minute by default.
	Patience time.Duration
	// Blobs, where set, keep what is in files, in place of the database: see package bucket.
	Blobs Blobs
}

// Blobs keep what is in files under names. What is there is never changed, and a name is never
// used again.
type Blobs interface {
	Put(ctx context.Context, name string, content []byte) error
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete removes what is kept under a name, if anything is.
	Delete(ctx context.Context, name string) error
}

const (
	defaultLease    = 15 * time.Second
	defaultPatience = time.Minute
	// defaultSchema is that of the tables where the address names none.
	defaultSchema = "troupe"
	// maxConnections bounds the pool where the address does not (pool_max_conns).
	maxConnections = 16
	connectTimeout = 10 * time.Second
	// oldestServer has the functions that order events by transactions.
	oldestServer = 130000
)

// Open opens the store at an address such as postgres://user:password@host/database,
// with what libpq understands after a question mark, and there "schema" for that of the
// tables, "troupe" by default, and "lease" for [Options.Lease]. It makes the tables where there are none. It fails with a
// *[VersionError] if a newer Troupe wrote them, with [ErrReadOnly] on a standby, and with
// [ErrPooler] if notifications do not come through.
func Open(ctx context.Context, address string, options Options) (*Store, error) {
	s, err := configure(address, options)
	if err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// configure reads an address.
func configure(address string, options Options) (*Store, error) {
	if _, err := split(address); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the address is not one of PostgreSQL, as in postgres://user:password@host:5432/database: " + reason(err))
	}
	params := config.ConnConfig.RuntimeParams
	s := &Store{
		config: config, schema: cmp.Or(params["schema"], defaultSchema), user: config.ConnConfig.User, readOnly: options.ReadOnly,
		lease: cmp.Or(options.Lease, defaultLease), patience: cmp.Or(options.Patience, defaultPatience), blobs: options.Blobs,
		atHand: newSessionCache(), stored: make(chan struct{}, 1),
	}
	if text := params["lease"]; text != "" && options.Lease == 0 {
		if s.lease, err = time.ParseDuration(text); err != nil || s.lease < time.Second {
			return nil, fmt.Errorf("lease in the address: %.64q is no duration of a second or more, as in lease=15s", text)
		}
	}
	delete(params, "schema")
	delete(params, "lease")
	c := config.ConnConfig
	s.place = s.at(strings.Join(hosts(c), ","))
	s.sslmode = cmp.Or(optionOf(address, "sslmode"), os.Getenv("PGSSLMODE"))
	if params["application_name"] == "" {
		params["application_name"] = "troupe"
	}
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTimeout)
	if config.MaxConns < maxConnections && optionOf(address, "pool_max_conns") == "" {
		config.MaxConns = maxConnections
	}
	config.AfterConnect = s.prepare
	s.closed, s.close = context.WithCancel(context.Background())
	return s, nil
}

// at is the store's place on a host, or on one of several.
func (s *Store) at(host string) string {
	return fmt.Sprintf("postgres://%s/%s (schema %s)", host, s.config.ConnConfig.Database, s.schema)
}

// prepare has a connection look for tables in the store's schema.
func (s *Store) prepare(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SET search_path TO "+pgx.Identifier{s.schema}.Sanitize(), pgx.QueryExecModeSimpleProtocol)
	return err
}

// connect makes a connection of its own, beside the pool.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.ConnConfig.Copy())
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

func (s *Store) open(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return s.explain(err)
	}
	err = s.examine(ctx, conn)
	if err == nil && s.readOnly {
		err = s.checkVersion(ctx, conn)
	} else if err == nil {
		err = s.migrate(ctx, conn)
	}
	if err == nil {
		// The pool outlives the call, and so does its context.
		s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), s.config)
	}
	if err != nil || s.readOnly {
		return errors.Join(s.explain(err), conn.Close(context.WithoutCancel(ctx)))
	}
	if err := s.begin(ctx, conn); err != nil {
		s.pool.Close()
		return s.explain(err)
	}
	return nil
}

// begin makes this process one of those that write. It keeps the connection.
func (s *Store) begin(ctx context.Context, conn *pgx.Conn) error {
	s.owner, s.places, s.notices = newOwner(s), newPlaces(s), newNotices(s, conn)
	// Connecting takes a while: the rest is done meanwhile.
	connected := make(chan error, 1)
	go func() { connected <- s.notices.begin(ctx) }()
	err := s.makeMonths(ctx)
	if err == nil {
		err = s.owner.beat(ctx, s.pool)
	}
	if failure := <-connected; err == nil || errors.Is(failure, ErrPooler) {
		err = failure // a pooler also loses where tables are looked for: that is its consequence
	}
	if err != nil {
		s.notices.disconnect()
		return err
	}
	s.background.Go(func() { s.notices.listen(s.closed) })
	s.background.Go(func() { s.notices.send(s.closed) })
	s.background.Go(func() { s.owner.keep(s.closed) })
	s.background.Go(func() { s.indexInBackground(s.closed) })
	return nil
}

// examine fails where the server cannot be used, or not by this user.
func (s *Store) examine(ctx context.Context, conn *pgx.Conn) error {
	var number int
	var standby bool
	var encoding, readOnly string
	err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('server_encoding'), current_setting('transaction_read_only')").
		Scan(&number, &standby, &encoding, &readOnly)
	switch {
	case err != nil:
		return err
	case number < oldestServer:
		return fmt.Errorf("%s: PostgreSQL %d is too old: 13 or newer is needed", s.place, number/10000)
	case encoding != "UTF8":
		return fmt.Errorf("%s: the database's encoding is %s: create one with ENCODING 'UTF8' TEMPLATE template0", s.place, encoding)
	case !s.readOnly && (standby || readOnly == "on"):
		return fmt.Errorf("%w: %s: it is a standby, or is set to read-only: name the primary, or several hosts with target_session_attrs=read-write", ErrReadOnly, s.place)
	}
	return s.checkRights(ctx, conn)
}

// Place says where the store is, without the password.
func (s *Store) Place() string { return s.place }

// Close gives up the sessions that this process has, and the connections. Reads under
// way fail, and writes under way are waited for.
func (s *Store) Close() error {
	s.closing.Do(func() {
		if s.owner != nil {
			ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
			s.owner.leave(ctx)
			cancel()
		}
		s.close()
		s.background.Wait()
		s.pool.Close()
	})
	return nil
}

// retrying calls act, which reads, until it has not lost the connection, for as long as
// the store is patient. It ends when the store is closed.
func (s *Store) retrying(ctx context.Context, act func(ctx context.Context) error) error {
	ctx, cancel := s.untilClosed(ctx)
	defer cancel()
	return s.insisting(ctx, act)
}

// insisting is retrying for what writes: an attempt that has begun is waited for when the
// store is closed. What act does must be right when it is done twice.
func (s *Store) insisting(ctx context.Context, act func(ctx context.Context) error) error {
	deadline := time.Now().Add(s.patience)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if s.closed.Err() != nil {
			return ErrClosed
		}
		err := act(ctx)
		if !isLost(err) || time.Now().After(deadline) {
			return s.outcome(ctx, err)
		}
		select {
		case <-time.After(pause):
		case <-s.closed.Done():
		case <-ctx.Done():
			return s.outcome(ctx, err)
		}
	}
}

// untilClosed returns a context that is done when the store is closed, too.
func (s *Store) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closed, cancel)
	return ctx, func() { stop(); cancel() }
}

// outcome returns what a caller is told: that its context is done or the store is
// closed, where that is why it ended.
func (s *Store) outcome(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return s.explain(err)
}

// refuse fails with [ErrReadOnly] where the store was opened for reading.
func (s *Store) refuse(what, session string) error {
	if s.readOnly {
		return fmt.Errorf("%s session %s: %w", what, session, ErrReadOnly)
	}
	return nil
}

// A session is what a writer has to know of one to add to it.
type session struct {
	info  troupe.SessionInfo
	chain []byte // the checksum of its last event
	month month
}
