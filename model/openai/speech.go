package openai

import (
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// thinkTag is the [troupe.Message] ThoughtField of a thought that came inside the
// text. It does not go back.
const thinkTag = "think"

// A speech tells what a model says from what it thinks, where both come as text,
// and keeps back what may be a call that was written into the text.
type speech struct {
	calls textCalls
	state speechState
	held  string // not yet told apart
	begun bool   // some of the thought was told
	late  wire.LateTag
	// sure says that what looked like calls will be looked at when it is whole, and
	// rest is what came since then: it may be long.
	sure bool
	rest strings.Builder
}

// A told is what can be told of an answer: what is thought, then what is said. If
// wasThought is set, all that was said so far was thought, and after is what is said.
type told struct {
	thought, said string
	wasThought    bool
	after         string
}

func (t *told) add(more told) {
	t.thought += more.thought
	if t.wasThought {
		t.after += more.said
		return
	}
	t.said += more.said
	t.wasThought, t.after = more.wasThought, more.after
}

type speechState byte

const (
	atBeginning speechState = iota // nothing but white space so far
	inThought
	afterThought // nothing but white space since
	inText
	inCalls // keeping back what looks like calls, to the end
)

// add takes in text and returns what can be told of it, which may be nothing as yet.
func (s *speech) add(text string) (t told) {
	if s.state == inCalls && s.sure {
		s.rest.WriteString(text)
		return told{}
	}
	s.held += text
	for {
		before := s.state
		t.add(s.step())
		if s.state == before {
			return t
		}
	}
}

func (s *speech) step() told {
	switch s.state {
	case atBeginning, afterThought:
		s.begin()
	case inThought:
		return told{thought: s.think()}
	case inText:
		return s.say()
	case inCalls:
		// What turns out to be no call is shown without waiting for the end.
		var n int
		if n, s.sure = s.calls.hopeless(s.held); n > 0 {
			no := s.held[:n]
			s.held, s.state, s.sure = s.held[n:], inText, false
			return s.utter(no)
		}
	}
	return told{}
}

// begin decides what an answer, or the rest of one after a thought, begins with.
func (s *speech) begin() {
	rest := strings.TrimLeft(s.held, " \t\r\n")
	if s.state == atBeginning {
		if after, ok := strings.CutPrefix(rest, wire.ThinkBegin); ok {
			s.held, s.state = after, inThought
			s.late.Off()
			return
		}
		if strings.HasPrefix(wire.ThinkBegin, rest) {
			return // more may come, or nothing at all
		}
	}
	if s.calls.mayBegin(rest) || rest == "" {
		return
	}
	if s.state == afterThought {
		s.held = rest
	}
	s.state = inText
	if s.calls.begins(rest) {
		s.state = inCalls
	}
}

// think returns what is thought for certain: not what may be the end tag, nor white
// space that may stand before it.
func (s *speech) think() string {
	if !s.begun {
		s.held = strings.TrimLeft(s.held, " \t\r\n")
	}
	thought, rest, ended := strings.Cut(s.held, wire.ThinkEnd)
	if ended {
		s.held, s.state = rest, afterThought
		return strings.TrimRight(thought, " \t\r\n")
	}
	certain := strings.TrimRight(s.held[:len(s.held)-wire.PartOf(s.held, wire.ThinkEnd)], " \t\r\n")
	s.held = s.held[len(certain):]
	s.begun = s.begun || certain != ""
	return certain
}

// say returns what is said for certain: not what may be a call.
func (s *speech) say() told {
	at, found := len(s.held), false
	if s.calls.anywhere {
		at, found = s.calls.find(s.held)
	}
	said := s.held[:at]
	s.held = s.held[at:]
	t := s.utter(said)
	if found && !t.wasThought {
		t.said += s.late.Flush()
		s.state = inCalls
	}
	return t
}

// utter says a text, unless it ends a thought that did not begin.
func (s *speech) utter(text string) told {
	said, ended, after := s.late.Add(text)
	if ended {
		s.held, s.state = after+s.held, afterThought
	}
	return told{said: said, wasThought: ended}
}

// end returns what was kept back, and the calls in it if it is made of calls.
func (s *speech) end() (t told, calls []troupe.ToolCall) {
	held := s.held + s.rest.String()
	s.held = ""
	switch s.state {
	case inThought:
		return told{thought: strings.TrimRight(held, " \t\r\n")}, nil
	case afterThought:
		return told{}, nil
	case inCalls, atBeginning, inText:
		if calls, ok := s.calls.read(held); ok {
			return told{said: s.late.End()}, calls
		}
	}
	t = s.utter(held)
	if !t.wasThought {
		t.said += s.late.End()
		return t, nil
	}
	after := strings.TrimLeft(s.held, " \t\r\n")
	if calls, ok := s.calls.read(after); ok && after != "" {
		return t, calls
	}
	t.after = after
	return t, nil
}
