package anthropic

import (
	"net/http"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

// saying is an answer of one text.
func saying(quoted string) *wiretest.Canned {
	return wiretest.Stream(wiretest.Events(start, textBegin, textPiece(quoted), ends("end_turn"), stop))
}

func TestAnAgentWorksWithIt(t *testing.T) {
	wiretest.AgentTest{
		Model: func(t testing.TB, client *http.Client) troupe.Model { return modelOn(t, Config{HTTPClient: client}) },
		Calls: wiretest.Stream(thinkAndCall), Done: saying("It rains."), Bound: saying(`{\"rains\":true}`),
		Kept:    []string{`"system":[{"type":"text"`, `"cache_control"`, `"thinking":"let me see","signature":"c2ln"`, `"redacted_thinking"`, `"I look it up."`, `"tool_use"`, `"tool_result"`},
		Binds:   []string{`"output_config"`, `"json_schema"`, `"rains"`},
		Busy:    &wiretest.Canned{Status: 529, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		Refused: &wiretest.Canned{Status: 401, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`}, Why: "key",
	}.Run(t)
}
