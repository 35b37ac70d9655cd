package files

import (
	"fmt"
	"strings"
)

const (
	// mostNearest and longestLine bound what is shown of a file.
	mostNearest = 15
	longestLine = 300
)

// notFound says what is in the text that looks most like what was searched for.
func notFound(text, search string) *mismatch {
	lines, wanted := strings.Split(text, "\n"), trimmedLines(search)
	first, ok := byEqualLines(lines, wanted)
	if !ok {
		first, ok = bySimilarLine(lines, wanted)
	}
	if !ok {
		return &mismatch{text: "the search text is not in the file, nor anything like it"}
	}
	last := min(first+len(wanted), len(lines))
	wrong := &mismatch{text: "the search text is not in the file; nearest_lines shows what looks most like it"}
	if spaced(strings.Join(lines[max(first, 0):last], " ")) == spaced(search) {
		wrong.text = "the search text is in the file only with other spaces, tabs or line breaks; nearest_lines shows them"
	}
	for i := max(first, 0); i < min(last, max(first, 0)+mostNearest); i++ {
		wrong.nearest = append(wrong.nearest, numbered(i+1, ':', lines[i]))
	}
	return wrong
}

// trimmedLines returns the lines of a text without empty ones around them.
func trimmedLines(text string) []string {
	lines := strings.Split(text, "\n")
	for len(lines) > 1 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 1 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// spaced is a text with single spaces, so that two can be compared without them.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// byEqualLines finds where most lines are those wanted, but for spaces. Each line
// votes for where the whole would begin; of lines that are wanted often the first
// few vote, which keeps this linear.
func byEqualLines(lines, wanted []string) (first int, ok bool) {
	const mostOfOne = 4
	index := make(map[string][]int)
	for i, line := range wanted {
		if key := spaced(line); key != "" && len(index[key]) < mostOfOne {
			index[key] = append(index[key], i)
		}
	}
	votes, most := make(map[int]int), 0
	for i, line := range lines {
		for _, j := range index[spaced(line)] {
			votes[i-j] += len(strings.TrimSpace(line))
			if n := votes[i-j]; n > most {
				first, most = i-j, n
			}
		}
	}
	return first, most > 0
}

// bySimilarLine finds the line that shares most sequences of three bytes with the
// longest one wanted.
func bySimilarLine(lines, wanted []string) (first int, ok bool) {
	longest := 0
	for i := range wanted {
		if len(spaced(wanted[i])) > len(spaced(wanted[longest])) {
			longest = i
		}
	}
	sequences := make(map[string]bool)
	for _, sequence := range threes(spaced(wanted[longest])) {
		sequences[sequence] = true
	}
	best := 0.3 // less in common is chance
	for i, line := range lines {
		own, shared := threes(spaced(line)), 0
		for _, sequence := range own {
			if sequences[sequence] {
				shared++
			}
		}
		if alike := 2 * float64(min(shared, len(sequences))) / float64(len(own)+len(sequences)); alike > best {
			first, ok, best = i-longest, true, alike
		}
	}
	return first, ok
}

func threes(text string) (sequences []string) {
	for i := 0; i+3 <= len(text); i++ {
		sequences = append(sequences, text[i:i+3])
	}
	return sequences
}

// numbered is a line as it is shown: its number, a mark, and the beginning of it.
func numbered(number int, mark rune, line string) string {
	line = strings.TrimSuffix(line, "\r")
	shown := cut(line, longestLine)
	if len(shown) < len(line) {
		shown += "..."
	}
	return fmt.Sprintf("%d%c%s", number, mark, strings.ToValidUTF8(shown, "\ufffd"))
}
