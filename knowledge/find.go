package knowledge

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe/internal/script"
)

const (
	defaultLimit = 5
	maxLimit     = 100
	maxTerms     = 64  // words of a question that count
	maxPreview   = 200 // in characters, as GKChatty has it
)

// A Hit is a document that was found.
type Hit struct {
	Info
	Preview string  `json:"preview"` // how its best passage begins
	Score   float64 `json:"score"`
}

// found ranks the user's passages that have any word of a question. Words of names
// and descriptions count as those of the text, words of headings twice. A word that
// is everywhere counts for nothing.
const found = `WITH found AS MATERIALIZED (SELECT rowid AS passage, bm25(words, 1, 2, 1) AS score FROM words WHERE words MATCH ?1),
	mine AS (SELECT passage, document, score FROM found JOIN passages ON passages.id = passage JOIN documents ON documents.id = document
		WHERE user = ?2) `

// Query returns the passages nearest to a question in plain words, best first.
// Nothing in the question is syntax. The limit is 5 if it is not positive.
func (b *Base) Query(ctx context.Context, question string, limit int) ([]Passage, error) {
	terms := expression(question)
	if terms == "" {
		return nil, nil
	}
	rows, err := b.db.QueryContext(ctx, found+`, top AS (SELECT passage, score FROM mine ORDER BY score, passage LIMIT ?3)
		SELECT name, heading, text, -score FROM top JOIN passages ON passages.id = passage JOIN documents ON documents.id = document
		ORDER BY score, passage`, terms, b.user, bounded(limit))
	list, err := collect(rows, err, func(rows *sql.Rows) (p Passage, err error) {
		return p, rows.Scan(&p.Document, &p.Heading, &p.Text, &p.Score)
	})
	if err != nil {
		return nil, fmt.Errorf("query knowledge: %w", err)
	}
	return list, nil
}

// Search returns the documents that have the nearest passages, best first. A
// document is also found by its hash. The limit is 5 if it is not positive.
func (b *Base) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	terms := expression(query)
	if terms == "" {
		return nil, nil
	}
	rows, err := b.db.QueryContext(ctx, found+`, best AS (SELECT document, passage, min(score) AS score FROM mine GROUP BY document
			ORDER BY 3, document LIMIT ?3)
		SELECT `+infoColumns+`, text, -score FROM best JOIN passages ON passages.id = passage JOIN documents ON documents.id = best.document
		ORDER BY score, documents.id`, terms, b.user, bounded(limit))
	list, err := collect(rows, err, func(rows *sql.Rows) (h Hit, err error) {
		var text string
		h.Info, err = scanInfo(rows, &text, &h.Score)
		h.Preview = preview(text)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("search knowledge: %w", err)
	}
	return list, nil
}

func bounded(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return min(limit, maxLimit)
}

// preview returns the beginning of a text, on one line.
func preview(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > maxPreview {
		return string(line[:maxPreview]) + "..."
	}
	return string(line)
}

// stopWords are in every text. They would count for next to nothing, and each would
// have all passages looked at.
const stopWords = " a an and are as at be by can do does for from how i if in is it its not of on or our should that the their there they this to was we what when where which who will with you "

// expression asks FTS5 for any of a question's words. All are quoted.
func expression(question string) string {
	terms := words(script.Spread(question))
	if telling := slices.DeleteFunc(slices.Clone(terms), func(term string) bool {
		return strings.Contains(stopWords, " "+term+" ")
	}); len(telling) > 0 {
		terms = telling
	}
	for i, term := range terms {
		terms[i] = `"` + term + `"`
	}
	return strings.Join(terms, " OR ")
}

// words returns the first words of a text, each once and in lower case.
func words(text string) []string {
	var list []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	}) {
		if word = strings.ToLower(word); !slices.Contains(list, word) {
			list = append(list, word)
		}
		if len(list) == maxTerms {
			break
		}
	}
	return list
}
