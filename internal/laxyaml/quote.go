package laxyaml

import (
	"bytes"
	"regexp"
	"strings"
)

// quoteScalars puts quotes around the values that authors forget to quote:
//
//	output_folder: {project-root}/docs
//	cmd: *help
//	title: Story: one
//	path: "C:\Users"
//	title: "One" of many
//	title: 'L'auteur'
//
// Tabs that indent a line are two spaces each.
//
// It works line by line, keeps the lines' numbers, and leaves block scalars and
// quoted values alone. The lines it changed are returned, nil if there are none.
func quoteScalars(src []byte) (quoted []byte, changed []int) {
	var q quoter
	var out bytes.Buffer
	number := 0
	for line := range strings.Lines(string(src)) {
		number++
		body := strings.TrimRight(line, "\r\n")
		mended := q.line(spaced(body))
		if mended != body {
			changed = append(changed, number)
		}
		out.WriteString(mended)
		out.WriteString(line[len(body):])
	}
	return out.Bytes(), changed
}

// A quoter remembers what the lines before the current one have begun.
type quoter struct {
	inBlock bool
	indent  int  // lines of the block are further in than this
	open    byte // the quote that is not closed yet
}

// A yamlItem is a line of YAML that holds a value: dashes and key, then the value.
var yamlItem = regexp.MustCompile(`^( *(?:- +)*)((?:"[^"]*"|'[^']*'|[^\s"'{}\[\]*&!|>%@#` + "`" + `,?-][^#]*?|-[^\s#][^#]*?) *:(?: +|$))?(.*)$`)

// blockHeader begins a block scalar.
var blockHeader = regexp.MustCompile(`^[|>][-+0-9]*\s*(?:#.*)?$`)

func (q *quoter) line(line string) string {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if q.open != 0 {
		if strings.IndexByte(line, q.open) >= 0 {
			q.open = 0
		}
		return line
	}
	if text == "" || q.inBlock && indent > q.indent {
		return line
	}
	q.inBlock = false
	if text[0] == '#' {
		return line
	}
	m := yamlItem.FindStringSubmatch(line)
	dashes, key, value := m[1], m[2], m[3]
	if value == "" {
		return line
	}
	if blockHeader.MatchString(value) {
		q.inBlock, q.indent = true, indent
		if key != "" {
			q.indent = len(dashes)
		}
		return line
	}
	value, comment := cutComment(value)
	if quote := value[0]; quote == '"' || quote == '\'' {
		if isBadlyQuoted(value) {
			return dashes + key + literal(value) + comment
		}
		if strings.Count(value, value[:1])%2 == 1 {
			q.open = quote
		}
		return line
	}
	if !wantsQuotes(value) {
		return line
	}
	return dashes + key + "'" + strings.ReplaceAll(value, "'", "''") + "'" + comment
}

// spaced has spaces for the tabs that indent a line.
func spaced(line string) string {
	text := strings.TrimLeft(line, " \t")
	return strings.ReplaceAll(line[:len(line)-len(text)], "\t", "  ") + text
}

// badEscape is a backslash in double quotes that YAML has no meaning for.
var badEscape = regexp.MustCompile(`\\(?:[^0abtnvfre "/\\N_LPxuU\t]|x(?:.?$|[^0-9a-fA-F]|.[^0-9a-fA-F])|[uU][^0-9a-fA-F])`)

// isBadlyQuoted says whether a value that begins with a quote is none that YAML can read:
// something follows the closing quote, a quote within is like those around it, or a backslash
// means nothing.
func isBadlyQuoted(value string) bool {
	quote := value[:1]
	if within, ok := enclosed(value); ok && strings.Contains(within, quote) {
		return true
	}
	if len(value) < 2 || strings.Count(value, quote)%2 == 1 {
		return false
	}
	if !strings.HasSuffix(value, quote) {
		return !strings.Contains(value, quote+",") && !strings.Contains(value, quote+":")
	}
	return quote == `"` && badEscape.MatchString(strings.ReplaceAll(value, `\\`, ""))
}

// enclosed returns what a value has between its quotes, without the quotes that are escaped.
// It is not ok where the value does not end with the quote that it begins with.
func enclosed(value string) (within string, ok bool) {
	quote := value[:1]
	if len(value) < 2 || !strings.HasSuffix(value, quote) {
		return "", false
	}
	within = value[1 : len(value)-1]
	if quote == "'" {
		return strings.ReplaceAll(within, "''", ""), true
	}
	return strings.NewReplacer(`\\`, "", `\"`, "").Replace(within), !strings.HasSuffix(strings.ReplaceAll(within, `\\`, ""), `\`)
}

// endsAWord recognises quotes that are around the first words only: "One" and "two".
var endsAWord = regexp.MustCompile(`^[^"']*[^"'\\\s]["'](?:[^\pL\pN\\]|$)`)

// literal quotes a value so that it is read as written, without the quotes around all of it.
func literal(value string) string {
	quote := value[:1]
	within, ok := enclosed(value)
	switch {
	case ok && strings.Contains(within, quote) && !endsAWord.MatchString(within):
		value = strings.NewReplacer(`\`+quote, quote, "''", "'").Replace(value[1 : len(value)-1])
	case ok && strings.Count(value, quote) == 2:
		value = value[1 : len(value)-1]
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}

// cutComment splits a value from the comment behind it.
func cutComment(s string) (value, comment string) {
	end := len(s)
	if i := strings.Index(s, " #"); i >= 0 {
		end = i
	}
	value = strings.TrimRight(s[:end], " \t")
	if value == "" {
		return s, ""
	}
	return value, s[len(value):]
}

// wantsQuotes says whether YAML would take a plain value for something else.
func wantsQuotes(s string) bool {
	switch s[0] {
	case '{', '[':
		end := closing(s)
		return end >= 0 && end < len(s)-1
	case '*', '@', '`', '%', '|', '>':
		return true
	case '!':
		return false
	case '&', '-', '?':
		if len(s) == 1 || s[1] == ' ' {
			return true
		}
	}
	return strings.Contains(s, ": ") || strings.HasSuffix(s, ":")
}

// closing returns where the bracket closes that s begins with, or -1.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// isTabbed says whether a line of a text is indented with tabs.
func isTabbed(src []byte, number int) bool {
	for line := range strings.Lines(string(src)) {
		if number--; number == 0 {
			return strings.HasPrefix(strings.TrimLeft(line, " "), "\t")
		}
	}
	return false
}
