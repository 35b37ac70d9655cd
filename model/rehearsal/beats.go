package rehearsal

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// play plays one beat. It returns false if the reply must wait for something, or the user left.
func (w *walk) play(b *beat) bool {
	switch b.kind {
	case "step", "substep":
		return w.step(b)
	case "heading":
		w.announce(b.text())
	case "ask":
		return w.ask(b)
	case "check", "if":
		w.check(b)
	case "action":
		return w.act(b)
	case "critical", "mandate":
		w.acknowledge("- Note: ", b)
	case "output":
		if !w.isPast() {
			w.say("%s", w.tell(b.text()))
		}
	case "template-output":
		return w.section(b)
	case "elicit-required":
		_, ok := w.put("Elicitation: a model would offer ways to go deeper here. [c] to continue.")
		return ok
	case "goto":
		w.jump(b)
	case "break":
		w.say("- Break: what is repeated is done once anyway.")
	case "for-each", "loop", "iterate":
		w.say("- Repeated in a real run, done once here.")
	case "invoke-workflow":
		return w.invokeWorkflow(b)
	case "invoke-task":
		return w.invokeTask(b)
	case "invoke-protocol", "websearch":
		name, _ := b.node.Attr("name")
		w.say("- A model would run %s here.", strings.TrimSpace(b.kind+" "+name))
	}
	return true
}

// acknowledge says that a tag was seen and how it begins.
func (w *walk) acknowledge(mark string, b *beat) {
	if !w.isPast() {
		w.say("%s%s", mark, brief(w.tell(b.text())))
	}
}

// announce begins a step, for the user and in the document.
func (w *walk) announce(heading string) {
	w.steps++
	w.say("\n**%s**", heading)
	w.documents[0].note(entry{step: heading})
	w.open = nil
}

func (w *walk) step(b *beat) bool {
	goal, ok := b.node.Attr("goal")
	if !ok {
		goal, _ = b.node.Attr("title")
	}
	n, _ := b.node.Attr("n")
	name := strings.TrimSpace("Step " + n)
	if optional, _ := b.node.Attr("optional"); strings.EqualFold(optional, "true") {
		a, ok := w.put(name + " is optional: " + goal + ". Do it? (yes/no)")
		if !ok {
			return false
		}
		if a.is("no") || strings.EqualFold(a.said, "skip") {
			w.say("Left out %s.", name)
			w.next = b.end
			return true
		}
	}
	w.announce(strings.TrimSuffix(name+": "+goal, ": "))
	for _, key := range []string{"repeat", "for-each"} {
		if value, ok := b.node.Attr(key); ok {
			w.say("- Repeated (%s) in a real run, done once here.", value)
		}
	}
	return true
}

// put asks the user one question and waits for the answer.
func (w *walk) put(question string) (answer, bool) {
	w.questions++
	if w.isYolo {
		said := StandIn(question)
		w.say("\n%s\n\n(#yolo) %s", question, said)
		return choose(question, said), true
	}
	w.say("\n%s%d**\n\n%s", questionMark, w.questions, question)
	if w.isInterrupted() {
		return answer{}, false
	}
	said, ok := w.hear()
	if !ok {
		return answer{}, false
	}
	if before, after, yolo := strings.Cut(said, "#yolo"); yolo {
		w.isYolo = true
		if said = strings.TrimSpace(before + after); said == "" {
			said = StandIn(question)
		}
	}
	return choose(question, said), true
}

func (w *walk) ask(b *beat) bool {
	question := strings.TrimSpace(w.tell(b.text()))
	if question == "" {
		return true
	}
	_, isOptional := b.node.Attr("optional")
	if isOptional {
		question += "\n(Optional: answer \"skip\" to leave it out.)"
	}
	a, ok := w.put(question)
	if !ok {
		return false
	}
	w.latest, w.question = a, question
	if isOptional && strings.EqualFold(a.said, "skip") {
		return true
	}
	name, isNamed := b.node.Attr("response")
	if !isNamed {
		name = slug(question, "_")
		w.open = append(w.open, a.meant)
	}
	w.answers[name] = a
	w.documents[0].note(entry{question: question, text: a.meant})
	w.documents[0].isStale = true
	w.say("Noted: %s", brief(a.meant))
	return true
}

// check skips what a condition governs unless it is met. "Else" goes by the check before it.
func (w *walk) check(b *beat) {
	condition, ok := b.node.Attr("if")
	if !ok && b.kind == "if" {
		for _, a := range b.node.Attrs {
			condition, ok = a.Name+" == "+a.Value, true
		}
	}
	if !ok {
		condition, _, _ = strings.Cut(strings.ReplaceAll(b.text(), "->", "→"), "→")
		if !conditionStart.MatchString(condition) {
			w.say("- Check: %s", brief(condition))
			return
		}
	}
	met := true
	if rest := elseWord.ReplaceAllString(condition, ""); rest != condition {
		met = !w.decided[b.node.Parent]
		condition = rest
	}
	if rest := strings.Trim(condition, ": \n"); !strings.HasPrefix(rest, "(") && rest != "" {
		met = met && w.applies(b, condition)
	}
	w.decided[b.node.Parent] = met
	if !met {
		w.next = b.end
	}
}

var (
	ending   = regexp.MustCompile(`(?i)^(?:HALT\b|exit (?:the )?workflow|end (?:the )?workflow)`)
	setting  = regexp.MustCompile(`(?i)^set\s+\{*([A-Za-z_]\w*)\}*\s*(?:=|to)\s*["']?([\w.-]+)`)
	storing  = regexp.MustCompile(`(?i)^(?:store|capture|save|record|resolve|set)\b[^{}]*\{\{(\w+)\}\}\s*$`)
	inTheTag = regexp.MustCompile(`\s+`)
)

