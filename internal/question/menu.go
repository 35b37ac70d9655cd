package question

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence begins within an option: then it is not all that the line says.
var sentence = regexp.MustCompile(`[.!?]["”*]{0,3}\s+\pL`)

// unfolded is a text with each of its menus in one line, as "Select: [A] Advanced [C] Continue", as a
// list of its options. What is said above the text may say that there is something to choose. A text
// that asks again below a list stays as it is: one choice does not answer both.
func unfolded(text, above string) string {
	if strings.Count(text, "[") < 2 || strings.HasSuffix(strings.TrimRight(text, " \t\n"), "```") {
		return text
	}
	var b strings.Builder
	isInList, hasList, isInCode := false, false, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			isInCode = !isInCode
		}
		prompt, options := inLine(line, above)
		if options == nil || isInCode || isInList && isIndented(line) {
			b.WriteString(line)
			isInList = isListed(line) || isInList && isIndented(line)
		} else {
			if prompt != "" && hasList {
				return text
			}
			for _, part := range append([]string{prompt}, options...) {
				if part != "" {
					b.WriteString(part + "\n")
				}
			}
			isInList = true
		}
		hasList = hasList || isInList
		if strings.TrimSpace(line) != "" {
			above = line
		}
	}
	return b.String()
}

// inLine are the options of a menu in one line, and what the line says before them. There are none in
// a line that only mentions letters, as "between [A] and [B]", in a row of a table, and in one of a list.
func inLine(line, above string) (prompt string, options []string) {
	if strings.Count(line, "[") < 2 || strings.HasPrefix(strings.TrimSpace(line), "|") {
		return "", nil
	}
	found := option.FindAllStringSubmatchIndex(line, -1)
	if len(found) < 2 {
		return "", nil
	}
	prompt = strings.Trim(line[:found[0][2]], " \t*_\"“'`(>-[")
	if prompt != "" && (isListed(line) || !strings.HasSuffix(prompt, ":") && !strings.HasSuffix(prompt, "!") && !asksToChoose(prompt)) {
		return "", nil
	}
	isMeant := asksToChoose(prompt) || prompt == "" && asksToChoose(above)
	letters := make(map[string]bool)
	for i, m := range found {
		end := len(line)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		letter, label := strings.ToUpper(line[m[2]:m[3]]), labelIn(line[m[4]:end], i+1 == len(found))
		if label == "" || len(label) > maxChoiceText || letters[letter] || sentence.MatchString(label) {
			return "", nil
		}
		letters[letter] = true
		isMeant = isMeant || isForWord(letter, label) || letter[0] >= utf8.RuneSelf && strings.HasSuffix(prompt, ":") // in a language whose words we do not know
		options = append(options, "["+letter+"] "+label)
	}
	if !isMeant {
		return "", nil
	}
	return prompt, options
}

// labelIn is what one option of a menu in one line says, without what parts it from the next.
func labelIn(text string, isLast bool) string {
	const parting = " \t\n,;|/·•*_-–—"
	label := strings.TrimRight(plain.Replace(text), parting)
	if isLast {
		label = strings.TrimRight(label, marks+".")
	} else if space := strings.LastIndexAny(label, " \t"); space >= 0 {
		switch strings.ToLower(label[space+1:]) {
		case "or", "and", "oder", "und", "ou", "et":
			label = strings.TrimRight(label[:space], parting)
		}
	}
	// Quotes and brackets may be around the whole line.
	if strings.Count(label, `"`)%2 == 1 {
		label = strings.TrimSuffix(label, `"`)
	}
	if strings.Count(label, "(") < strings.Count(label, ")") {
		label = strings.TrimSuffix(label, ")")
	}
	return label
}

// isAlone reports whether a menu has one choice only: "[C] Continue", below a line that asks for it.
func isAlone(text, above string) bool {
	lines := strings.Split(strings.TrimSpace(above+"\n"+text), "\n")
	last := lines[len(lines)-1]
	lines = strings.Split(strings.TrimSpace(strings.Join(lines[:len(lines)-1], "\n")), "\n")
	return lettered.MatchString(last) && isMenu(last) && prompts(lines[len(lines)-1])
}

// prompts reports whether a line says that there is something to choose below it.
func prompts(line string) bool {
	return !isListed(line) && (asksToChoose(line) || strings.HasSuffix(strings.TrimRight(line, " \t\n*_"), ":"))
}

func asksToChoose(line string) bool {
	return asks(line) || among.MatchString(line) || offers.MatchString(line)
}

// isForWord reports whether a letter of a menu stands for the word after it. C goes on in any language.
func isForWord(letter, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return len(letter) == 1 && (strings.EqualFold(letter, "C") || unicode.ToUpper(first) == rune(strings.ToUpper(letter)[0]))
}
