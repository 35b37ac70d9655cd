package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"sync"
)

// statements are those that are read with again and again, kept as they were prepared:
// to prepare one takes longer than to read a row with it.
type statements struct {
	mu  sync.Mutex
	db  *sql.DB
	all map[string]*sql.Stmt
}

// query reads rows by one of a few texts.
func (s *statements) query(ctx context.Context, db *sql.DB, text string, values ...any) (*sql.Rows, error) {
	statement, err := s.of(ctx, db, text)
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return db.QueryContext(ctx, text, values...)
	}
	return statement.QueryContext(ctx, values...)
}

// get reads one row. It fails with [sql.ErrNoRows] if there is none.
func (s *statements) get(ctx context.Context, db *sql.DB, text string, values []any, targets ...any) error {
	rows, err := s.query(ctx, db, text, values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return cmp.Or(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(targets...); err != nil {
		return err
	}
	return rows.Close()
}

// of returns a statement that is prepared, nil if it is for connections that do not
// stay: those of a guest.
func (s *statements) of(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != db {
		return nil, nil
	}
	if statement := s.all[text]; statement != nil {
		return statement, nil
	}
	statement, err := db.PrepareContext(ctx, text)
	if err == nil {
		s.all[text] = statement
	}
	return statement, err
}

// keep has statements for these connections kept.
func (s *statements) keep(db *sql.DB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db, s.all = db, map[string]*sql.Stmt{}
}
