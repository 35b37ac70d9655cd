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

// letter is what a menu may have in other scripts than ours. Those of words have none.
const letter = `[\p{Arabic}\p{Cyrillic}\p{Greek}\p{Hebrew}]`

// listed choices are lines such as "1. Two banks: never full", "- [A] Advanced" or "**C)** Continue".
// A line that is bold as a whole is one only with brackets: "**2. Banks**" is a heading.
var listed = regexp.MustCompile(`^\s*(?:[-*]\s+)?(?:(\d{1,2}[.)]|\[?[A-Za-z]\]?[.)])\s+|\*\*(\d{1,2}[.)]|[A-Za-z][.)])\*\*\s+|[*_` + "`" + `]{0,2}(\[[*_]{0,2}(?:[A-Za-z0-9]{1,3}|` + letter + `)[*_]{0,2}\])[*_` + "`" + `]{0,2}\s+)(.+?)\s*$`)

var (
	// ticked is a line of a list of things to do, and lettered one of a menu, which may have an X
	// to exit with.
	ticked   = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,2}[.)])\s+\[[xX]\]\s`)
	lettered = regexp.MustCompile(`(?m)^\s*(?:[-*+]\s+)?[*_` + "`" + `]{0,2}\[[*_]{0,2}(?:[A-WY-Za-wy-z]|` + letter + `)[*_]{0,2}\][*_` + "`" + `]{0,2}\s`)
)

const (
	mostListed    = 9 // more lines than these are choices only where an answer says to choose
	mostChoices   = 20
	maxChoiceText = 160
)

// Choices finds the answers that a question lists itself. Where several questions are asked at once,
// as by two tools, there are none: a choice would leave the others without an answer.
func Choices(text string) []Choice {
	text = unfolded(text, "")
	asked := 0
	for block := range strings.SplitSeq(text, "\n\n") {
		for line := range strings.Lines(block) {
			if asks(line) && !isListed(line) {
				asked++
				break
			}
		}
	}
	if asked > 1 {
		return nil
	}
	return listedIn(text, "")
}

// listedIn finds answers, each on a line of its own, below what is said above. Lines that do not
// follow each other are no list of choices, and neither are things to do or questions. Of two lists
// nobody can choose one: it is two questions.
func listedIn(text, above string) []Choice {
	var found []Choice
	questions := 0
	first, isApart := "", false // the mark of the first one, and whether something else came since
	hasLetters := lettered.MatchString(text)
	for line := range strings.Lines(text) {
		mark, said := parts(line)
		if said == "" || ticked.MatchString(line) && !hasLetters {
			if said == "" && len(found) > 0 && !isApart && isIndented(line) {
				if last := &found[len(found)-1]; last.Description == "" {
					last.Description = plain.Replace(strings.TrimSpace(line))
				}
				continue
			}
			if strings.TrimSpace(line) != "" {
				isApart = true
				if len(found) == 1 {
					found = nil
				}
			}
			continue
		}
		if len(found) == 0 {
			first, isApart = mark, false
		} else if isApart && mark == first {
			return nil
		}
		label := plain.Replace(said)
		description := ""
		for _, cut := range []string{": ", " — ", " – ", " - "} {
			if before, after, ok := strings.Cut(label, cut); ok {
				label, description = before, after
				break
			}
		}
		if strings.TrimSpace(label) != "" && len(label) <= maxChoiceText {
			found = append(found, Choice{label, description})
		}
		if asks(label) || asks(description) {
			questions++
		}
	}
	switch {
	case questions >= len(found), len(found) > mostChoices, first == "Q." || first == "Q)", // and its answer
		len(found) == 1 && !isAlone(text, above),
		len(found) > mostListed && !isMenu(text) && !saysChoose(text, above):
		return nil
	}
	return found
}

// saysChoose reports whether what is said around a list tells to choose from it.
func saysChoose(text, above string) bool {
	for line := range strings.Lines(above + "\n" + text) {
		if among.MatchString(line) && !isListed(line) {
			return true
		}
	}
	return false
}

var plain = strings.NewReplacer("**", "", "`", "")

