package ollama

import (
	"strings"

	"github.com/troupe-dev/troupe/internal/wire"
)

// thinkTags tells what a model says from what it thinks between tags at the
// beginning of its text, as models do whose template the server cannot read.
type thinkTags struct {
	state thinkState
	held  string // not yet told apart
}

type thinkState byte

const (
	beforeText thinkState = iota // nothing but white space so far
	inThought
	afterThought // nothing but white space since
	inText
)

// add takes in text and returns what can be told of it.
func (t *thinkTags) add(text string) (thought, said string) {
	if t.state == inText {
		return "", text
	}
	t.held += text
	if t.state == beforeText {
		rest := strings.TrimLeft(t.held, " \t\r\n")
		after, ok := strings.CutPrefix(rest, wire.ThinkBegin)
		switch {
		case ok:
			t.held, t.state = strings.TrimLeft(after, "\r\n"), inThought
		case strings.HasPrefix(wire.ThinkBegin, rest):
			return "", ""
		default:
			t.state = inText
			return "", t.take()
		}
	}
	if t.state == inThought {
		before, after, ended := strings.Cut(t.held, wire.ThinkEnd)
		if !ended {
			certain := strings.TrimRight(t.held[:len(t.held)-wire.PartOf(t.held, wire.ThinkEnd)], " \t\r\n")
			t.held = t.held[len(certain):]
			return certain, ""
		}
		thought = strings.TrimRight(before, " \t\r\n")
		t.held, t.state = after, afterThought
	}
	if t.held = strings.TrimLeft(t.held, " \t\r\n"); t.held != "" {
		t.state = inText
	}
	return thought, t.take()
}

// end returns what was kept back.
func (t *thinkTags) end() (thought, said string) {
	if t.state == inThought {
		return strings.TrimRight(t.take(), " \t\r\n"), ""
	}
	return "", t.take()
}

func (t *thinkTags) take() string {
	held := t.held
	t.held = ""
	return held
}
