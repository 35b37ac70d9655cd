package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
)

// events shows a listener some events and returns what it wrote.
func events(l *plainListener, bodies ...troupe.Body) (out, aside string) {
	var o, e bytes.Buffer
	l.program = &program{out: &o, err: &e}
	for _, body := range bodies {
		l.show(&troupe.Event{Body: body})
	}
	return o.String(), e.String()
}

func said(text string) *troupe.ModelReplied {
	return &troupe.ModelReplied{Message: &troupe.Message{Text: text}}
}

func TestAProgramGetsAnswersWhenTheyAreComplete(t *testing.T) {
	out, aside := events(&plainListener{},
		&troupe.TextDelta{Text: "broken ", Attempt: 1}, &troupe.TextDelta{Text: "whole", Attempt: 2}, said("whole \x1b[1m"),
		&troupe.RunFinished{Output: troupe.Handoff{Summary: "whole \x1b[1m"}})
	if out != "whole [1m\n" || aside != "" {
		t.Errorf("out %q, aside %q", out, aside)
	}
}

func TestAPersonSeesAnswersGrow(t *testing.T) {
	out, aside := events(&plainListener{isLive: true},
		&troupe.TextDelta{Text: "bro", Attempt: 1}, &troupe.TextDelta{Text: "who", Attempt: 2}, &troupe.TextDelta{Text: "le", Attempt: 2}, said("whole"))
	if out != "bro\nwhole\n" || aside != "  ! the answer broke off and begins again\n" {
		t.Errorf("out %q, aside %q", out, aside)
	}
}

func TestAPersonIsToldThatWhatWasShownWasAThought(t *testing.T) {
	out, aside := events(&plainListener{isLive: true},
		&troupe.TextDelta{Text: "hm", Attempt: 1}, &troupe.ThoughtDelta{Text: "hm", Attempt: -1}, &troupe.TextDelta{Text: "two", Attempt: -1}, said("two"))
	if out != "hm\ntwo\n" || aside != "  ! so far the model was thinking: its answer follows\n" {
		t.Errorf("out %q, aside %q", out, aside)
	}
}

func TestTheFinalWordIsSaidOnce(t *testing.T) {
	out, _ := events(&plainListener{}, said("Let me see."), said(""),
		&troupe.RunFinished{Output: troupe.Handoff{Summary: "What is your name?"}, Stop: "input_requested"})
	if out != "Let me see.\nWhat is your name?\n" {
		t.Errorf("out %q", out)
	}
}

func TestOnlyAnAnswerIsDone(t *testing.T) {
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "mira", Model: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	for stop, want := range map[string]int{
		"": 0, "answered": 0, "input_requested": 4, "turns": 1, "refused": 1, "empty": 1,
	} {
		c := &conversation{step: agent, stop: stop}
		if got := exitCode(t.Context(), c.verdict()); got != want {
			t.Errorf("%q: exit code %d, want %d", stop, got, want)
		}
	}
	if err := (&conversation{stop: "input_requested"}).verdict(); !errors.Is(err, errInput) {
		t.Error(err)
	}
}

type nobody struct{ troupe.Model }

