package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/troupe-dev/troupe/store"
)

// A sieve looks for a text in events that are not indexed yet, by way of an index
// in memory that is defined as the file's is: so the text means the same to both.
type sieve struct {
	db         *sql.DB
	conn       *sql.Conn
	expression string
}

func newSieve(ctx context.Context, definition, expression string) (*sieve, error) {
	db, conn, err := connectTo(ctx, ":memory:", forSifting)
	if err != nil {
		return nil, err
	}
	s := &sieve{db, conn, expression}
	if _, err := conn.ExecContext(ctx, definition); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close has nothing to lose, and so nothing to report.
func (s *sieve) close() { _ = errors.Join(s.conn.Close(), s.db.Close()) }

// finds reports whether the text that is looked for is in another.
func (s *sieve) finds(ctx context.Context, text string) (found bool, err error) {
	if _, err := s.conn.ExecContext(ctx, "INSERT INTO texts (rowid, text) VALUES (1, ?)", text); err != nil {
		return false, err
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM texts WHERE texts MATCH ?)", s.expression).Scan(&found); err != nil {
		return false, err
	}
	_, err = s.conn.ExecContext(ctx, "INSERT INTO texts (texts) VALUES ('delete-all')")
	return found, err
}

// sifted reports whether an event has the text of the query. One that is damaged
// has none.
func (s *scan) sifted(ctx context.Context, hit *Hit) (bool, error) {
	if hit.Err != nil {
		return false, nil
	}
	if s.sieve == nil {
		if err := s.makeSieve(ctx); err != nil {
			return false, err
		}
	}
	return s.sieve.finds(ctx, store.Text(hit.Event.Body))
}

func (s *scan) makeSieve(ctx context.Context) error {
	expression, err := matchExpression(s.query.Text)
	if err != nil {
		return err
	}
	var definition string
	err = s.reader.file.read(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT sql FROM sqlite_schema WHERE name = 'texts'").Scan(&definition)
	})
	if err != nil {
		return err
	}
	s.sieve, err = newSieve(ctx, definition, expression)
	return err
}
