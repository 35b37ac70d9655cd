package approve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// question asks whether a tool may be called with the arguments. It shows all of them,
// decoded, as text that is plain everywhere: indented, so that no program takes it for
// markup, and with what cannot be seen, or changes how the rest is shown, named by its
// number, as [U+202E]. They come in their order, but for those of many lines, which are
// last: where something goes is read before all of what goes there.
func question(tool string, arguments json.RawMessage) string {
	names, values, err := fields(arguments)
	if len(names) == 0 && err == nil {
		return fmt.Sprintf("May I call %s? It takes no arguments. (yes or no)", plain(tool))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "May I call %s with these arguments? (yes or no)\n\n", plain(tool))
	if err != nil {
		writeText(&b, indent, string(arguments))
	}
	var long strings.Builder
	for i, name := range names {
		var field strings.Builder
		writeField(&field, indent, plainLine(name)+":", values[i])
		if strings.Count(field.String(), "\n") > manyLines {
			long.WriteString(field.String())
		} else {
			b.WriteString(field.String())
		}
	}
	b.WriteString(long.String())
	return strings.TrimSuffix(b.String(), "\n")
}

// manyLines is how many lines of an argument do not push the others out of sight.
const manyLines = 8

// indent makes a line one that markdown shows as it is.
const indent = "    "

// writeField writes a value with what stands before it: beside it if it has one line,
// else below it and further in.
func writeField(b *strings.Builder, margin, label string, value json.RawMessage) {
	value = bytes.TrimSpace(value)
	b.WriteString(margin + label)
	switch {
	case len(value) > 2 && value[0] == '{':
		if names, values, err := fields(value); err == nil && len(names) > 0 {
			b.WriteByte('\n')
			for i, name := range names {
				writeField(b, margin+indent, plainLine(name)+":", values[i])
			}
			return
		}
	case len(value) > 2 && value[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(value, &list) == nil && len(list) > 0 {
			b.WriteByte('\n')
			for _, item := range list {
				writeField(b, margin+indent, "-", item)
			}
			return
		}
	case len(value) > 0 && value[0] == '"':
		var text string
		if json.Unmarshal(value, &text) == nil {
			writeString(b, margin, text)
			return
		}
	}
	b.WriteString(" " + plainLine(string(value)) + "\n")
}

// writeString writes a text after its label.
func writeString(b *strings.Builder, margin, text string) {
	switch {
	case strings.Contains(text, "\n"):
		fmt.Fprintf(b, " (%d bytes)\n", len(text))
		writeText(b, margin+indent, text)
	case looksLikeOther(text):
		quoted, _ := json.Marshal(text)
		b.WriteString(" " + plainLine(string(quoted)) + "\n")
	default:
		b.WriteString(" " + plainLine(text) + "\n")
	}
	if u, err := url.Parse(strings.TrimSpace(text)); err == nil && isURL(text) && plainHost(u.Hostname()) != strings.ToLower(u.Hostname()) {
		fmt.Fprintf(b, "%s%s(its host is %s)\n", margin, indent, plainLine(plainHost(u.Hostname())))
	}
}

// writeText writes the lines of a text.
func writeText(b *strings.Builder, margin, text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString(margin + plainLine(line) + "\n")
	}
}

// looksLikeOther says that a text would be taken for a number, a word of JSON or
// nothing, or has blanks around it.
func looksLikeOther(text string) bool {
	var value any
	return text == "" || strings.TrimSpace(text) != text || json.Unmarshal([]byte(text), &value) == nil
}

// plain returns a text in which everything can be seen: what is invisible, moves the
// cursor, or changes the direction of what follows is named by its number. Line feeds
// and tabs stay.
func plain(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = plainLine(line)
	}
	return strings.Join(lines, "\n")
}

func plainLine(line string) string {
	if strings.IndexFunc(line, isHidden) < 0 {
		return line
	}
	var b strings.Builder
	for i, r := range line {
		switch _, size := utf8.DecodeRuneInString(line[i:]); {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "[byte %02X]", line[i])
		case isHidden(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isHidden(r rune) bool {
	switch {
	case r == ' ', r == '\t':
		return false
	case r == utf8.RuneError, !unicode.IsPrint(r):
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
