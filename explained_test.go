package troupe_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/explain"
	"github.com/troupe-dev/troupe/flow"
)

// An eavesdropper writes down what the models of several agents are sent, each call as explain
// shows it.
type eavesdropper struct {
	mu   sync.Mutex
	sent map[string][][]string // by agent
}

// hears returns a model that answers in turn, and is overheard, calls that sum up included.
func (o *eavesdropper) hears(t *testing.T, agent string, turns ...turn) modelFunc {
	answers := inTurn(t, turns...)
	return func(req *troupe.Request) turn {
		isSummary := strings.Contains(req.Messages[0].Text, "Leave out greetings")
		answer := turn{text: "They counted."}
		if !isSummary {
			answer = answers(req)
		}
		if answer.err != nil || answer.cut {
			return answer // the call is tried again
		}
		var call []string
		for _, m := range req.Messages {
			text := m.Text
			for _, p := range m.Parts {
				text += fmt.Sprintf("\n[%s, %s]", p.Name, p.MIME)
			}
			for _, c := range m.Calls {
				text += fmt.Sprintf("\n→ %s %s", c.Name, c.Arguments)
			}
			call = append(call, string(m.Role)+" "+m.CallID+": "+strings.TrimPrefix(text, "\n"))
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sent[agent] = append(o.sent[agent], call)
		return answer
	}
}

// explained is what explain says that the models were sent.
func explained(events []troupe.Event) map[string][][]string {
	sent := map[string][][]explain.Part{}
	r := explain.NewRecorder()
	for i := range events {
		e := &events[i]
		if _, ok := e.Body.(*troupe.ModelReplied); ok {
			sent[e.Agent] = append(sent[e.Agent], r.Sent(e))
		}
		r.Take(e)
	}
	told := map[string][][]string{}
	for agent, calls := range sent {
		for _, parts := range calls {
			var call []string
			for _, p := range parts {
				call = append(call, p.Role+" "+p.CallID+": "+p.Text)
			}
			told[agent] = append(told[agent], call)
		}
	}
	return told
}

// What explain says of a call, and with it the page and its curl commands, is what the model was
// sent, message by message.
func TestWhatIsExplainedIsWhatWasSent(t *testing.T) {
	calls := func(ids ...string) turn {
		var c []troupe.ToolCall
		for _, id := range ids {
			c = append(c, call(id, "look", fmt.Sprintf(`{"at":%q}`, id)))
		}
		return turn{calls: c}
	}
	type at struct {
		At string `json:"at"`
	}
	look := troupe.NewTool("look", "Looks.", func(_ context.Context, in at) (troupe.Result, error) {
		switch {
		case strings.HasPrefix(in.At, "long"):
			return troupe.Result{Content: strings.Repeat("é", 2000)}, nil
		case strings.HasPrefix(in.At, "kept"):
			return troupe.Result{Content: "it is " + in.At, Keep: "rules"}, nil
		}
		return troupe.Result{Content: "it is " + in.At}, nil
	}, troupe.ReadOnly())
	// Of two calls at the same time the first returns last.
	second := make(chan struct{})
	slow := troupe.NewTool("look", "Looks.", func(ctx context.Context, in at) (string, error) {
		if in.At == "b" {
			close(second)
			return "it is b", nil
		}
		select {
		case <-second:
		case <-ctx.Done():
		}
		return "it is " + in.At, nil
	}, troupe.ReadOnly())
	down := &troupe.ModelError{Status: 529, Reason: "overloaded", Temporary: true, RetryAfter: 1}
	var same []turn
	for i := range 4 {
		same = append(same, turn{calls: []troupe.ToolCall{call(fmt.Sprint("c", i), "look", `{"at":"x"}`)}})
	}
	for name, c := range map[string]struct {
		step func(o *eavesdropper) troupe.Step
		say  []troupe.Input
		// kind is the event that it is about, which must be there.
		kind string
	}{
		"parallel calls": {func(o *eavesdropper) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "ann", Instructions: "Look.", Tools: []troupe.Tool{slow}, Model: o.hears(t, "ann", calls("a", "b"), turn{text: "seen"})})
		}, []troupe.Input{{Text: "go"}}, "tool_returned"},
		"notices of repeated calls": {func(o *eavesdropper) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "ann", Tools: []troupe.Tool{look}, Model: o.hears(t, "ann", append(same, turn{text: "seen"}, turn{text: "again"})...)})
		}, []troupe.Input{{Text: "go"}, {Text: "and then"}}, "warned"},
		"the notice of a limit": {func(o *eavesdropper) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "ann", Tools: []troupe.Tool{look}, Limits: troupe.Limits{Turns: 1}, Model: o.hears(t, "ann", calls("a"), turn{text: "that is all"}, turn{text: "more"})})
		}, []troupe.Input{{Text: "go"}, {Text: "and then"}}, "limit_reached"},
		"an answer in several pieces": {func(o *eavesdropper) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "ann", Model: o.hears(t, "ann", turn{text: "one, ", finish: troupe.FinishLength}, turn{text: "two"}, turn{text: "three"})})
		}, []troupe.Input{{Text: "count"}, {Text: "and then"}}, "warned"},
		"calls that were cut": {func(o *eavesdropper) troupe.Step {
			cut := calls("a")
			cut.text, cut.finish = "Let me see.", troupe.FinishLength
			return agentWith(t, troupe.AgentConfig{ID: "ann", Tools: []troupe.Tool{look}, Model: o.hears(t, "ann", cut, turn{text: "two"})})
		}, []troupe.Input{{Text: "count"}}, "warned"},
		"an answer that broke off": {func(o *eavesdropper) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "ann", Model: o.hears(t, "ann", turn{text: "one, ", err: &troupe.ModelError{Status: 400, Reason: "request"}}, turn{text: "two"})})
		}, []troupe.Input{{Text: "count"}, {Text: "and then"}}, "run_failed"},
		"an attempt that failed": {func(o *eavesdropper) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "ann", Model: o.hears(t, "ann", turn{text: "on", err: down}, turn{text: "one"})})
		}, []troupe.Input{{Text: "count"}}, "model_failed"},
		"making room": {func(o *eavesdropper) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: "ann", Instructions: "Look.", Window: 1200, Tools: []troupe.Tool{look}, Model: o.hears(t, "ann", calls("kept1", "a"), calls("kept2"), turn{text: strings.Repeat("first ", 150)}, calls("long1"), calls("long2", "c"), turn{text: "second"}, turn{text: "third"})})
		}, []troupe.Input{{Text: "go"}, {Text: "and then"}, {Text: "and last"}}, "context_compacted"},
		"a team": {func(o *eavesdropper) troupe.Step {
			first := agentWith(t, troupe.AgentConfig{ID: "ann", Instructions: "You are Ann.", Model: o.hears(t, "ann",
				turn{calls: []troupe.ToolCall{call("h", "transfer_to_bob", `{"summary":"Bob knows."}`)}}, turn{text: "back at Ann"})})
			second := agentWith(t, troupe.AgentConfig{ID: "bob", Instructions: "You are Bob.", Model: o.hears(t, "bob", turn{text: "bob answers"}, turn{text: "bob again"})})
			return flow.Team("team", first, second)
		}, []troupe.Input{{Text: "go"}, {Text: "and then"}}, "handed_off"},
		"a sequence that is gone on with": {func(o *eavesdropper) troupe.Step {
			first := agentWith(t, troupe.AgentConfig{ID: "ann", Instructions: "You are Ann.", Model: o.hears(t, "ann", turn{text: "one"}, turn{text: "three"})})
			second := agentWith(t, troupe.AgentConfig{ID: "bob", Model: o.hears(t, "bob", turn{text: "two"}, turn{text: "four"})})
			return flow.Sequence("s", first, second)
		}, []troupe.Input{{Text: "go"}, {Text: "and then"}}, "handed_off"},
		"an agent as a tool": {func(o *eavesdropper) troupe.Step {
			helper := agentWith(t, troupe.AgentConfig{ID: "bob", Instructions: "You are Bob.", Model: o.hears(t, "bob", turn{text: "helped"}, turn{text: "helped again"})})
			ask := func(id string) turn { return turn{calls: []troupe.ToolCall{call(id, "bob", `{"task":"help"}`)}} }
			return agentWith(t, troupe.AgentConfig{ID: "ann", Tools: []troupe.Tool{troupe.AsTool(helper, "Helps.")}, Model: o.hears(t, "ann", ask("a"), turn{text: "one"}, ask("b"), turn{text: "two"})})
		}, []troupe.Input{{Text: "go"}, {Text: "and then"}}, "tool_returned"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &eavesdropper{sent: map[string][][]string{}}
			step, store := c.step(o), troupe.NewMemoryStore()
			engine := newEngine(t, troupe.Config{Store: store})
			session := ""
			for _, in := range c.say {
				in.Session = session
				events, _, _ := play(t, engine, step, in) // one of them is to fail
				session = events[0].Session
			}
			var log []troupe.Event
			for e, err := range store.Events(t.Context(), session, 0) {
				if err != nil {
					t.Fatal(err)
				}
				log = append(log, e)
			}
			if !slices.ContainsFunc(log, func(e troupe.Event) bool { return e.Kind() == c.kind }) {
				t.Errorf("there is no %s", c.kind)
			}
			if name == "making room" && !strings.Contains(fmt.Sprint(o.sent), "[Still in force: the result of look]\nit is kept2") {
				t.Errorf("nothing outlives it: %q", o.sent)
			}
			if diff := cmp.Diff(o.sent, explained(log)); diff != "" {
				t.Errorf("sent (-), explained (+):\n%s", diff)
			}
		})
	}
}

