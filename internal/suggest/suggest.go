// Package suggest finds the name that somebody meant who wrote another.
package suggest

import (
	"fmt"
	"strings"
)

// maxWord bounds the words that are compared, in bytes: the work grows with the
// product of their lengths, and nobody mistypes a name this long.
const maxWord = 64

// Closest returns the name among names that written was most likely meant to be,
// and whether any is close enough. Of several that are equally close the first wins.
func Closest(written string, names []string) (string, bool) {
	written = strings.ToLower(written)
	if written == "" || len(written) > maxWord {
		return "", false
	}
	closest, least := "", max(1, len(written)/3)+1
	for _, name := range names {
		if len(name) > maxWord {
			continue
		}
		if d := Distance(written, strings.ToLower(name)); d < least && d < min(len(written), len(name)) {
			closest, least = name, d
		}
	}
	return closest, closest != ""
}

// Hint is the end of a message about an unknown name: "; did you mean x?", or
// nothing where no name is close.
func Hint(written string, names []string) string {
	if name, ok := Closest(written, names); ok {
		return fmt.Sprintf("; did you mean %s?", name)
	}
	return ""
}

// Distance counts the letters to insert, drop, replace or swap with their neighbour
// to make b of a.
func Distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := above[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(above[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
