package rehearsal

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	orWord     = regexp.MustCompile(`(?i)\s+or\s+|\s*\|\|\s*`)
	andWord    = regexp.MustCompile(`(?i)\s+and\s+|\s*&&\s*`)
	comparison = regexp.MustCompile(`^\{*([A-Za-z_][\w. -]*?)\}*\s*(==|!=|>=|<=|=|>|<)\s*(.*)$`)
	relation   = regexp.MustCompile(`(?i)^\{*([A-Za-z_][\w.-]*)\}*\s+(is not|is|includes|contains)\s+(.+)$`)
	provided   = regexp.MustCompile(`(?i)^\{+([\w-]+)\}+ is (not )?(?:provided|set|given)`)
	ofTheUser  = regexp.MustCompile(`(?i)^(?:the )?user (?:says|said|selects|selected|chooses|chose|picks|enters|indicates|wants|answers|confirms|approves|agrees|accepts)\b\s*(?:to\s+)?(.*)$`)
	anOption   = regexp.MustCompile(`(?i)^(?:option\s+)?["']?(\d+|[a-z])["']?(?:\s+\(.*\)|\s+selected)?$`)
	quoted     = regexp.MustCompile(`^["'](.+)["']$`)
	trouble    = regexp.MustCompile(`(?i)\b(?:no|not|never|none|without|missing|fail\w*|errors?|issues?|invalid|unclear|ambiguous|incomplete|inaccessible|unavailable|unable|cannot|can't|doesn't|isn't|violat\w*|exit|quit|cancel\w*|abort\w*|rejects?|unrecognized|blocked|blockers?)\b`)
	elseWord   = regexp.MustCompile(`(?i)^(?:else|otherwise)\b(?:\s+if\b)?`)
	ifWord     = regexp.MustCompile(`(?i)^(?:if|when)\b`)
)

// holds tells whether a condition is met: see the rules in the package's comment. Where a part of it can be evaluated,
// the parts that cannot are left out.
func (w *walk) holds(condition string) bool {
	isTrue, isEvaluated := w.judge(condition)
	return isTrue || !isEvaluated && !trouble.MatchString(strings.ReplaceAll(condition, "_", " "))
}

// judge tells whether a condition is true, and whether that can be told at all.
func (w *walk) judge(condition string) (isTrue, isEvaluated bool) {
	condition = strings.Trim(strings.TrimSpace(condition), ": ")
	condition = strings.TrimSpace(ifWord.ReplaceAllString(condition, ""))
	subject := w.latest // what a literal alone, as after "or", is compared with
	for _, choice := range orWord.Split(condition, -1) {
		all, some := true, false
		for _, claim := range andWord.Split(choice, -1) {
			claim = strings.Trim(claim, "() ")
			if m := compared(claim); m != nil {
				subject = w.valueOf(m[1])
			}
			if isTrue, ok := w.evaluate(claim, subject); ok {
				all, some = all && isTrue, true
			}
		}
		if some && all {
			return true, true
		}
		isEvaluated = isEvaluated || some
	}
	return false, isEvaluated
}

// halts tells whether the first thing that a beat, or what it governs, does is to end the workflow. A user whose work is
// in order does not get there: such a branch is taken only if its condition is known to be true.
func (w *walk) halts(b *beat) bool {
	if b.kind == "action" && isEnding(b.text()) {
		return true
	}
	for i := w.next; i < min(b.end, len(w.beats)); i++ {
		if inner := &w.beats[i]; inner.kind == "action" && isEnding(inner.text()) {
			return true
		}
	}
	return false
}

// evaluate tells whether a claim is true, and whether that can be told at all.
func (w *walk) evaluate(claim string, subject answer) (isTrue, ok bool) {
	if rest, negated := strings.CutPrefix(claim, "!"); negated {
		isTrue, ok = w.evaluate(rest, subject)
		return !isTrue, ok
	}
	if m := compared(claim); m != nil {
		return compare(subject, m[2], m[3]), true
	}
	if m := quoted.FindStringSubmatch(claim); m != nil {
		return subject.is(m[1]), true
	}
	if m := provided.FindStringSubmatch(claim); m != nil {
		return w.isSet(m[1]) == (m[2] == ""), true
	}
	if m := relation.FindStringSubmatch(claim); m != nil && w.isSet(m[1]) {
		return compare(w.valueOf(m[1]), strings.ToLower(m[2]), m[3]), true
	}
	if name := strings.Trim(claim, "{}"); w.isSet(name) {
		return !w.valueOf(name).is("no"), true
	}
	if w.question == "" {
		return false, false
	}
	return w.evaluateAnswer(claim)
}

// compared returns the parts of a claim that compares a value with a literal, nil for others.
func compared(claim string) []string {
	if !strings.ContainsAny(claim, "=<>") {
		return nil
	}
	return comparison.FindStringSubmatch(claim)
}

// evaluateAnswer compares the latest answer with a claim about it: that the user agrees, chose an option, or said some
// words.
func (w *walk) evaluateAnswer(claim string) (isTrue, ok bool) {
	what, isAboutUser := claim, false
	if m := ofTheUser.FindStringSubmatch(claim); m != nil {
		what, isAboutUser = strings.Trim(m[1], `"' `), true
	}
	if m := anOption.FindStringSubmatch(what); m != nil {
		return w.latest.is(m[1]), true
	}
	switch {
	case isAboutUser && what == "":
		return w.latest.is("yes"), true
	case isAboutUser || isYesOrNo(what) || !strings.Contains(what, " ") && mentions(w.question, what):
		return w.latest.is(what), true
	}
	return false, false
}

// compare applies an operator to a value and a literal as it was written.
func compare(value answer, operator, literal string) bool {
	literal, _, _ = strings.Cut(strings.TrimSpace(literal), " (")
	literal = strings.Trim(literal, `"'{} `)
	switch operator {
	case "==", "=", "is", "includes", "contains":
		return value.is(literal)
	case "!=", "is not":
		return !value.is(literal)
	}
	a, err := strconv.ParseFloat(strings.TrimSpace(value.said), 64)
	b, err2 := strconv.ParseFloat(literal, 64)
	if err != nil || err2 != nil {
		return false
	}
	return operator[0] == '<' && a < b || operator[0] == '>' && a > b || operator[1:] == "=" && a == b
}

// is tells whether the answer is, or mentions, a literal. Yes, y and true are one; so are no, n, false and nothing.
func (a answer) is(literal string) bool {
	if isYesOrNo(literal) {
		return agreement(a.said) == agreement(literal)
	}
	return strings.EqualFold(a.said, literal) || strings.EqualFold(a.meant, literal) ||
		len(literal) > 2 && mentions(a.meant, literal)
}

func isYesOrNo(word string) bool { return !strings.Contains(word, " ") && agreement(word) != "" }

func agreement(text string) string {
	word, _, _ := strings.Cut(strings.ToLower(strings.Trim(text, " .!\"'")), " ")
	switch strings.Trim(word, ",.!") {
	case "yes", "y", "true", "ok", "sure":
		return "yes"
	case "no", "n", "false", "none", "":
		return "no"
	}
	return ""
}

// mentions tells whether text holds phrase as whole words, in any case.
func mentions(text, phrase string) bool {
	text, phrase = " "+plainWords(text)+" ", " "+plainWords(phrase)+" "
	return phrase != "  " && strings.Contains(text, phrase)
}