// A call whose process died has no result on record: what its model is told of it when something
// else is said is explained, too.
func TestWhatIsExplainedOfACallThatWasCut(t *testing.T) {
	look := troupe.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "it is", nil })
	agent := func(o *eavesdropper, turns ...turn) troupe.Step {
		return agentWith(t, troupe.AgentConfig{ID: "ann", Tools: []troupe.Tool{look}, Model: o.hears(t, "ann", turns...)})
	}
	first, second := &eavesdropper{sent: map[string][][]string{}}, &eavesdropper{sent: map[string][][]string{}}
	events, _, err := play(t, newEngine(t, troupe.Config{}), agent(first, turn{calls: []troupe.ToolCall{call("a", "look", "{}"), call("b", "look", "{}")}}, turn{text: "seen"}), troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	log := stored(events)
	cut := slices.IndexFunc(log, func(e troupe.Event) bool { return e.Kind() == "tool_returned" }) + 1
	store, session := troupe.NewMemoryStore(), log[0].Session
	if err := store.Append(t.Context(), session, log[:cut]...); err != nil {
		t.Fatal(err)
	}
	if _, _, err := play(t, newEngine(t, troupe.Config{Store: store}), agent(second, turn{text: "well"}), troupe.Input{Session: session, Text: "and then"}); err != nil {
		t.Fatal(err)
	}
	log = nil
	for e, err := range store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, e)
	}
	told := explained(log)["ann"]
	if diff := cmp.Diff(second.sent["ann"], told[1:]); diff != "" || !strings.Contains(strings.Join(told[1], "\n"), "its outcome is unknown") {
		t.Errorf("sent (-), explained (+):\n%s\n%q", diff, told)
	}
}
