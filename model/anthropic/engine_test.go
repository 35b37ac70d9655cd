package anthropic

import (
	"context"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

// An agent's second request has the thought of the first answer, signed and in its
// place, before the result of the call, and marks for the cache.
func TestAnAgentThinksOnBetweenCalls(t *testing.T) {
	canned := wiretest.Stream(thinkAndCall)
	canned.Then = []*wiretest.Canned{wiretest.Stream(fine)}
	lookup := troupe.NewTool("lookup", "Looks it up.", func(_ context.Context, in struct {
		City string `json:"city"`
	}) (string, error) {
		return "rain in " + in.City, nil
	})
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: "Be brief.", Model: modelOn(t, Config{HTTPClient: canned.Client()}), Tools: []troupe.Tool{lookup}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "Umbrella?"}))
	if err != nil || outcome.Text != "x" {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if n := len(canned.Sent()); n != 2 {
		t.Fatalf("%d requests", n)
	}
	body := canned.Sent()[1].Body
	at := 0
	for _, next := range []string{`"system":[{"type":"text"`, `"cache_control"`, `"thinking":"let me see","signature":"c2ln"`, `"redacted_thinking"`, `"I look it up."`, `"tool_use"`, `"tool_result"`, "rain in Oslo"} {
		i := strings.Index(body[at:], next)
		if i < 0 {
			t.Fatalf("%s is not where it should be: %s", next, body)
		}
		at += i
	}
}
