package gemini

import (
	"net/http"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

func TestAnAgentWorksWithIt(t *testing.T) {
	wiretest.AgentTest{
		Model: func(t testing.TB, client *http.Client) troupe.Model { return modelOn(t, Config{HTTPClient: client}) },
		Calls: wiretest.Stream(signed), Done: wiretest.Stream(ends("STOP", `{"text":"It rains."}`)), Bound: wiretest.Stream(ends("STOP", `{"text":"{\"rains\":true}"}`)),
		Kept:    []string{`"let me see"`, `"I look it up."`, `"thoughtSignature":"c2ln"`, `"functionCall"`, `"thoughtSignature":"Y2FsbA=="`, `"functionResponse"`},
		Binds:   []string{`"responseJsonSchema"`, `"application/json"`, `"rains"`},
		Busy:    &wiretest.Canned{Status: 503, Body: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`},
		Refused: &wiretest.Canned{Status: 400, Body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`}, Why: "key",
	}.Run(t)
}

func TestStreamsInAllPieces(t *testing.T) {
	wiretest.InPieces(t, func(t testing.TB, client *http.Client) troupe.Model { return modelOn(t, Config{HTTPClient: client}) }, wiretest.Stream(signed))
}
