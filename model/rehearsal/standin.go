package rehearsal

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	continueMenu = regexp.MustCompile(`(?i)\[c\]`)
	yesOrNo      = regexp.MustCompile(`(?i)\(?\b(?:yes ?/ ?no|y ?/ ?n)\b|^(?:do|does|is|are|would|shall|should|can|ready|continue|apply|fix)\b[^\n]*\?\s*$`)
	numbered     = regexp.MustCompile(`(?m)^[\s*_(\[]*1[.):\]]|[(\[]1(?:-\d+)?[)\]]`)
	checkbox     = regexp.MustCompile(`(?m)^\s*[-*] \[[ x]?\]\s*(.+)$`)
	option       = regexp.MustCompile(`(?m)^[\s*_(\[-]*(\d+|[A-Za-z])[.):\]][\s*_]*(.+)$`)
)

// questionMark begins the heading of a question in a reply.
const questionMark = "**Question "

// Question returns the question that a reply of this model ends with, and whether there is one.
func Question(reply string) (question string, ok bool) {
	reply = "\n" + reply
	at := strings.LastIndex(reply, "\n"+questionMark)
	if at < 0 {
		return "", false
	}
	_, question, _ = strings.Cut(reply[at:], "**\n\n")
	return strings.TrimSpace(question), true
}

// StandIn is what a rehearsal answers to a question in the user's place: it continues at a menu, takes the first of
// several options, agrees where it is asked for consent, and otherwise says which question it stands in for. The same
// question has the same answer always.
func StandIn(question string) string {
	switch {
	case continueMenu.MatchString(question):
		return "c"
	case numbered.MatchString(question):
		return "1"
	case checkbox.MatchString(question):
		return plainText(checkbox.FindStringSubmatch(question)[1])
	case yesOrNo.MatchString(strings.TrimSpace(question)):
		return "yes"
	}
	return "A stand-in answer to \"" + brief(question) + "\""
}

// An answer is what the user said, and what it means where an option was chosen by its number or letter.
type answer struct{ said, meant string }

func choose(question, said string) answer {
	a := answer{said: strings.TrimSpace(said)}
	a.meant = a.said
	if len(a.said) > 3 {
		return a
	}
	for _, m := range option.FindAllStringSubmatch(question, -1) {
		if strings.EqualFold(m[1], strings.Trim(a.said, "[]().")) {
			label, _, _ := strings.Cut(m[2], " - ")
			a.meant = plainText(label)
			break
		}
	}
	return a
}

// plainText drops the marks of markdown around a label.
func plainText(label string) string { return strings.Trim(label, " \t\r*_`:") }

// maxBrief is how much of a text is shown where it is only mentioned, in bytes.
const maxBrief = 90

// brief returns the beginning of a text on one line.
func brief(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if len(line) <= maxBrief {
		return line
	}
	cut := maxBrief
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	if space := strings.LastIndexByte(line[:cut], ' '); space > maxBrief/2 {
		cut = space
	}
	return line[:cut] + "…"
}

// maxSlug is how long a name made of a text gets, in bytes.
const maxSlug = 48

// slug makes a name of a text: lower case, words joined by a mark.
func slug(text, mark string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	name := ""
	for _, word := range words {
		if name != "" && len(name)+len(word) >= maxSlug {
			break
		}
		if name != "" {
			name += mark
		}
		name += word
	}
	for len(name) > maxSlug {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}

// words makes a phrase of a name such as executive_summary.
func words(name string) string { return slug(name, " ") }

// plainWords is a text as words in lower case with one blank between them, for comparing.
func plainWords(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
}
