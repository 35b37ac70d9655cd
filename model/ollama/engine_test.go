package ollama

import (
	"net/http"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

func TestAnAgentWorksWithIt(t *testing.T) {
	const thought = `{"model":"m","message":{"role":"assistant","content":"","thinking":"let me see"},"done":false}` + "\n"
	wiretest.AgentTest{
		Model: func(t testing.TB, client *http.Client) troupe.Model {
			return modelOn(t, Config{HTTPClient: client, ContextLength: 8192})
		},
		Calls: lines(thought + said("I look it up.") + callChunk + done), Done: lines(said("It rains.") + done), Bound: lines(said(`{"rains":true}`) + done),
		Kept:    []string{`"I look it up."`, `"tool_calls"`, `"lookup"`, `"role":"tool"`},
		Binds:   []string{`"num_ctx":8192`, "fits this JSON schema"},
		Busy:    &wiretest.Canned{Status: 503, Body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`},
		Refused: &wiretest.Canned{Status: 404, Body: `{"error":"model 'm' not found"}`}, Why: "model",
	}.Run(t)
}

func TestStreamsInAllPieces(t *testing.T) {
	wiretest.InPieces(t, func(t testing.TB, client *http.Client) troupe.Model { return modelOn(t, Config{HTTPClient: client}) }, lines(said("I look it up.")+callChunk+done))
}
