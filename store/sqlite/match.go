package sqlite

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/internal/script"
)

const (
	// maxQuery bounds a text that is searched for, in bytes, and maxTerms its words
	// and phrases.
	maxQuery = 4 << 10
	maxTerms = 64
)

// matchExpression makes an FTS5 expression of what a person typed. Each word and
// each phrase is quoted, so nothing in it is syntax but a star at the end of a word.
func matchExpression(text string) (string, error) {
	if len(text) > maxQuery {
		return "", fmt.Errorf("a text of %d bytes: at most %d can be searched for", len(text), maxQuery)
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, " "), "\x00", " ")
	var terms []string
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			terms = append(terms, quote(part))
			continue
		}
		for word := range strings.FieldsSeq(part) {
			if beginning := strings.TrimRight(word, "*"); beginning != word {
				terms = append(terms, quote(beginning)+"*")
			} else {
				terms = append(terms, quote(word))
			}
		}
	}
	if len(terms) > maxTerms {
		return "", fmt.Errorf("%d words: at most %d can be searched for", len(terms), maxTerms)
	}
	if len(terms) == 0 {
		return quote(""), nil // finds nothing
	}
	return strings.Join(terms, " "), nil
}

func quote(term string) string { return `"` + script.Spread(term) + `"` }
