package wire

import "strings"

// What models without a field for it put around a thought in their text.
const (
	ThinkBegin = "<think>"
	ThinkEnd   = "</think>"
)

// A LateTag looks in what a model says for the end of a thought that never began: some
// templates put the tag that begins it into the prompt, and a server that does not know
// so sends the thought as text. Only the end says what it was.
//
// Not every such tag is one: a model may write about tags. The end of a thought stands
// on a line of its own, or at the end of one, in no code block, and nothing before it has
// the tag that begins a thought.
type LateTag struct {
	held    string // not yet told apart
	tail    string // what was said last, for a tag in several pieces
	off     bool
	inLine  bool // the line so far has more than white space in it
	last    byte // what was said last
	ticks   int  // backquotes that the line begins with
	inFence bool
}

// Add takes in text and returns what of it is certain to be said, or, if the thought has
// ended, the rest of the thought and what was said after it.
func (l *LateTag) Add(text string) (said string, ended bool, after string) {
	if l.off {
		return l.End() + text, false, ""
	}
	l.held += text
	var out strings.Builder
	for {
		at := strings.Index(l.held, ThinkEnd)
		if at < 0 {
			certain := len(l.held) - PartOf(l.held, ThinkEnd)
			l.say(&out, certain)
			return out.String(), false, ""
		}
		l.say(&out, at)
		if l.off {
			return out.String() + l.End(), false, ""
		}
		switch rest := l.held[len(ThinkEnd):]; {
		case l.inFence:
		case !l.inLine, rest != "" && (rest[0] == '\n' || rest[0] == '\r') && !strings.ContainsRune(" \t`'\"(", rune(l.last)):
			l.off, l.held = true, ""
			return out.String(), true, rest
		case rest == "":
			return out.String(), false, "" // the next piece decides
		}
		l.say(&out, len(ThinkEnd))
	}
}

// Flush returns what was kept back and can be no end of a thought any more.
func (l *LateTag) Flush() string {
	var out strings.Builder
	l.say(&out, len(l.held))
	return out.String()
}

// Off says that there is no end to look for: the thought has begun as it should.
func (l *LateTag) Off() { l.off = true }

// End returns what was kept back, at the end of the answer.
func (l *LateTag) End() string {
	held := l.held
	l.held, l.off = "", true
	return held
}

// say moves the first n bytes of what is held to what is said.
func (l *LateTag) say(out *strings.Builder, n int) {
	text := l.held[:n]
	l.held = l.held[n:]
	out.WriteString(text)
	for i := range len(text) {
		l.last = text[i]
		switch c := text[i]; {
		case c == '\n':
			l.inLine, l.ticks = false, 0
		case c == '`' && (!l.inLine || l.ticks > 0):
			l.inLine = true
			if l.ticks++; l.ticks == len("```") {
				l.inFence = !l.inFence
			}
		case c != ' ' && c != '\t' && c != '\r':
			l.inLine, l.ticks = true, 0
		}
	}
	l.tail += text
	l.off = l.off || strings.Contains(l.tail, ThinkBegin)
	l.tail = l.tail[max(0, len(l.tail)-len(ThinkBegin)):]
}

// PartOf is how much of the end of text may be the beginning of tag.
func PartOf(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// LateThoughts is what there is to know of a model whose thoughts come without their
// beginning.
const LateThoughts = "the model's thoughts come as text that ends with " + ThinkEnd + ", and are shown as its answer until then"
