package pipeline

import "strings"

// codeLines are the lines of a text that are in a block of code, or fence one, by where they begin. A
// block that nothing ends is none.
func codeLines(text string) map[int]bool {
	code := map[int]bool{}
	fence, at := "", 0
	var inside []int
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case fence == "":
			if fence = fenceOf(bare); fence != "" {
				inside = []int{at}
			}
		case strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "":
			for _, at := range append(inside, at) {
				code[at] = true
			}
			fence = ""
		default:
			inside = append(inside, at)
		}
		at += len(line)
	}
	return code
}

// fenceOf is what a line begins a block of code with, empty where it begins none.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !(mark == "`" && strings.Contains(rest, mark)) {
			return line[:n]
		}
	}
	return ""
}
