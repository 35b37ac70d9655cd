package edit

import "strings"

// loose finds a text that is the same but for line ends and white space at the ends
// of lines.
func (e *Edit) loose(text string) (found []span, note string) {
	plain, origin := withoutLineEnds(text)
	search, _ := withoutLineEnds(e.Search)
	if strings.TrimSpace(search) == "" {
		return nil, ""
	}
	// White space that was taken away from the end of the search was the end of a line.
	endsLine := !strings.HasSuffix(e.Search, "\n") && strings.TrimRight(e.Search, " \t\r") != e.Search
	for at := 0; ; {
		i := strings.Index(plain[at:], search)
		if i < 0 {
			break
		}
		start, end := at+i, at+i+len(search)
		at = end
		if endsLine && end < len(plain) && plain[end] != '\n' {
			continue
		}
		found = append(found, span{start: origin[start], end: origin[end-1] + 1, text: withLineEnds(e.Replace, text)})
	}
	return found, "matched after ignoring line ends and white space at the ends of lines"
}

// withoutLineEnds returns a text without white space at the ends of its lines, and
// where each byte of that was.
func withoutLineEnds(text string) (string, []int) {
	var b strings.Builder
	var origin []int
	at := 0
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, " \t\r\n")
		for i := range len(content) {
			origin = append(origin, at+i)
		}
		b.WriteString(content)
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
			origin = append(origin, at+len(line)-1)
		}
		at += len(line)
	}
	return b.String(), origin
}
