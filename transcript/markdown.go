package transcript

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/words"
)

// clean makes text fit for a page: UTF-8, without colours of a terminal, control
// characters and marks that turn its direction, and with lines that all end alike.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, lineEnds.Replace(colours.ReplaceAllString(text, "")))
}

var (
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	colours  = regexp.MustCompile(`\x1b\[[0-9;]*m`)
)

// maxName bounds what is shown of a name, in bytes.
const maxName = 300

// oneLine returns the beginning of text as one line, never empty.
func oneLine(text string) string {
	shown := cut(text, maxName)
	if shown != text {
		shown += "…"
	}
	return cmp.Or(strings.Join(strings.Fields(clean(shown)), " "), "?")
}

// code returns text as a code span.
func code(text string) string {
	text = oneLine(text)
	ticks := strings.Repeat("`", 1+words.LongestTicks(text))
	if len(ticks) > 1 {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

func codes(names []string) []string {
	var spans []string
	for _, name := range names {
		spans = append(spans, code(name))
	}
	return spans
}

// plain returns text as one line in which no character has a meaning.
func plain(text string) string { return meaningful.ReplaceAllString(oneLine(text), `\$0`) }

var meaningful = regexp.MustCompile("[\\\\`*_~\\[\\]<>&|#$!]")

// cut returns at most n bytes of text, whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// fenceLine is a line that may open or close a block of code.
var fenceLine = regexp.MustCompile("^([ \t]*)(`{3,}|~{3,})(.*)$")

// quoted returns markdown as a block quote. The fences in it are written anew, so
// that what is taken for code here is code for every reader: all else is kept from
// being HTML or a footnote, which would not end with the quote.
func quoted(text string) string {
	var lines []string
	open, indent := "", ""
	for line := range strings.SplitSeq(strings.Trim(clean(text), "\n"), "\n") {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case open == "" && m != nil && !(m[2][0] == '`' && strings.Contains(m[3], "`")):
			indent, open = m[1], m[2]
			line = m[2] + m[3]
		case open == "":
			line = footnote.ReplaceAllString(tag.ReplaceAllString(line, "&lt;$1"), "&#91;^")
		case m != nil && strings.HasPrefix(m[2], open) && strings.TrimSpace(m[3]) == "":
			line, open = m[2], ""
		default:
			line = strings.TrimPrefix(line, indent)
		}
		lines = append(lines, line)
	}
	if open != "" {
		lines = append(lines, open)
	}
	return strings.ReplaceAll("> "+strings.Join(lines, "\n> "), "> \n", ">\n")
}

var (
	tag      = regexp.MustCompile(`<([A-Za-z/!?])`)
	footnote = regexp.MustCompile(`\[\^`)
)
