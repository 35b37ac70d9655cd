package pipeline

import (
	"bytes"
	"strings"

	"github.com/troupe-dev/troupe/markup"
)

// codeLines are the lines of a text that are in a block of code, or fence one, by where they begin. A
// block that nothing ends is none.
func codeLines(text string) map[int]bool {
	var begins []int
	at := 0
	for line := range strings.Lines(text) {
		begins = append(begins, at)
		at += len(line)
	}
	code := map[int]bool{}
	for _, f := range markup.Fences([]byte(text)) {
		if !f.Closed {
			continue
		}
		last := f.Line + bytes.Count(f.Content, []byte("\n")) + 1
		for _, at := range begins[f.Line-1 : last] {
			code[at] = true
		}
	}
	return code
}
