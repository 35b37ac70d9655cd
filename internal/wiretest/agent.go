package wiretest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
)

// An AgentTest lets an agent work with a model client over a scripted server that speaks
// the provider's own protocol.
type AgentTest struct {
	Model func(t testing.TB, client *http.Client) troupe.Model
	// Calls thinks "let me see" and perhaps more, says "I look it up." and calls lookup
	// with the city Oslo. Done says "It rains." Bound says {"rains":true}.
	Calls, Done, Bound *Canned
	// Kept is what the second request has, in this order: what must survive a turn.
	Kept []string
	// Binds is what a request has whose answer is bound to a schema.
	Binds []string
	// Busy is a passing failure, and Refused one that is not, for the reason Why.
	Busy, Refused *Canned
	Why           string
	// IsSilent says that thoughts are not shown.
	IsSilent bool
}

// then returns an answer that others follow.
func then(first *Canned, more ...*Canned) *Canned {
	return &Canned{Status: first.Status, Header: first.Header, Body: first.Body, Then: more}
}

// Run runs the test.
func (a AgentTest) Run(t *testing.T) {
	t.Run("thinks on between calls", func(t *testing.T) { synctest.Test(t, a.callsAndThinksOn) })
	t.Run("binds its answer", func(t *testing.T) { synctest.Test(t, a.bindsItsAnswer) })
	t.Run("gets over a passing failure", func(t *testing.T) { synctest.Test(t, a.getsOverAFailure) })
	t.Run("says why it failed", func(t *testing.T) { synctest.Test(t, a.saysWhyItFailed) })
	t.Run("goes on in a later run", func(t *testing.T) { synctest.Test(t, a.goesOnLater) })
}

// agentOn returns an agent that can look things up, and an engine.
func (a AgentTest) agentOn(t *testing.T, server *Canned) (*troupe.Engine, *troupe.Agent) {
	t.Helper()
	lookup := troupe.NewTool("lookup", "Looks it up.", func(_ context.Context, in struct {
		City string `json:"city"`
	}) (string, error) {
		return "rain in " + in.City, nil
	})
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: "Be brief.", Model: a.Model(t, server.Client()), Tools: []troupe.Tool{lookup}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine, agent
}

// What was said and thought comes piece by piece, the call is made, and the second
// request has all of it in its place.
func (a AgentTest) callsAndThinksOn(t *testing.T) {
	server := then(a.Calls, a.Done)
	engine, agent := a.agentOn(t, server)
	var text, thought string
	var last troupe.Event
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "Umbrella?"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *troupe.TextDelta:
			text += b.Text
		case *troupe.ThoughtDelta:
			thought += b.Text
		}
		last = e
	}
	if text != "I look it up.It rains." || !a.IsSilent && !strings.HasPrefix(thought, "let me see") {
		t.Errorf("said %q, thought %q", text, thought)
	}
	finished, ok := last.Body.(*troupe.RunFinished)
	if !ok || finished.Output.Summary != "It rains." || finished.Spent.Usage.Input == 0 || finished.Spent.Usage.Output == 0 {
		t.Errorf("ended with %+v", last.Body)
	}
	sent := server.Sent()
	if len(sent) != 2 {
		t.Fatalf("%d requests", len(sent))
	}
	inOrder(t, sent[1].Body, append(a.Kept, "rain in Oslo")...)
}

func inOrder(t *testing.T, body string, parts ...string) {
	t.Helper()
	at := 0
	for _, part := range parts {
		i := strings.Index(body[at:], part)
		if i < 0 {
			t.Fatalf("%s is not where it should be: %s", part, body)
		}
		at += i
	}
}

func (a AgentTest) bindsItsAnswer(t *testing.T) {
	server := then(a.Bound)
	engine, agent := a.agentOn(t, server)
	value, _, err := troupe.Ask[struct {
		Rains bool `json:"rains"`
	}](t.Context(), engine, agent, troupe.Input{Text: "Umbrella?"})
	if err != nil || !value.Rains {
		t.Errorf("%+v, %v", value, err)
	}
	for _, part := range a.Binds {
		if !strings.Contains(server.Sent()[0].Body, part) {
			t.Errorf("%s is not in %s", part, server.Sent()[0].Body)
		}
	}
}

func (a AgentTest) getsOverAFailure(t *testing.T) {
	server := then(a.Busy, a.Done)
	engine, agent := a.agentOn(t, server)
	failures := 0
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "Umbrella?"}) {
		if err != nil {
			t.Fatal(err)
		}
		if failed, ok := e.Body.(*troupe.ModelFailed); ok {
			failures++
			if failed.RetryIn == 0 || failed.Reason == "" {
				t.Errorf("%+v", failed)
			}
		}
	}
	if failures != 1 || len(server.Sent()) != 2 {
		t.Errorf("%d failures, %d requests", failures, len(server.Sent()))
	}
}

func (a AgentTest) saysWhyItFailed(t *testing.T) {
	server := then(a.Refused)
	engine, agent := a.agentOn(t, server)
	_, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "Umbrella?"}))
	if failure, ok := errors.AsType[*troupe.ModelError](err); !ok || failure.Reason != a.Why || failure.Temporary || len(server.Sent()) != 1 {
		t.Errorf("%v after %d requests", err, len(server.Sent()))
	}
}

// What a call was thought about is still there when the next message comes.
func (a AgentTest) goesOnLater(t *testing.T) {
	server := then(a.Calls, a.Done, a.Done)
	engine, agent := a.agentOn(t, server)
	first, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "Umbrella?"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Session: first.Session, Text: "And tomorrow?"})); err != nil {
		t.Fatal(err)
	}
	inOrder(t, server.Sent()[2].Body, append(a.Kept, "rain in Oslo", "It rains.", "And tomorrow?")...)
}