// parts are the mark and the text of a line that is listed. Both are "" for others.
func parts(line string) (mark, text string) {
	if !mayBeListed(line) {
		return "", ""
	}
	m := listed.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	return strings.NewReplacer("*", "", "_", "").Replace(m[1] + m[2] + m[3]), m[4]
}

func isListed(line string) bool { return mayBeListed(line) && listed.MatchString(line) }

// mayBeListed is soon told of most lines, which begin with a word: every answer comes by here.
func mayBeListed(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if len(line) < 3 {
		return false
	}
	isLetter := line[0]|0x20 >= 'a' && line[0]|0x20 <= 'z'
	return line[0] < utf8.RuneSelf && (!isLetter || strings.IndexByte(".)]", line[1]) >= 0)
}

// isIndented says of a line that it goes on with the one above it.
func isIndented(line string) bool {
	return strings.HasPrefix(line, "  ") && strings.TrimSpace(line) != ""
}

// tight is an answer without empty lines between what it lists.
func tight(answer string) string {
	if !strings.Contains(answer, "\n\n") {
		return answer
	}
	var kept, blank []string
	isInList := false
	for line := range strings.SplitSeq(answer, "\n") {
		if strings.TrimSpace(line) == "" {
			blank = append(blank, line)
			continue
		}
		listed := isListed(line)
		if !isInList || !listed {
			kept = append(kept, blank...)
		}
		kept, blank = append(kept, line), blank[:0]
		isInList = listed || isInList && isIndented(line)
	}
	return strings.Join(kept, "\n")
}

// marks end the text of a question, in any script.
const marks = "?？؟"

// asks reports whether a line ends with a question.
func asks(line string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(line, " \t\n*_\"”’)`"))
	return strings.ContainsRune(marks, last)
}

// asksAbove reports whether a line above a list asks.
func asksAbove(block string) bool {
	for line := range strings.Lines(block) {
		if isListed(line) {
			return false
		}
		if asks(line) || orders(line) {
			return true
		}
	}
	return false
}

// orders reports whether a line asks for a choice as one orders: "Pick one:"
func orders(line string) bool {
	return order.MatchString(line) && strings.HasSuffix(strings.TrimRight(line, " \t\n*_"), ":")
}

// In returns what an answer asks at its end, and the choices it gives: then a conversation
// waits for a person. It is not ok where the answer ends with neither a question nor a menu,
// or with a question that is asked out of courtesy.
func In(answer string) (asked string, choices []Choice, ok bool) {
	answer = tight(strings.TrimSpace(strings.ReplaceAll(answer, "\r\n", "\n")))
	var ways []Choice
	if !isMenu(lastBlock(answer)) {
		ways = waysIn(answer)
		answer = withoutManner(answer)
	}
	text := strings.TrimRight(answer, " \t\n*_\"”’)`")
	if text == "" {
		return "", nil, false
	}
	last := lastBlock(answer)
	before := strings.TrimSpace(strings.TrimSuffix(answer, last))
	above := strings.TrimSpace(lastBlock(before))
	menu := unfolded(last, above)
	choices, asked = listedIn(menu, above), last
	if choices != nil && above != "" && !asksAbove(menu) && (!isMenu(last) || !saysMore(menu, above)) {
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
				if choices = listedIn(unfolded(list, tail), tail); choices != nil {
					asked = tail
				}
			}
		}
	}
	switch {
	case isMenu(last):
	case choices != nil && !strings.ContainsAny(asked, marks) && !asksAbove(asked):
		return "", nil, false // a list, which nobody is to choose from
	case choices == nil && (!strings.ContainsRune(marks, final) || courtesy.MatchString(lastSentence(text))):
		return "", nil, false
	}
	if choices == nil && !strings.ContainsAny(strings.TrimRight(asked, marks+" *_"), marks) { // one question
		choices = ways
	}
	return strings.TrimSpace(asked), choices, true
}

