package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Copy adds all that one base has to another: the documents of all users in all their
// versions, the keys of their uploads, and the users themselves. Documents of a name that
// the other has already, and users whose name is taken, are left alone there, so that a
// copy that was interrupted goes on when it is made again. It returns how many documents
// were added.
func Copy(ctx context.Context, from, to *Base) (added int, err error) {
	if err := copyUsers(ctx, from, to); err != nil {
		return 0, fmt.Errorf("copy knowledge: %w", err)
	}
	owners, err := from.db.QueryContext(ctx, from.statement(`SELECT DISTINCT "user", name FROM documents ORDER BY 1, 2`))
	type named struct{ user, name string }
	list, err := collect(owners, err, func(rows *sql.Rows) (n named, err error) { return n, rows.Scan(&n.user, &n.name) })
	if err != nil {
		return 0, fmt.Errorf("copy knowledge: %w", err)
	}
	for _, n := range list {
		isNew, err := from.As(n.user).copyDocument(ctx, to.As(n.user), n.name)
		if err != nil {
			return added, fmt.Errorf("copy %s of %s: %w", n.name, n.user, err)
		}
		if isNew {
			added++
		}
	}
	return added, nil
}

func copyUsers(ctx context.Context, from, to *Base) error {
	type user struct {
		name, email, role string
		salt, hash        []byte
		iterations        int
	}
	rows, err := from.db.QueryContext(ctx, from.statement("SELECT name, email, role, salt, iterations, hash FROM users"))
	list, err := collect(rows, err, func(rows *sql.Rows) (u user, err error) {
		return u, rows.Scan(&u.name, &u.email, &u.role, &u.salt, &u.iterations, &u.hash)
	})
	for _, u := range list {
		if _, err := to.db.ExecContext(ctx, to.statement(insertUser),
			u.name, u.email, u.role, u.salt, u.iterations, u.hash); err != nil {
			return err
		}
	}
	return err
}

// copyDocument adds all versions of a document to another base, and reports whether they
// were not there.
func (b *Base) copyDocument(ctx context.Context, to *Base, name string) (isNew bool, err error) {
	if _, err := to.named(ctx, name); !errors.Is(err, ErrNotFound) {
		return false, err
	}
	type version struct {
		Info
		content string
		keys    []string
	}
	rows, err := b.db.QueryContext(ctx, b.statement("SELECT "+infoColumns+`, content FROM documents WHERE "user" = ? AND name = ? ORDER BY version`), b.user, name)
	versions, err := collect(rows, err, func(rows *sql.Rows) (v version, err error) {
		v.Info, err = scanInfo(rows, &v.content)
		return v, err
	})
	if err != nil {
		return false, err
	}
	for i := range versions {
		rows, err := b.db.QueryContext(ctx, b.statement("SELECT key FROM keys WHERE document = ?"), versions[i].ID)
		if versions[i].keys, err = collect(rows, err, func(rows *sql.Rows) (key string, err error) { return key, rows.Scan(&key) }); err != nil {
			return false, err
		}
	}
	tx, err := to.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if err := to.begin(ctx, tx, to.user); err != nil {
		return false, err
	}
	for _, v := range versions {
		id, err := to.insert(ctx, tx, v.Info, v.content, split(v.content))
		if err != nil {
			return false, err
		}
		for _, key := range v.keys {
			if err := to.keepKey(ctx, tx, key, id); err != nil {
				return false, err
			}
		}
	}
	return true, tx.Commit()
}
