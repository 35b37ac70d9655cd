package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What is shown of a text in which a search was not found.
const (
	maxPlaces     = 3   // places
	maxShown      = 12  // lines of each
	maxShownLine  = 200 // bytes of a line
	maxCompared   = 60  // lines of the search that are looked for
	maxCandidates = 400 // lines of the text that a line of the search is compared with
)

// nearest says that there is no such text, and shows what comes nearest.
func nearest(text, search string) string {
	file, wanted := linesOf(text), linesOf(search)
	if len(file) == 0 {
		return "no such text: the file is empty."
	}
	places := candidates(file, wanted)
	if len(places) == 0 {
		return fmt.Sprintf("no such text, and nothing like it in %d lines. Read the file again.", len(file))
	}
	var b strings.Builder
	b.WriteString("no such text. Nearest")
	for _, at := range places {
		end := min(at+max(len(wanted), 1), len(file))
		differing := 0
		for i := at; i < end; i++ {
			if file[i].content != wanted[i-at].content {
				differing++
			}
		}
		how := fmt.Sprintf("%d lines differ", differing)
		switch differing {
		case 0:
			how = "the indentation differs"
		case 1:
			how = "one line differs"
		}
		fmt.Fprintf(&b, " (line %d, %s):\n", at+1, how)
		for i := at; i < min(end, at+maxShown); i++ {
			fmt.Fprintf(&b, "%6d\t%s", i+1, clipLine(text[file[i].start:file[i].end]))
			if got := file[i]; got.content != wanted[i-at].content {
				fmt.Fprintf(&b, "          <- you wrote: %s", clipLine(wanted[i-at].content))
			}
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func clipLine(text string) string {
	text = strings.TrimRight(text, "\r\n")
	if len(text) > maxShownLine {
		return strings.ToValidUTF8(text[:maxShownLine], "") + "…"
	}
	return text
}

// candidates returns the lines at which most of what is wanted is, the best first.
func candidates(file, wanted []line) []int {
	at := map[string][]int{}
	for i, l := range file {
		if l.content != "" && len(at[l.content]) < maxCandidates {
			at[l.content] = append(at[l.content], i)
		}
	}
	votes := map[int]int{}
	for j, l := range wanted[:min(len(wanted), maxCompared)] {
		weight := 4
		if len(l.content) < 3 { // a brace says little
			weight = 1
		}
		for _, i := range at[l.content] {
			if i >= j {
				votes[i-j] += weight
			}
		}
	}
	if len(votes) == 0 || most(votes) < 4 {
		similar(file, wanted, votes)
	}
	var places []int
	for place := range votes {
		places = append(places, place)
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Or(votes[b]-votes[a], a-b) })
	if len(places) > 1 && votes[places[0]] >= 2*votes[places[1]] {
		places = places[:1]
	}
	return places[:min(len(places), maxPlaces)]
}

func most(votes map[int]int) int {
	top := 0
	for _, n := range votes {
		top = max(top, n)
	}
	return top
}

// similar votes for the lines that share most words with the first line wanted.
func similar(file, wanted []line, votes map[int]int) {
	first := firstFilled(wanted)
	if first < 0 {
		return
	}
	words := strings.FieldsFunc(wanted[first].content, notWord)
	if len(words) == 0 {
		return
	}
	for i, l := range file[:min(len(file), 20000)] {
		shared := 0
		for _, word := range words {
			if strings.Contains(l.content, word) {
				shared++
			}
		}
		if i >= first && shared*2 > len(words) {
			votes[i-first] += 4 + shared
		}
	}
}

func notWord(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r < 128
}
