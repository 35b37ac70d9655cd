package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/troupe-dev/troupe/internal/script"
)

const (
	// maxQuery bounds a text that is searched for, in bytes, and maxTerms its words
	// and phrases.
	maxQuery = 4 << 10
	maxTerms = 64
	// maxWord is the longest word that can be found as a whole, in bytes; of a longer
	// one its beginning.
	maxWord = 255
	// maxPosition is the last one that PostgreSQL tells apart from those after it.
	maxPosition = 16383
)

// splitWords returns the words of a text, in lower case and without accents. Whatever is
// no letter and no digit is between words.
func splitWords(text string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r): // an accent
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Mc, r):
			if word.Len() < maxWord-4 {
				word.WriteRune(unicode.ToLower(r))
			}
		default:
			end()
		}
	}
	end()
	return words
}

// vector writes words as PostgreSQL reads a tsvector. Words are letters and digits, so
// that nothing in them is syntax.
func vector(words []string) string {
	positions := map[string][]int{}
	for i, w := range words {
		if i < maxPosition {
			positions[w] = append(positions[w], i+1)
		} else if positions[w] == nil {
			positions[w] = []int{maxPosition}
		}
	}
	var b strings.Builder
	for w, at := range positions {
		b.WriteString("'" + w + "':")
		for i, p := range at {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(p))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// A term is words that must follow each other. The last may be the beginning of one.
type term struct {
	words     []string
	beginning bool
}

// parseTerms reads what a person typed: words, phrases in double quotes, and words that
// end in a star. Nothing in it is syntax otherwise.
func parseTerms(text string) ([]term, error) {
	if len(text) > maxQuery {
		return nil, fmt.Errorf("a text of %d bytes: at most %d can be searched for", len(text), maxQuery)
	}
	text = clean(text)
	var terms []term
	add := func(t term) {
		if len(t.words) > 0 {
			terms = append(terms, t)
		}
	}
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			add(term{words: splitWords(script.Spread(part))})
			continue
		}
		for word := range strings.FieldsSeq(part) {
			add(term{splitWords(script.Spread(word)), strings.HasSuffix(word, "*")})
		}
	}
	if len(terms) > maxTerms {
		return nil, fmt.Errorf("%d words: at most %d can be searched for", len(terms), maxTerms)
	}
	return terms, nil
}

// expression writes terms as PostgreSQL reads a tsquery.
func expression(terms []term) string {
	all := make([]string, len(terms))
	for i, t := range terms {
		words := make([]string, len(t.words))
		for j, w := range t.words {
			words[j] = "'" + w + "'"
		}
		all[i] = "(" + strings.Join(words, " <-> ")
		if t.beginning {
			all[i] += ":*"
		}
		all[i] += ")"
	}
	return strings.Join(all, " & ")
}

// finds reports whether a text that has these words has all terms. It is what the index
// says of events that are in it.
func finds(terms []term, words []string) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t term) bool { return !t.isIn(words) })
}

func (t *term) isIn(words []string) bool {
	last := len(t.words) - 1
	for i := 0; i+last < len(words); i++ {
		if !slices.Equal(words[i:i+last], t.words[:last]) {
			continue
		}
		if w := words[i+last]; w == t.words[last] || t.beginning && strings.HasPrefix(w, t.words[last]) {
			return true
		}
	}
	return false
}
