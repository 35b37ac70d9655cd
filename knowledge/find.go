package knowledge

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
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

// Query returns the passages nearest to a question in plain words, best first.
// Nothing in the question is syntax. The limit is 5 if it is not positive.
func (b *Base) Query(ctx context.Context, question string, limit int) ([]Passage, error) {
	words := telling(question)
	if len(words) == 0 {
		return nil, nil
	}
	found, terms := b.found(words)
	rows, err := b.db.QueryContext(ctx, b.statement(found+`, top AS (SELECT passage, score FROM mine ORDER BY score, passage LIMIT ?3)
		SELECT name, heading, text, -score FROM top JOIN passages ON passages.id = passage JOIN documents ON documents.id = document
		ORDER BY score, passage`), terms, b.user, bounded(limit))
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
	words := telling(query)
	if len(words) == 0 {
		return nil, nil
	}
	found, terms := b.found(words)
	rows, err := b.db.QueryContext(ctx, b.statement(found+`, ranked AS (SELECT document, passage, score, row_number() OVER (PARTITION BY document ORDER BY score, passage) AS place FROM mine),
		best AS (SELECT document, passage, score FROM ranked WHERE place = 1 ORDER BY score, document LIMIT ?3)
		SELECT `+infoColumns+`, text, -score FROM best JOIN passages ON passages.id = passage JOIN documents ON documents.id = best.document
		ORDER BY score, documents.id`), terms, b.user, bounded(limit))
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

// telling returns the words of a question that tell something, or all where none does.
func telling(question string) []string {
	words := words(script.Spread(question))
	if telling := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return strings.Contains(stopWords, " "+word+" ")
	}); len(telling) > 0 {
		return telling
	}
	return words
}

// expression asks FTS5 for any of the words. All are quoted.
func expression(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = `"` + word + `"`
	}
	return strings.Join(quoted, " OR ")
}

// words returns the first words of a text, each once and in lower case.
func words(text string) []string {
	var list []string
	for word := range allWords(text) {
		if word = strings.ToLower(word); !slices.Contains(list, word) {
			list = append(list, word)
		}
		if len(list) == maxTerms {
			break
		}
	}
	return list
}

// allWords yields the words of a text, as they are.
func allWords(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}
