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

	"github.com/troupe-dev/troupe/internal/script"
)

// Upload keeps a document; when it returns, the document is on disk and can be
// found. Keeping the same content again under the same name or with the same key
// changes nothing. Other content under the same name is a new version: the older
// ones stay, but are no longer found.
func (b *Base) Upload(ctx context.Context, d Document) error {
	_, err := b.keep(ctx, d)
	return err
}

func (b *Base) keep(ctx context.Context, d Document) (Info, error) {
	if err := d.check(); err != nil {
		return Info{}, err
	}
	info := Info{
		Name: d.Name, Description: d.Description, Tags: slices.Clone(d.Tags), SHA256: hash(d.Content),
		Size: len(d.Content), Uploaded: time.Now().UTC(),
	}
	parts := split(d.Content)
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return Info{}, fmt.Errorf("upload %s: %w", d.Name, err)
	}
	defer tx.Rollback()
	if err := b.begin(ctx, tx, b.user); err != nil {
		return Info{}, fmt.Errorf("upload %s: %w", d.Name, err)
	}
	known, err := b.known(ctx, tx, d, info.SHA256)
	if err == nil && known == 0 {
		known, err = b.insert(ctx, tx, info, d.Content, parts)
	}
	if err == nil && d.Key != "" {
		err = b.keepKey(ctx, tx, d.Key, known)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return Info{}, fmt.Errorf("upload %s: %w", d.Name, err)
	}
	info.ID = known
	return info, nil
}

// keepKey remembers under which key a document was uploaded.
func (b *Base) keepKey(ctx context.Context, tx *sql.Tx, key string, document int64) error {
	_, err := tx.ExecContext(ctx, b.statement("INSERT INTO keys VALUES (?, ?, ?) ON CONFLICT DO NOTHING"), b.user, b.bytes(key), document)
	return err
}

// known returns the id of the document that an upload would only repeat, or 0.
func (b *Base) known(ctx context.Context, tx *sql.Tx, d Document, hash string) (id int64, err error) {
	if d.Key != "" {
		var name, kept string
		err = tx.QueryRowContext(ctx, b.statement(`SELECT id, name, sha256 FROM keys JOIN documents ON id = document
			WHERE keys."user" = ? AND key = ?`), b.user, b.bytes(d.Key)).Scan(&id, &name, &kept)
		if err == nil && (name != d.Name || kept != hash) {
			return 0, ErrKey
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
	}
	err = tx.QueryRowContext(ctx, b.statement(`SELECT id FROM documents WHERE "user" = ? AND name = ? AND latest AND sha256 = ?`),
		b.user, d.Name, hash).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// insert adds the latest version of a document.
func (b *Base) insert(ctx context.Context, tx *sql.Tx, info Info, content string, parts []part) (int64, error) {
	for _, statement := range []string{
		`DELETE FROM passages WHERE document IN (SELECT id FROM documents WHERE "user" = ? AND name = ? AND latest)`,
		`UPDATE documents SET latest = FALSE WHERE "user" = ? AND name = ? AND latest`,
	} {
		if _, err := tx.ExecContext(ctx, b.statement(statement), b.user, info.Name); err != nil {
			return 0, err
		}
	}
	tags, err := json.Marshal(info.Tags)
	if err != nil {
		return 0, err
	}
	var id int64
	err = tx.QueryRowContext(ctx, b.statement(`INSERT INTO documents ("user", name, version, latest, sha256, size, uploaded, description, tags, content)
		SELECT ?1, ?2, 1 + coalesce(max(version), 0), TRUE, ?3, CAST(?4 AS BIGINT), CAST(?5 AS BIGINT), ?6, ?7, ?8
		FROM documents WHERE "user" = ?1 AND name = ?2 RETURNING id`),
		b.user, info.Name, info.SHA256, info.Size, info.Uploaded.UnixNano(), b.bytes(info.Description), string(tags), b.bytes(content)).Scan(&id)
	if err != nil {
		return 0, err
	}
	// Its hash is among the words, so that a document can be found by it.
	about := script.Spread(strings.Join([]string{info.Name, info.Description, strings.Join(info.Tags, " "), info.SHA256}, "\n"))
	return id, b.index(ctx, tx, id, about, parts)
}