// either is an answer's end that says in brackets what to answer: "Shall I save it? [y/n]".
var either = regexp.MustCompile(`[?？؟][\s*_]*[\[(]([\pL]{1,12}(?:\s*/\s*[\pL]{1,12}){1,3})[\])][\s*_.]*$`)

// waysIn are the answers that an answer's end has in brackets.
func waysIn(answer string) (ways []Choice) {
	m := either.FindStringSubmatch(answer)
	if m == nil {
		return nil
	}
	for way := range strings.SplitSeq(m[1], "/") {
		way = strings.TrimSpace(way)
		switch strings.ToLower(way) {
		case "y":
			way = "Yes"
		case "n":
			way = "No"
		}
		first, width := utf8.DecodeRuneInString(way)
		ways = append(ways, Choice{Label: string(unicode.ToUpper(first)) + way[width:]})
	}
	return ways
}

// saysMore reports whether a menu has a line above it that belongs to it, and not to a question that
// was asked before.
func saysMore(menu, above string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(menu), "\n")
	return !isListed(first) && !strings.ContainsAny(above, marks) && !asksAbove(above)
}

func lastBlock(text string) string { return text[strings.LastIndex(text, "\n\n")+1:] }

// afterList is the list that an answer has right before what it says last, and that. Both
// are "" where there is none.
func afterList(answer string) (list, tail string) {
	lines := strings.Split(answer, "\n")
	end := len(lines)
	for end > 0 && !isListed(lines[end-1]) {
		end--
	}
	begin := end
	for begin > 0 && isListed(lines[begin-1]) {
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
	// offers names what can be chosen from: "## Menu", "**Options**".
	offers = regexp.MustCompile(`(?i)\b(?:men[uü]|options?|optionen)(?:[^\pL]|$)`)
	order  = regexp.MustCompile(`(?i)^[\s*_]*(?:please,?\s+|now,?\s+)?(?:choose|pick|select)\b`)
	// manner says how to answer, and may follow the question: "One sentence is enough."
	manner = regexp.MustCompile(`(?i)^[\s*_]*(?:\(.{1,100}\)[\s*_]*|\[[^\]/]{1,40}(?:/[^\]/]{1,40})+\][\s*_]*|(?:please|just|simply|choose|pick|select|answer|reply|type|enter|tell me|say|give|for example|e\.g\.|one (?:word|sentence|line)|a (?:word|sentence|line|number|few words))\b.{0,100})$`)
)

// withoutManner is an answer without the line or the sentence that says how to answer what
// it asks.
func withoutManner(answer string) string {
	if cut := strings.LastIndex(answer, "\n"); cut >= 0 && manner.MatchString(answer[cut+1:]) && !strings.ContainsAny(answer[cut+1:], marks) {
		answer = strings.TrimSpace(answer[:cut])
	}
	if at := strings.LastIndexAny(answer, marks); at >= 0 {
		_, width := utf8.DecodeRuneInString(answer[at:])
		if rest := answer[at+width:]; manner.MatchString(rest) {
			if strings.Contains(rest, "**") && strings.Count(answer[:at], "**")%2 == 1 {
				return answer[:at+width] + "**"
			}
			return answer[:at+width]
		}
	}
	return answer
}

var (
	// option is what a menu offers: "[C] Continue", on a line of its own or among others.
	option = regexp.MustCompile(`(?:^|[\s"'“”«*_:,|/>(` + "`" + `])\[[*_]{0,2}([A-Za-z]{1,3}|` + letter + `)[*_]{0,2}\][*_]{0,2}\s+[*_]{0,2}(\S)`)
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
		if low := strings.ToLower(line); !strings.Contains(line, "[") && !strings.Contains(low, "to continue") && !strings.Contains(low, "to proceed") || ticked.MatchString(line) && !lettered.MatchString(block) {
			continue
		}
		for _, m := range option.FindAllStringSubmatch(line, -1) {
			letters[strings.ToUpper(m[1])] = true
			goesOn = goesOn || isForWord(m[1], m[2])
		}
		goesOn = goesOn || toGoOn.MatchString(line)
	}
	return len(letters) > 1 || goesOn
}
