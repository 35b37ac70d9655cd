// Package question finds the question that an answer ends with, and the choices that it
// offers.
package question

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Choice is an answer that a question offers itself.
type Choice struct{ Label, Description string }

// listed choices are lines such as "1. Two banks: never full" or "- [A] Advanced".
var listed = regexp.MustCompile(`^\s*(?:[-*]\s+)?(\d{1,2}[.)]|\[?[A-Za-z]\]?[.)]|\[[A-Za-z0-9]{1,3}\])\s+(.+?)\s*$`)

// ticked is a line of a list of things to do.
var ticked = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,2}[.)])\s+\[[xX]\]\s`)

const (
	mostChoices   = 9
	maxChoiceText = 160
)

// Choices finds the answers that a question lists itself, each on a line of its own.
// Lines that do not follow each other are no list of choices, and neither are things to do or
// questions. Of two lists nobody can choose one: it is two questions.
func Choices(text string) []Choice {
	var found []Choice
	questions := 0
	first, isApart := "", false // the mark of the first one, and whether something else came since
	for line := range strings.Lines(text) {
		m := listed.FindStringSubmatch(line)
		if m == nil || ticked.MatchString(line) {
			if strings.TrimSpace(line) != "" {
				isApart = true
				if len(found) == 1 {
					found = nil
				}
			}
			continue
		}
		if len(found) == 0 {
			first, isApart = m[1], false
		} else if isApart && m[1] == first {
			return nil
		}
		label := strings.NewReplacer("**", "", "`", "").Replace(m[2])
		description := ""
		for _, cut := range []string{": ", " — ", " – ", " - "} {
			if before, after, ok := strings.Cut(label, cut); ok {
				label, description = before, after
				break
			}
		}
		if len(label) <= maxChoiceText {
			found = append(found, Choice{label, description})
		}
		if asks(label) || asks(description) {
			questions++
		}
	}
	if len(found) < 2 || len(found) > mostChoices || questions >= len(found) {
		return nil
	}
	return found
}

// marks end the text of a question, in any script.
const marks = "?？؟"

// asks reports whether a line ends with a question.
func asks(line string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(line, " \t\n*_\"”’)`"))
	return strings.ContainsRune(marks, last)
}

// In returns what an answer asks at its end, and the choices it gives: then a conversation
// waits for a person. It is not ok where the answer ends with neither a question nor a menu,
// or with a question that is asked out of courtesy.
func In(answer string) (asked string, choices []Choice, ok bool) {
	answer = strings.TrimSpace(strings.ReplaceAll(answer, "\r\n", "\n"))
	if !isMenu(lastBlock(answer)) {
		answer = withoutManner(answer)
	}
	text := strings.TrimRight(answer, " \t\n*_\"”’)`")
	if text == "" {
		return "", nil, false
	}
	last := lastBlock(answer)
	choices, asked = Choices(last), last
	if before := strings.TrimSpace(strings.TrimSuffix(answer, last)); choices != nil && before != "" {
		asked = lastBlock(before)
	}
	final, _ := utf8.DecodeLastRuneInString(text)
	if strings.ContainsRune(marks, final) && !isMenu(last) {
		if list, tail := afterList(answer); tail != "" {
			asked, choices = tail, nil
			if strings.ContainsAny(list, marks) {
				asked = list + "\n\n" + tail // each is to be answered
			}
			if among.MatchString(lastSentence(text)) {
				if choices = Choices(list); choices != nil {
					asked = tail
				}
			}
		}
	}
	switch {
	case isMenu(last):
	case choices != nil && !strings.ContainsAny(asked, marks):
		return "", nil, false // a list, which nobody is to choose from
	case choices == nil && (!strings.ContainsRune(marks, final) || courtesy.MatchString(lastSentence(text))):
		return "", nil, false
	}
	return strings.TrimSpace(asked), choices, true
}

func lastBlock(text string) string { return text[strings.LastIndex(text, "\n\n")+1:] }