// waiting is a halt that only waits for the user.
var waiting = regexp.MustCompile(`(?i)^HALT\b[^.\n]{0,20}\b(?:give|ask|wait|await|present|get|let|show|until|for)\b`)

// isEnding tells whether an action ends the workflow.
func isEnding(text string) bool { return ending.MatchString(text) && !waiting.MatchString(text) }

// act acknowledges an action and does what can be done without a model: set a variable, load instructions, end.
func (w *walk) act(b *beat) bool {
	w.acknowledge("- ", b)
	text := b.text()
	if m := setting.FindStringSubmatch(text); m != nil {
		w.answers[m[1]] = answer{m[2], m[2]}
	} else if m := storing.FindStringSubmatch(text); m != nil && w.question != "" {
		w.answers[m[1]] = w.latest
	}
	switch {
	case isEnding(text):
		w.say("The workflow ends here.")
		if left := w.stepsLeft(); left > 0 {
			w.early = fmt.Sprintf("%d steps before its end: %s", left, brief(text))
		}
		w.next = len(w.beats)
	case strings.HasPrefix(text, "LOAD"):
		return w.inset(filePath.FindString(w.pathOf(text)))
	}
	return true
}

// stepsLeft counts the steps that are not played if the workflow ends now.
func (w *walk) stepsLeft() int {
	left := 0
	for _, b := range w.beats[w.next:] {
		if b.kind == "step" {
			left++
		}
	}
	return left
}

// section writes what a template-output names: an answer of that name, the answers of this step that are not used yet,
// or a stand-in. The document is saved after the last of several in a row.
func (w *walk) section(b *beat) bool {
	file, _ := b.node.Attr("file")
	d := w.document(file)
	for name := range strings.FieldsFuncSeq(b.text(), func(r rune) bool { return r == ',' || r == '\n' }) {
		name = inTheTag.ReplaceAllString(strings.Trim(name, " \t\r*`{}-"), "_")
		if name == "" {
			continue
		}
		a, answered := w.answers[name]
		switch {
		case answered:
		case len(w.open) > 0:
			text := strings.Join(w.open, "\n\n")
			a, w.open = answer{text, text}, nil
			w.answers[name] = a
		case w.isSet(name):
			a = w.valueOf(name)
		default:
			a.meant = standInFor(name)
		}
		d.set(name, a.meant)
	}
	if w.next < len(w.beats) && w.beats[w.next].kind == "template-output" {
		if next, _ := w.beats[w.next].node.Attr("file"); w.document(next) == d {
			return true
		}
	}
	return !d.isStale || w.save(d, false)
}

// jump follows a goto, unless it has been followed often enough.
func (w *walk) jump(b *beat) {
	place, ok := b.node.Attr("step")
	if !ok {
		place, ok = b.node.Attr("anchor")
		if !ok {
			place = b.text()
		}
		place = "#" + strings.TrimPrefix(strings.TrimSpace(place), "#")
	}
	to, found := w.places[strings.ToLower(strings.TrimSpace(place))]
	switch {
	case !found:
		w.say("- There is no step or anchor %q to go to.", brief(place))
	case w.jumps[to] == maxVisits || w.jumped == maxJumps:
		w.say("- Going to %s again is left out: it was done %d times.", place, w.jumps[to])
	default:
		w.say("- Going to %s.", place)
		w.jumps[to]++
		w.jumped++
		w.next = to
	}
}

// invokeWorkflow plays another workflow inside this one, with documents of its own.
func (w *walk) invokeWorkflow(b *beat) bool {
	target, ok := b.node.Attr("path")
	if !ok {
		target, _, _ = strings.Cut(b.text(), "\n")
	}
	target = w.pathOf(target)
	if strings.Contains(target, "/") && path.Ext(target) == "" {
		target += "/workflow.yaml"
	}
	if target = filePath.FindString(target); !w.mayLoad(target) {
		return true
	}
	if path.Ext(target) == ".md" {
		return w.inset(target)
	}
	inner := newWalk(w.scene, target)
	inner.depth, inner.loaded, inner.isYolo = w.depth+1, w.loaded, w.isYolo
	w.say("- Invoking %s.", target)
	if !inner.execute("") {
		return false
	}
	w.isYolo = inner.isYolo
	w.say("Back in %s.", w.name)
	return true
}

// invokeTask plays the file that a tag names inside this workflow.
func (w *walk) invokeTask(b *beat) bool {
	text := w.pathOf(b.text())
	target := filePath.FindString(text)
	for _, found := range filePath.FindAllString(text, -1) {
		if strings.Contains(found, "/tasks/") {
			target = found
		}
	}
	return w.inset(target)
}

// inset loads a file and plays it inside this workflow.
func (w *walk) inset(file string) bool {
	if !w.mayLoad(file) {
		return true
	}
	w.depth++
	defer func() { w.depth-- }()
	return w.read(file)
}

// mayLoad says why a file is not loaded, if it is not.
func (w *walk) mayLoad(file string) bool {
	switch {
	case file == "":
		w.say("- It does not say which file to load.")
	case w.loaded[file]:
		w.say("- %s was played already.", file)
	case w.depth+1 == maxDepth || len(w.loaded) == maxFiles:
		w.say("- %s is not loaded: there are too many files inside one another.", file)
	default:
		return true
	}
	return false
}
