package openai

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// thinkTag is the [troupe.Message] ThoughtField of a thought that came inside the
// text. It does not go back.
const thinkTag = "think"

const (
	thinkBegin = "<think>"
	thinkEnd   = "</think>"
)

// A speech tells what a model says from what it thinks, where both come as text,
// and keeps back what may be a call that was written into the text.
type speech struct {
	calls textCalls
	state speechState
	held  string // not yet told apart
	begun bool   // some of the thought was told
	// sure says that what looked like calls will be looked at when it is whole, and
	// late is what came since then: it may be long.
	sure bool
	late strings.Builder
}

type speechState byte

const (
	atBeginning speechState = iota // nothing but white space so far
	inThought
	afterThought // nothing but white space since
	inText
	inCalls // keeping back what looks like calls, to the end
)

// add takes in text and returns what can be told of it: thought, said, or nothing
// as yet.
func (s *speech) add(text string) (thought, said string) {
	if s.state == inText && s.held == "" && !s.calls.anywhere {
		return "", text
	}
	if s.state == inCalls && s.sure {
		s.late.WriteString(text)
		return "", ""
	}
	s.held += text
	for {
		before := s.state
		moreThought, moreSaid := s.step()
		thought, said = thought+moreThought, said+moreSaid
		if s.state == before {
			return thought, said
		}
	}
}

func (s *speech) step() (thought, said string) {
	switch s.state {
	case atBeginning, afterThought:
		return "", s.begin()
	case inThought:
		return s.think(), ""
	case inText:
		return "", s.say()
	case inCalls:
		// What turns out to be no call is shown without waiting for the end.
		var n int
		if n, s.sure = s.calls.hopeless(s.held); n > 0 {
			said = s.held[:n]
			s.held, s.state, s.sure = s.held[n:], inText, false
		}
	}
	return "", said
}

// begin decides what an answer, or the rest of one after a thought, begins with.
func (s *speech) begin() string {
	rest := strings.TrimLeft(s.held, " \t\r\n")
	if s.state == atBeginning {
		if after, ok := strings.CutPrefix(rest, thinkBegin); ok {
			s.held, s.state = after, inThought
			return ""
		}
		if strings.HasPrefix(thinkBegin, rest) {
			return "" // more may come, or nothing at all
		}
	}
	if s.calls.mayBegin(rest) {
		return ""
	}
	if rest == "" {
		return ""
	}
	if s.state == afterThought {
		s.held = rest
	}
	s.state = inText
	if s.calls.begins(rest) {
		s.state = inCalls
	}
	return ""
}

// think returns what is thought for certain: not what may be the end tag, nor white
// space that may stand before it.
func (s *speech) think() string {
	if !s.begun {
		s.held = strings.TrimLeft(s.held, " \t\r\n")
	}
	thought, rest, ended := strings.Cut(s.held, thinkEnd)
	if ended {
		s.held, s.state = rest, afterThought
		return strings.TrimRight(thought, " \t\r\n")
	}
	certain := strings.TrimRight(s.held[:len(s.held)-partOf(s.held, thinkEnd)], " \t\r\n")
	s.held = s.held[len(certain):]
	s.begun = s.begun || certain != ""
	return certain
}

// say returns what is said for certain: not what may be a call.
func (s *speech) say() string {
	if !s.calls.anywhere {
		said := s.held
		s.held = ""
		return said
	}
	at, found := s.calls.find(s.held)
	said := s.held[:at]
	s.held = s.held[at:]
	if found {
		s.state = inCalls
	}
	return said
}

// end returns what was kept back, and the calls in it if it is made of calls.
func (s *speech) end() (thought, said string, calls []troupe.ToolCall) {
	held := s.held + s.late.String()
	s.held = ""
	switch s.state {
	case inThought:
		return strings.TrimRight(held, " \t\r\n"), "", nil
	case afterThought:
		return "", "", nil
	case inCalls, atBeginning, inText:
		if calls, ok := s.calls.read(held); ok {
			return "", "", calls
		}
	}
	return "", held, nil
}

// partOf is how much of the end of text may be the beginning of tag.
func partOf(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// withThinkTag adds the tag that a thought begins with where only the end is there,
// as of models whose template begins the thought. It takes a whole text to see that.
func withThinkTag(text string) string {
	before, _, ended := strings.Cut(text, thinkEnd)
	if !ended || strings.Contains(before, thinkBegin) {
		return text
	}
	return thinkBegin + text
}
