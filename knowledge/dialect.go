package knowledge

import (
	"context"
	"database/sql"

	"github.com/troupe-dev/troupe/internal/script"
)

// A dialect is what a database does in its own way.
type dialect interface {
	// statement is a statement as the database takes it.
	statement(text string) string
	// bytes is a text that may hold any character, as a value.
	bytes(text string) any
	// begin keeps others from changing a user's documents until the transaction ends.
	begin(ctx context.Context, tx *sql.Tx, user string) error
	// index makes the parts of a document findable.
	index(ctx context.Context, tx *sql.Tx, document int64, about string, parts []part) error
	// found is the beginning of a query that ranks a user's passages, as mine, and its
	// first value.
	found(words []string) (query string, terms any)
}

// inFile is a base in SQLite.
type inFile struct{}

func (inFile) statement(text string) string                 { return text }
func (inFile) bytes(text string) any                        { return text }
func (inFile) begin(context.Context, *sql.Tx, string) error { return nil } // a transaction has the file
func (inFile) found(words []string) (string, any)           { return foundInFile, expression(words) }

// foundInFile ranks the user's passages that have any word of a question. Words of names
// and descriptions count as those of the text, words of headings twice. A word that
// is everywhere counts for nothing.
const foundInFile = `WITH found AS MATERIALIZED (SELECT rowid AS passage, bm25(words, 1, 2, 1) AS score FROM words WHERE words MATCH ?1),
	mine AS (SELECT passage, document, score FROM found JOIN passages ON passages.id = passage JOIN documents ON documents.id = document
		WHERE "user" = ?2) `

func (inFile) index(ctx context.Context, tx *sql.Tx, document int64, about string, parts []part) error {
	insertPassage, err := tx.PrepareContext(ctx, "INSERT INTO passages (document, heading, text) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insertPassage.Close()
	insertWords, err := tx.PrepareContext(ctx, "INSERT INTO words (rowid, about, heading, text) VALUES (last_insert_rowid(), ?, ?, ?)")
	if err != nil {
		return err
	}
	defer insertWords.Close()
	for _, p := range parts {
		if _, err := insertPassage.ExecContext(ctx, document, p.heading, p.text); err != nil {
			return err
		}
		if _, err := insertWords.ExecContext(ctx, about, script.Spread(p.heading), script.Spread(p.text)); err != nil {
			return err
		}
	}
	return nil
}
