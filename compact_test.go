package troupe_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
)

func isSummary(req *troupe.Request) bool { return strings.Contains(req.Messages[0].Text, "sum up") }

func tokens(req *troupe.Request) int {
	n := 0
	for _, m := range req.Messages {
		n += len(m.Text) / 4
	}
	return n
}

// talker answers each message with some 400 tokens and asks for a tool now and then.
func talker(t testing.TB, window int, summary turn, largest *int) modelFunc {
	long := strings.Repeat("word ", 320)
	return func(req *troupe.Request) turn {
		if isSummary(req) {
			return summary
		}
		checkPairing(t, req.Messages)
		n := tokens(req)
		*largest = max(*largest, n)
		last := req.Messages[len(req.Messages)-1]
		if last.Role == troupe.RoleUser && strings.HasSuffix(last.Text, "3") {
			return turn{calls: []troupe.ToolCall{call("c", "add", `{"a":1,"b":2}`)}, usage: troupe.Usage{Input: n}}
		}
		return turn{text: long, usage: troupe.Usage{Input: n, Output: 400}}
	}
}

func TestOlderTurnsMakeRoom(t *testing.T) {
	const window = 3000
	largest := 0
	agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Instructions: "Remember: the code is 42.", Window: window,
		Model: talker(t, window, turn{text: "They talked."}, &largest), Tools: []troupe.Tool{adder()}})
	engine := newEngine(t, troupe.Config{})
	session, compacted := "", 0
	for i := range 40 {
		events, end, err := play(t, engine, agent, troupe.Input{Session: session, Text: fmt.Sprint("message ", i)})
		if err != nil || end.Stop != "answered" {
			t.Fatalf("message %d: %+v, %v", i, end, err)
		}
		session = events[0].Session
		for _, c := range bodies[*troupe.ContextCompacted](events) {
			compacted++
			if c.Summary != "They talked." || c.Dropped == 0 || c.Kept == 0 || c.TokensAfter >= c.TokensBefore || c.TokensAfter > window/2 {
				t.Errorf("compacted %+v", c)
			}
		}
		for _, d := range bodies[*troupe.TextDelta](events) {
			if d.Text == "They talked." {
				t.Error("the summary was shown as an answer")
			}
		}
	}
	if compacted < 3 || largest > window {
		t.Errorf("compacted %d times, the largest request had %d tokens", compacted, largest)
	}
}

func TestWithoutASummaryOlderTurnsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, summary := range map[string]turn{
			"it fails":    {err: &troupe.ModelError{Status: 500, Message: "down", Temporary: true}},
			"it is empty": {},
		} {
			largest := 0
			agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Window: 2000, Model: talker(t, 2000, summary, &largest), Tools: []troupe.Tool{adder()}})
			engine := newEngine(t, troupe.Config{})
			session, warned := "", 0
			for i := range 12 {
				events, _, err := play(t, engine, agent, troupe.Input{Session: session, Text: fmt.Sprint("message ", i)})
				if err != nil {
					t.Fatal(err)
				}
				session = events[0].Session
				for _, w := range bodies[*troupe.Warned](events) {
					if w.Code == "summary_failed" {
						warned++
					}
				}
			}
			if warned == 0 || largest > 2000 {
				t.Errorf("%s: warned %d times, the largest request had %d tokens", name, warned, largest)
			}
		}
	})
}

func TestAHugeResultIsCutToMakeRoom(t *testing.T) {
	page := troupe.NewTool("page", "", func(_ ctx, _ struct{}) (string, error) { return strings.Repeat("text ", 4000), nil })
	model := modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("1", "page", "{}")}}
		}
		if tokens(req) > 2000 {
			t.Errorf("a request of %d tokens", tokens(req))
		}
		return turn{text: "read"}
	})
	agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Window: 2000, Model: model, Tools: []troupe.Tool{page}})
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "read it")
	if c := bodies[*troupe.ContextCompacted](events); end.Output.Summary != "read" || len(c) != 1 || c[0].ResultCap == 0 {
		t.Errorf("got %s", kinds(events))
	}
}

func TestAProviderThatSaysTheContextIsFull(t *testing.T) {
	n := 0
	model := modelFunc(func(req *troupe.Request) turn {
		if isSummary(req) {
			return turn{text: "so it went"}
		}
		if n++; n == 3 {
			return turn{err: &troupe.ModelError{Status: 400, Code: "context_length_exceeded", Err: troupe.ErrContextFull}}
		}
		return turn{text: strings.Repeat("long ", 500)}
	})
	agent, engine := agentWith(t, troupe.AgentConfig{ID: "clerk", Model: model}), newEngine(t, troupe.Config{})
	session := ""
	for i := range 3 {
		events, end, err := play(t, engine, agent, troupe.Input{Session: session, Text: fmt.Sprint("message ", i)})
		if err != nil || end.Stop != "answered" {
			t.Fatalf("message %d: %v", i, err)
		}
		session = events[0].Session
		if c := countOf[*troupe.ContextCompacted](events); (i == 2) != (c == 1) {
			t.Errorf("message %d: compacted %d times", i, c)
		}
	}
}

func TestARequestSaysWhatItHolds(t *testing.T) {
	agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Instructions: strings.Repeat("i", 400), Window: 10000,
		Model: inTurn(t, turn{text: "hi", usage: troupe.Usage{Input: 200}}, turn{text: "hi"}), Tools: []troupe.Tool{adder()}})
	engine := newEngine(t, troupe.Config{})
	events, _ := mustAnswer(t, engine, agent, strings.Repeat("u", 800))
	use := bodies[*troupe.ModelReplied](events)[0].Context
	if use.System < 90 || use.System > 110 || use.History < 190 || use.History > 220 || use.Tools == 0 || use.Window != 10000 {
		t.Errorf("the first request holds %+v", use)
	}
	// The model said it was less than estimated: the next estimate is smaller.
	events, _, err := play(t, engine, agent, troupe.Input{Session: events[0].Session, Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if next := bodies[*troupe.ModelReplied](events)[0].Context; next.System >= use.System {
		t.Errorf("the second request holds %+v", next)
	}
}
