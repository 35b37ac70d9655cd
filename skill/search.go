package skill

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe/internal/suggest"
)

// Search returns the skills of a category that a query fits, best first: those that
// match most words of it, and of these the ones that match them in their name,
// then in their category, then in their description. An empty query fits all, in
// order of name; an empty category is every one. A category includes those below it.
func (l *Library) Search(query, in string) []Skill {
	in = category(in)
	sought := split(query)
	type scored struct {
		skill          Skill
		matched, score int
	}
	var hits []scored
	for _, s := range l.List() {
		if in != "" && s.Category != in && !strings.HasPrefix(s.Category, in+"/") {
			continue
		}
		h := scored{skill: s}
		fields := []struct {
			text   string
			weight int
		}{{s.Name, 4}, {s.Category, 2}, {s.Description, 1}}
		for _, word := range sought {
			best := 0
			for _, f := range fields {
				best = max(best, f.weight*match(word, strings.ToLower(f.text)))
			}
			h.score += best
			h.matched += min(best, 1)
		}
		if h.matched > 0 || len(sought) == 0 {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.matched, a.matched), cmp.Compare(b.score, a.score))
	})
	found := make([]Skill, len(hits))
	for i, h := range hits {
		found[i] = h.skill
	}
	return found
}

// match is 2 if text has the word, 1 if it has it inside another, else 0. Words of
// one or two letters are inside too many others to tell anything.
func match(word, text string) int {
	switch {
	case !strings.Contains(text, word):
		return 0
	case slices.Contains(split(text), word):
		return 2
	case len(word) > 2:
		return 1
	}
	return 0
}

// split returns the words of a text, in lower case.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// near returns up to three names that somebody may have meant who wrote another.
func (l *Library) near(written string) []string {
	written = strings.ToLower(written)
	if written == "" || len(written) > maxName {
		return nil
	}
	type guess struct {
		name string
		away int
	}
	var guesses []guess
	for _, s := range l.List() {
		name := strings.ToLower(s.Name)
		away := suggest.Distance(written, name)
		if strings.Contains(name, written) || strings.Contains(written, name) {
			away = min(away, 2)
		}
		if away <= max(2, len(written)/3) {
			guesses = append(guesses, guess{s.Name, away})
		}
	}
	slices.SortStableFunc(guesses, func(a, b guess) int { return cmp.Compare(a.away, b.away) })
	var names []string
	for _, g := range guesses[:min(3, len(guesses))] {
		names = append(names, g.name)
	}
	return names
}
