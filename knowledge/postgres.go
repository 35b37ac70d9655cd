package knowledge

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/troupe-dev/troupe/internal/script"
)

// OpenPostgres opens the base in a PostgreSQL database, as [Local] sees it, so that many
// servers have the same documents. What is missing in the database is made, in a schema
// of its own:
func OpenPostgres(ctx context.Context, address string) (*Base, error) {
	db, schema, err := openPool(address)
	if err != nil {
		return nil, err
	}
	if err := migrateServer(ctx, db, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("knowledge base in schema %s: %w", schema, err), db.Close())
	}
	return &Base{db: db, dialect: onServer{}, user: Local, rounds: iterations}, nil
}

// IsInPostgres reports whether there is a base in a PostgreSQL database, and makes none.
func IsInPostgres(ctx context.Context, address string) (bool, error) {
	db, _, err := openPool(address)
	if err != nil {
		return false, err
	}
	defer db.Close()
	return isThere(ctx, db)
}

func isThere(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (is bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT to_regclass('version') IS NOT NULL").Scan(&is)
	return is, err
}

// openPool makes a pool of connections that look for tables in the base's schema.
func openPool(address string) (db *sql.DB, schema string, err error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, "", errors.New("knowledge base: its address is not one of a PostgreSQL database")
	}
	schema = cmp.Or(config.RuntimeParams["schema"], "troupe") + "_knowledge"
	maps.DeleteFunc(config.RuntimeParams, func(name, _ string) bool {
		return name == "schema" || name == "lease" || strings.HasPrefix(name, "pool_")
	}) // they are the store's
	db = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET search_path TO "+pgx.Identifier{schema}.Sanitize(), pgx.QueryExecModeSimpleProtocol)
		return err
	}))
	db.SetMaxOpenConns(4)
	return db, schema, nil
}

//go:embed postgres/*.sql
var serverScripts embed.FS

// migrateServer takes a database to the latest schema. Others who do the same at the same
// time are waited for.
func migrateServer(ctx context.Context, db *sql.DB, schema string) error {
	version := func(ctx context.Context, tx *sql.Tx) (version int, err error) {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('troupe knowledge', 0))"); err != nil {
			return 0, err
		}
		isThere, err := isThere(ctx, tx)
		switch {
		case err != nil:
			return 0, err
		case isThere:
			err = tx.QueryRowContext(ctx, "SELECT number FROM version").Scan(&version)
		default:
			_, err = tx.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize())
		}
		return version, err
	}
	return migration{serverScripts, version, func(ctx context.Context, tx *sql.Tx, version int) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM version"); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO version VALUES ($1)", version)
		return err
	}}.run(ctx, db)
}

// onServer is a base in PostgreSQL.
type onServer struct{}

var places = regexp.MustCompile(`\?(\d*)`)

func (onServer) statement(text string) string {
	n := 0
	return places.ReplaceAllStringFunc(text, func(place string) string {
		if n++; len(place) == 1 {
			return "$" + strconv.Itoa(n)
		}
		return "$" + place[1:]
	})
}

func (onServer) bytes(text string) any { return []byte(text) }

// begin waits for others who change the same user's documents.
func (onServer) begin(ctx context.Context, tx *sql.Tx, user string) error {
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('troupe knowledge ' || $1, 0))", user)
	return err
}

// foundOnServer ranks as SQLite does, by BM25 with its constants.
const foundOnServer = `WITH terms AS (SELECT DISTINCT coalesce((ts_lexize('stem', word))[1], word) AS term FROM unnest(CAST(?1 AS TEXT[])) AS word),
	sizes AS (SELECT count(*) AS n, coalesce(avg(length), 1) AS size FROM passages JOIN documents ON documents.id = document WHERE "user" = ?2),
	hits AS (SELECT words.term, passage, document, often, length FROM terms JOIN words ON words.term = terms.term
		JOIN passages ON passages.id = passage JOIN documents ON documents.id = document WHERE "user" = ?2),
	rare AS (SELECT term, greatest(ln((n - count(*) + 0.5) / (count(*) + 0.5)), 0.000001) AS weight FROM hits, sizes GROUP BY term, n),
	mine AS (SELECT passage, document, -sum(weight * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / size))) AS score
		FROM hits JOIN rare ON rare.term = hits.term, sizes GROUP BY passage, document) `

func (onServer) found(words []string) (query string, terms any) {
	folded := make([]string, len(words))
	for i, word := range words {
		folded[i] = fold(word)
	}
	return foundOnServer, folded
}

// index counts words: those of a heading twice.
func (onServer) index(ctx context.Context, tx *sql.Tx, document int64, about string, parts []part) error {
	const insertPassage = `INSERT INTO passages (document, heading, text, length) VALUES ($1, $2, $3, $4) RETURNING id`
	const insertWords = `INSERT INTO words (term, passage, often)
		SELECT coalesce((ts_lexize('stem', word))[1], word) AS term, $1, sum(often)
		FROM unnest(CAST($2 AS TEXT[]), CAST($3 AS REAL[])) AS counted (word, often) GROUP BY 1`
	for _, p := range parts {
		counts, length := map[string]float32{}, 0
		for _, counted := range []struct {
			text  string
			often float32
		}{{about, 1}, {script.Spread(p.heading), 2}, {script.Spread(p.text), 1}} {
			for word := range each(counted.text) {
				counts[word] += counted.often
				length++
			}
		}
		var passage int64
		if err := tx.QueryRowContext(ctx, insertPassage, document, []byte(p.heading), []byte(p.text), length).Scan(&passage); err != nil {
			return err
		}
		terms, often := make([]string, 0, len(counts)), make([]float32, 0, len(counts))
		for word, n := range counts {
			terms, often = append(terms, word), append(often, n)
		}
		if _, err := tx.ExecContext(ctx, insertWords, passage, terms, often); err != nil {
			return err
		}
	}
	return nil
}

// maxTerm bounds a word, in bytes: an index takes no longer ones.
const maxTerm = 200

// each yields the words of a text as they are looked for.
func each(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range allWords(text) {
			if word = fold(word); word != "" && len(word) <= maxTerm && !yield(word) {
				return
			}
		}
	}
}

// fold makes one of words that differ only in case and in marks on letters.
func fold(word string) string {
	folded, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), strings.ToLower(word))
	if err != nil {
		return word
	}
	return folded
}
