package argcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/suggest"
)

const (
	maxShown  = 60 // characters of one value or name
	maxListed = 20 // names or options in one list
	maxAround = 30 // bytes on either side of a place in a text
)

const notAllowed = "not allowed here"

func atLeast(count int, noun string) string { return "at least " + plural(count, noun) }
func atMost(count int, noun string) string  { return "at most " + plural(count, noun) }

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

func matching(pattern string) string { return "a string that matches " + printable(pattern) }

func missingField(object, name string) Problem {
	return Problem{Path: join(object, name), Expected: "required, but missing", IsMissing: true}
}

func unknownField(name string, known []string) string {
	if len(known) == 0 {
		return "not a known field (there are none)"
	}
	text := "not a known field (known: " + listed(known) + ")"
	if meant, ok := suggest.Closest(name, known); ok {
		text += "; did you mean " + meant + "?"
	}
	return text
}

// oneOf returns the options as a phrase, and nothing where there are none.
func oneOf(options []string) string {
	if len(options) < 2 {
		return strings.Join(options, "")
	}
	return "one of " + listed(options)
}

func listed(words []string) string {
	var shown []string
	for _, word := range words[:min(len(words), maxListed)] {
		shown = append(shown, printable(word))
	}
	list := strings.Join(shown, ", ")
	if len(words) > maxListed {
		list += fmt.Sprintf(" and %d more", len(words)-maxListed)
	}
	return list
}

// show returns the kind of a decoded value and its beginning.
func show(value any) string {
	text := []byte(asJSON(value))
	return showRaw(kindOf(text[0]), text)
}

// showRaw is show for a value that is written as raw.
func showRaw(kind kinds, raw []byte) string {
	if kind == kindNull {
		return "null"
	}
	return kind.String() + " " + printable(string(raw[:min(len(raw), maxShown*utf8.UTFMax+1)]))
}

// asJSON returns a decoded value as JSON again.
func asJSON(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "?"
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// printable returns the text on one line and in at most maxShown characters.
func printable(text string) string {
	count := 0
	for i := range text {
		if count == maxShown {
			text = text[:i] + "…"
			break
		}
		count++
	}
	return onOneLine(text)
}

func onOneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// excerpt returns the text around the offset, without what is not UTF-8.
func excerpt(text []byte, offset int) string {
	from, to := max(0, offset-maxAround), min(len(text), offset+maxAround)
	near := onOneLine(strings.ToValidUTF8(string(text[from:to]), ""))
	if from > 0 {
		near = "…" + near
	}
	if to < len(text) {
		near += "…"
	}
	return near
}

// join adds a step to a JSON pointer.
func join(pointer, step string) string {
	step = strings.ReplaceAll(printable(step), "~", "~0")
	return pointer + "/" + strings.ReplaceAll(step, "/", "~1")
}

// stringsAmong returns those of the values that are strings as a JSON array, "" if
// there are none.
func stringsAmong(values []any) string {
	var texts []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	if texts == nil {
		return ""
	}
	return asJSON(texts)
}
