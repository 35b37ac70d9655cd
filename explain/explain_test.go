package explain

import (
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// logged numbers bodies as the events of one run.
func logged(bodies ...troupe.Body) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		for i, b := range bodies {
			if !yield(troupe.Event{Seq: int64(i + 1), Session: "s", Run: "r", Agent: "clerk", Time: time.Unix(0, 0), Body: b}, nil) {
				return
			}
		}
	}
}

func reply(text string, input, output int, cost float64) *troupe.ModelReplied {
	return &troupe.ModelReplied{
		Message: &troupe.Message{Role: troupe.RoleAssistant, Text: text}, Usage: troupe.Usage{Input: input, Output: output}, Cost: cost,
		Context: troupe.ContextUse{Tools: 100}, Attempt: 1,
	}
}

func TestAPartHasItsShareOfTokensAndCost(t *testing.T) {
	events := logged(
		&troupe.RunStarted{}, &troupe.ContextLoaded{Source: "instructions", Content: strings.Repeat("x", 992), SHA256: "1"},
		&troupe.UserSaid{Text: strings.Repeat("y", 992)}, reply("Yes.", 1100, 200, 0.0017), &troupe.RunFinished{Stop: "answered"},
	)
	// An output token costs three times as much as one of the input.
	s, err := Read(events, Options{Turn: -1, Price: func(string) troupe.Price { return troupe.Price{Input: 1, Output: 3} }})
	if err != nil {
		t.Fatal(err)
	}
	var tokens int
	var cost float64
	for _, p := range s.Turns[0].Parts {
		tokens, cost = tokens+p.Tokens, cost+p.Cost
		if !p.New && p.Kind != "tools" {
			t.Errorf("%s is not new", p.Kind)
		}
	}
	if parts := s.Turns[0].Parts; len(parts) != 3 || parts[0].Tokens != 500 || parts[1].Tokens != 500 || parts[2].Tokens != 100 {
		t.Errorf("%+v", parts)
	}
	if tokens != 1100 || math.Abs(cost-0.0011) > 1e-9 {
		t.Errorf("%d tokens for $%g", tokens, cost)
	}
}

func TestWhatMadeRoomAndWhyItStoppedAreTold(t *testing.T) {
	s, err := Read(logged(
		&troupe.RunStarted{}, &troupe.UserSaid{Text: "one"}, reply("1", 10, 1, 0), &troupe.UserSaid{Text: "two"},
		&troupe.ContextCompacted{Summary: "they count", Dropped: 2, Kept: 1, TokensBefore: 30, TokensAfter: 20},
		&troupe.ModelFailed{Error: "overloaded", Attempt: 1, Usage: troupe.Usage{Input: 7, Output: 3}, Cost: 0.5, Model: "m"}, &troupe.LimitReached{Stop: "turns", Message: "2 turns"},
		reply("2", 20, 1, 0), &troupe.RunFinished{Stop: "turns"}, &troupe.RunStarted{}, &troupe.RunFailed{Error: "no route"},
	), Options{Turn: 2})
	if err != nil {
		t.Fatal(err)
	}
	last := s.Turns[1]
	if len(last.Compacted) != 1 || last.Compacted[0].Dropped != 2 || len(last.Failed) != 1 {
		t.Errorf("%+v", last)
	}
	if want := (Paid{AfterTurn: 1, Event: 6, Agent: "clerk", Model: "m", Error: "overloaded", Input: 7, Output: 3, Cost: 0.5}); len(s.Paid) != 1 || s.Paid[0] != want {
		t.Errorf("paid for nothing: %+v", s.Paid)
	}
	var kinds []string
	for _, p := range last.Parts {
		kinds = append(kinds, p.Kind)
	}
	if got := strings.Join(kinds, " "); got != "summary user user user tools" || len(last.Dropped) != 0 {
		t.Errorf("sent: %s, not any more: %+v", got, last.Dropped)
	}
	if len(s.Ends) != 2 || s.Ends[0].Why != "the limit of turns was reached: 2 turns" || s.Ends[0].AfterTurn != 2 || s.Ends[1].Why != "no route" {
		t.Errorf("%+v", s.Ends)
	}
}

// A call that sums up is told as what it is: what it was sent is neither the conversation nor
// compared with it.
func TestACallThatSumsUpIsNoTurnOfTheConversation(t *testing.T) {
	summary := reply("They count.", 30, 5, 0)
	summary.Purpose = "summary"
	events := func(turn int) Turn {
		s, err := Read(logged(
			&troupe.RunStarted{}, &troupe.ContextLoaded{Source: "instructions", Role: troupe.RoleSystem, Content: "Count.", SHA256: "1"},
			&troupe.UserSaid{Text: "one"}, reply("1", 10, 1, 0), &troupe.UserSaid{Text: "two"}, summary,
			&troupe.ContextCompacted{Summary: "They count.", Dropped: 2, Kept: 1}, reply("2", 20, 1, 0),
		), Options{Turn: turn, Locate: func(_ string, p Part) []Part {
			p.Origin = "troupe.yaml"
			return []Part{p}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s.Turns[turn-1]
	}
	sum := events(2)
	if len(sum.Dropped) != 0 || len(sum.Parts) != 3 || sum.Parts[0].Origin != "" || !strings.HasPrefix(sum.Parts[0].Text, "You sum up") ||
		sum.Parts[1].Kind != "transcript" || sum.Parts[1].Text != "user: one\n\nassistant: 1\n\n" {
		t.Errorf("it was sent %+v, and not any more %+v", sum.Parts, sum.Dropped)
	}
	next := events(3)
	if len(next.Dropped) != 0 || next.Parts[0].New || next.Parts[2].Text != "one" || next.Parts[2].New || !next.Parts[3].New {
		t.Errorf("the next was sent %+v, and not any more %+v", next.Parts, next.Dropped)
	}
}