func TestALongWaitIsToldWhileItLasts(t *testing.T) {
	for name, test := range map[string]struct {
		draws bool
		want  string
	}{
		"a person": {true, "\r\x1b[K  … waiting for the model, 2 s\r\x1b[K  … waiting for the model, 3 s\r\x1b[K  … waiting for the model, 4 s\r\x1b[K  … waiting for the model, 5 s\r\x1b[K  … waiting for the model, 6 s\r\x1b[K"},
		"a log":    {false, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var o, e bytes.Buffer
			l := &plainListener{program: &program{out: &o, err: &e}, drawsWait: test.draws, line: terminal.Line{W: &e}}
			end := l.watch()
			l.show(&troupe.Event{Body: &troupe.RunStarted{}})
			time.Sleep(6500 * time.Millisecond)
			l.show(&troupe.Event{Body: said("Here.")})
			l.show(&troupe.Event{Body: &troupe.RunFinished{Output: troupe.Handoff{Summary: "Here."}}})
			time.Sleep(time.Hour)
			end()
			if e.String() != test.want || o.String() != "Here.\n" {
				t.Errorf("%s: %q, %q", name, o.String(), e.String())
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var o, e bytes.Buffer
		l := &plainListener{program: &program{out: &o, err: &e}, drawsWait: true, line: terminal.Line{W: &e}}
		end := l.watch()
		l.show(&troupe.Event{Run: "r", Body: &troupe.ToolCalled{Tool: "search", CallID: "1"}})
		time.Sleep(3500 * time.Millisecond)
		end()
		if want := "  … search · 3 s\r\x1b[K"; !strings.HasSuffix(e.String(), want) {
			t.Errorf("of a tool it says %q", e.String())
		}
		// A call that asks something is open while the person thinks, who is not to be disturbed.
		end = l.watch()
		l.show(&troupe.Event{Body: &troupe.RunFinished{Stop: "input_requested"}})
		e.Reset()
		time.Sleep(time.Minute)
		if e.Len() > 0 {
			t.Errorf("a person is disturbed by %q", e.String())
		}
		l.show(&troupe.Event{Run: "r", Body: &troupe.ToolCalled{Tool: "search", CallID: "1"}})
		l.show(&troupe.Event{Run: "r", Body: &troupe.ToolReturned{Tool: "search", CallID: "1"}})
		if open := l.calls.Open(); len(open) > 0 {
			t.Errorf("still open: %v", open)
		}
		end()
	})
	synctest.Test(t, func(t *testing.T) {
		var o, e bytes.Buffer
		l := &plainListener{program: &program{out: &o, err: &e}}
		end := l.watch()
		time.Sleep(121 * time.Second)
		end()
		if want := "  … waiting for the model, 60 s\n  … waiting for the model, 2 min 0 s\n"; e.String() != want {
			t.Errorf("a log gets %q", e.String())
		}
	})
}

// An answer that reaches the output limit comes in several replies, and is the run's
// result as a whole.
func TestAnAnswerInPiecesIsSaidOnce(t *testing.T) {
	cut := func(text string) *troupe.ModelReplied {
		return &troupe.ModelReplied{Message: &troupe.Message{Text: text}, Finish: troupe.FinishLength}
	}
	ends := func(text string) *troupe.RunFinished {
		return &troupe.RunFinished{Output: troupe.Handoff{Summary: text}}
	}
	called := &troupe.ModelReplied{Message: &troupe.Message{Text: "A look.", Calls: []troupe.ToolCall{{ID: "1", Name: "look"}}}}
	for name, test := range map[string]struct {
		bodies []troupe.Body
		want   string
	}{
		"two":              {[]troupe.Body{cut("One, tw"), said("o, three."), ends("One, two, three.")}, "One, two, three.\n"},
		"three":            {[]troupe.Body{cut("a"), cut("b"), said("c"), ends("abc")}, "abc\n"},
		"begun anew":       {[]troupe.Body{cut("One, tw"), said("One, two."), ends("One, two.")}, "One, two.\n"},
		"never complete":   {[]troupe.Body{cut("a"), cut("b"), &troupe.RunFailed{}}, "ab\n"},
		"a call between":   {[]troupe.Body{cut("a"), called, said("b"), ends("b")}, "aA look.\nb\n"},
		"and a result":     {[]troupe.Body{cut("a"), said("b"), ends("Anything else?")}, "ab\nAnything else?\n"},
		"and another turn": {[]troupe.Body{cut("a"), said("b"), ends("ab"), said("ab"), ends("ab")}, "ab\nab\n"},
	} {
		if out, _ := events(&plainListener{}, test.bodies...); out != test.want {
			t.Errorf("%s: %q, want %q", name, out, test.want)
		}
	}
	out, _ := events(&plainListener{isLive: true}, &troupe.TextDelta{Text: "One, tw", Attempt: 1}, cut("One, tw"),
		&troupe.TextDelta{Text: "o.", Attempt: 1}, said("o."), ends("One, two."))
	if out != "One, tw\no.\n" {
		t.Errorf("a person sees %q", out)
	}
}

func TestDoctorIsNamedWhereItCanTell(t *testing.T) {
	for reason, want := range map[string]bool{"key": true, "unreachable": true, "address": true, "money": false, "context": false, "rate": false, "refused": false} {
		if got := doctorKnows(&troupe.ModelError{Reason: reason}); got != want {
			t.Errorf("%s: %t", reason, got)
		}
	}
	if doctorKnows(errors.New("no disk")) {
		t.Error("of other failures it knows nothing")
	}
}
