package knowledge

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Info is what is known of a document beside its content.
type Info struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Tags        []string  `json:"tags,omitempty"`
	SHA256      string    `json:"sha256"` // of the content, in hexadecimal
	Size        int       `json:"size"`
	Uploaded    time.Time `json:"uploaded"`
}

const infoColumns = "documents.id, name, description, tags, sha256, size, uploaded"

// scanInfo reads infoColumns and what follows them.
func scanInfo(row interface{ Scan(...any) error }, more ...any) (Info, error) {
	var i Info
	var tags []byte
	var uploaded int64
	if err := row.Scan(append([]any{&i.ID, &i.Name, &i.Description, &tags, &i.SHA256, &i.Size, &uploaded}, more...)...); err != nil {
		return Info{}, err
	}
	i.Uploaded = time.Unix(0, uploaded).UTC()
	return i, json.Unmarshal(tags, &i.Tags)
}

// Documents lists the user's documents in their latest version, by name.
func (b *Base) Documents(ctx context.Context) ([]Info, error) {
	rows, err := b.db.QueryContext(ctx, b.statement("SELECT "+infoColumns+` FROM documents WHERE "user" = ? AND latest`), b.user)
	list, err := collect(rows, err, func(rows *sql.Rows) (Info, error) { return scanInfo(rows) })
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Document returns a document of the user, be it the latest version or not.
func (b *Base) Document(ctx context.Context, id int64) (Document, error) {
	var d Document
	info, err := scanInfo(b.db.QueryRowContext(ctx, b.statement("SELECT "+infoColumns+`, content FROM documents WHERE "user" = ? AND id = ?`), b.user, id), &d.Content)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Document{}, fmt.Errorf("document %d: %w", id, err)
	}
	d.Name, d.Description, d.Tags = info.Name, info.Description, info.Tags
	return d, nil
}

// Delete removes a document of the user with all its versions.
func (b *Base) Delete(ctx context.Context, id int64) error {
	result, err := b.db.ExecContext(ctx, b.statement(`DELETE FROM documents WHERE "user" = ?1
		AND name = (SELECT name FROM documents WHERE "user" = ?1 AND id = ?2)`), b.user, id)
	if err == nil {
		var n int64
		if n, err = result.RowsAffected(); err == nil && n == 0 {
			err = ErrNotFound
		}
	}
	if err != nil {
		return fmt.Errorf("delete document %d: %w", id, err)
	}
	return nil
}

// named returns the id of the latest document of a name.
func (b *Base) named(ctx context.Context, name string) (id int64, err error) {
	err = b.db.QueryRowContext(ctx, b.statement(`SELECT id FROM documents WHERE "user" = ? AND name = ? AND latest`), b.user, name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("document %s: %w", name, err)
	}
	return id, nil
}

// collect reads all rows of a query that returned err.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, rows.Err()
}
