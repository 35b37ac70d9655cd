package pipeline

import (
	"fmt"
	"strings"
)

const (
	diffContext = 3       // lines shown around a change
	maxDiff     = 8 << 10 // bytes of a diff
	maxTable    = 1 << 20 // cells of the table that finds what two texts share
)

// A diffLine is a line with what became of it: ' ' kept, '-' gone, '+' new.
type diffLine struct {
	mark byte
	text string
}

// unifiedDiff shows how a text changed, as diff -u does. What is longer than a
// person reads at a gate is cut, and says so.
func unifiedDiff(name, before, after string) string {
	lines := compareLines(splitLines(before), splitLines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name, name)
	for start := 0; start < len(lines); {
		first := nextChange(lines, start)
		if first == len(lines) {
			break
		}
		end := hunkEnd(lines, first)
		writeHunk(&b, lines, max(start, first-diffContext), end)
		start = end
	}
	text := b.String()
	if len(text) <= maxDiff {
		return text
	}
	cut := strings.LastIndexByte(text[:maxDiff], '\n') + 1
	return text[:cut] + fmt.Sprintf("[cut here: %d of %d bytes of the diff shown]\n", cut, len(text))
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compareLines returns the lines of both texts in one list. Where the texts are too
// large to compare line by line, what differs is one piece taken out and one put in.
func compareLines(a, b []string) []diffLine {
	var lines []diffLine
	add := func(mark byte, texts ...string) {
		for _, text := range texts {
			lines = append(lines, diffLine{mark, text})
		}
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	add(' ', a[:head]...)
	end := a[len(a)-tail:]
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	if len(a)*len(b) <= maxTable {
		common, width, i, j := commonLines(a, b), len(b)+1, 0, 0
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				add(' ', a[i])
				i, j = i+1, j+1
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				add('-', a[i])
				i++
			default:
				add('+', b[j])
				j++
			}
		}
		a, b = a[i:], b[j:]
	}
	add('-', a...)
	add('+', b...)
	add(' ', end...)
	return lines
}

// commonLines returns, for every pair of ends of a and b, how many lines they share
// in order: the cell of a[i:] and b[j:] is i*(len(b)+1)+j.
func commonLines(a, b []string) []int32 {
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	return common
}

func nextChange(lines []diffLine, from int) int {
	for from < len(lines) && lines[from].mark == ' ' {
		from++
	}
	return from
}

// hunkEnd returns where the hunk ends that begins with the change at first: where
// so many lines were kept that the next change is better shown on its own.
func hunkEnd(lines []diffLine, first int) int {
	for {
		kept := first
		for kept < len(lines) && lines[kept].mark != ' ' {
			kept++
		}
		next := nextChange(lines, kept)
		if next == len(lines) || next-kept > 2*diffContext {
			return min(kept+diffContext, len(lines))
		}
		first = next
	}
}

func writeHunk(b *strings.Builder, lines []diffLine, start, end int) {
	oldLine, newLine, oldCount, newCount := 1, 1, 0, 0
	for i, line := range lines[:end] {
		if line.mark != '+' {
			oldLine += oneIf(i < start)
			oldCount += oneIf(i >= start)
		}
		if line.mark != '-' {
			newLine += oneIf(i < start)
			newCount += oneIf(i >= start)
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldLine-oneIf(oldCount == 0), oldCount, newLine-oneIf(newCount == 0), newCount)
	for _, line := range lines[start:end] {
		b.WriteByte(line.mark)
		b.WriteString(line.text)
		if !strings.HasSuffix(line.text, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