// afterList is the list that an answer has right before what it says last, and that. Both
// are "" where there is none.
func afterList(answer string) (list, tail string) {
	lines := strings.Split(answer, "\n")
	end := len(lines)
	for end > 0 && !listed.MatchString(lines[end-1]) {
		end--
	}
	begin := end
	for begin > 0 && listed.MatchString(lines[begin-1]) {
		begin--
	}
	tail = strings.TrimSpace(strings.Join(lines[end:], "\n"))
	if end == 0 || tail == "" || strings.Contains(tail, "\n\n") {
		return "", ""
	}
	return strings.Join(lines[begin:end], "\n"), tail
}

// lastSentence is the sentence that a text ends with, without the mark at its end.
func lastSentence(text string) string {
	text = strings.TrimRight(text, marks+" ")
	return strings.TrimSpace(text[strings.LastIndexAny(text, ".!?:;\n")+1:])
}

var (
	// courtesy ends an answer and waits for nothing: "Anything else?"
	courtesy = regexp.MustCompile(`(?i)^(?:.{0,40}\b)?anything else(?:,? (?:(?:that )?(?:i|you|we)\b|for (?:you|now|today)\b|today|now|to (?:do|add)\b).*)?$|^(?:what|how) else (?:can|may|could|should) i\b.*|^how (?:can|may) i help\b.*|\b(?:sonst )?noch (?:etwas|was)(?: tun| für dich tun| für sie tun| helfen)?$`)
	// among asks for one of what was listed: "Which one do you want?"
	among = regexp.MustCompile(`(?i)\b(?:which|choose|pick|prefer|select|one of (?:these|them|those)|welche[mnrs]?|quel(?:le)?s?|lequel|laquelle|cu[aá]l(?:es)?)(?:[^\pL]|$)`)
	// manner says how to answer, and may follow the question: "One sentence is enough."
	manner = regexp.MustCompile(`(?i)^[\s*_]*(?:\(.{1,100}\)|(?:please|just|simply|choose|pick|select|answer|reply|type|enter|tell me|say|give|for example|e\.g\.|one (?:word|sentence|line)|a (?:word|sentence|line|number|few words))\b.{0,100})$`)
)

// withoutManner is an answer without the line or the sentence that says how to answer what
// it asks.
func withoutManner(answer string) string {
	if cut := strings.LastIndex(answer, "\n"); cut >= 0 && manner.MatchString(answer[cut+1:]) && !strings.ContainsAny(answer[cut+1:], marks) {
		answer = strings.TrimSpace(answer[:cut])
	}
	if at := strings.LastIndexAny(answer, marks); at >= 0 {
		_, width := utf8.DecodeRuneInString(answer[at:])
		if manner.MatchString(answer[at+width:]) {
			return answer[:at+width]
		}
	}
	return answer
}

var (
	// option is what a menu offers: "[C] Continue", on a line of its own or among others.
	option = regexp.MustCompile(`(?:^|[\s"'“”«*_:,|/>(])\[([A-Za-z]{1,3})\][*_]{0,2}\s+[*_]{0,2}(\S)`)
	// toGoOn asks for a word, and then goes on: "Type C to continue".
	toGoOn = regexp.MustCompile(`(?i)\b(?:press|type|enter|reply|say|select|choose)\b[^.\n]{1,30}\bto (?:continue|proceed)\b`)
)

// isMenu says whether the end of an answer is a menu: several things to choose from by their
// letters, or the one to go on with.
func isMenu(block string) bool {
	letters := make(map[string]bool)
	goesOn := false
	for line := range strings.Lines(block) {
		// Most lines are neither, which is soon seen: every answer comes by here.
		if low := strings.ToLower(line); !strings.Contains(line, "[") && !strings.Contains(low, "to continue") && !strings.Contains(low, "to proceed") || ticked.MatchString(line) {
			continue
		}
		for _, m := range option.FindAllStringSubmatch(line, -1) {
			letters[strings.ToUpper(m[1])] = true
			first, _ := utf8.DecodeRuneInString(m[2])
			goesOn = goesOn || m[1] == "C" || m[1] == "c" || len(m[1]) == 1 && unicode.ToUpper(first) == rune(strings.ToUpper(m[1])[0])
		}
		goesOn = goesOn || toGoOn.MatchString(line)
	}
	return len(letters) > 1 || goesOn
}
