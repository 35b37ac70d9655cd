package responses

import (
	"net/http"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

// saying is an answer of one text.
func saying(quoted string) *wiretest.Canned {
	return wiretest.Stream(wiretest.Events(created, message, textPiece(quoted), ends("completed", `,"output":[]`)))
}

func TestAnAgentWorksWithIt(t *testing.T) {
	wiretest.AgentTest{
		Model: func(t testing.TB, client *http.Client) troupe.Model { return modelOn(t, Config{HTTPClient: client}) },
		Calls: wiretest.Stream(reasonAndCall), Done: saying("It rains."), Bound: saying(`{\"rains\":true}`),
		Kept:    []string{`"let me see"`, `"encrypted_content":"c2ln"`, `"I look it up."`, `"function_call"`, `"function_call_output"`},
		Binds:   []string{`"json_schema"`, `"rains"`, `"store":false`},
		Busy:    &wiretest.Canned{Status: 503, Body: `{"error":{"message":"The server is busy","type":"server_error"}}`},
		Refused: &wiretest.Canned{Status: 401, Body: `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`}, Why: "key",
	}.Run(t)
}

func TestStreamsInAllPieces(t *testing.T) {
	wiretest.InPieces(t, func(t testing.TB, client *http.Client) troupe.Model { return modelOn(t, Config{HTTPClient: client}) }, wiretest.Stream(reasonAndCall))
}
