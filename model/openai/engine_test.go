package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/troupetest"
)

const canary = "sk-canary-4711"

type place struct {
	City string `json:"city"`
}

// run plays a task against a server that answers by plan, and returns the events
// as JSON lines and the run's error.
func run(t *testing.T, plan ...troupetest.Exchange) (log string, outcome troupe.Outcome, server *troupetest.Server, err error) {
	t.Helper()
	server = troupetest.NewPipeServer(t, plan...)
	model, err := openai.New(openai.Config{BaseURL: server.URL, Key: canary, Model: "m", HTTPClient: server.Client(), Headers: map[string]string{"X-Team": canary + "-header"}})
	if err != nil {
		t.Fatal(err)
	}
	weather := troupe.NewTool("weather", "Looks it up.", func(_ context.Context, at place) (string, error) { return "rain in " + at.City, nil })
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: "Be brief.", Model: model, Tools: []troupe.Tool{weather}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var lines strings.Builder
	outcome, err = troupe.Collect(func(yield func(troupe.Event, error) bool) {
		for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "Umbrella?"}) {
			if err == nil {
				line, encodeErr := e.MarshalJSON()
				if encodeErr != nil {
					t.Fatal(encodeErr)
				}
				lines.Write(append(line, '\n'))
			}
			if !yield(e, err) {
				return
			}
		}
	})
	return lines.String(), outcome, server, err
}

// An agent comes to its answer however the server misbehaves on the way.
func TestAnAgentGetsThroughABadDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := troupe.ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}
		began := time.Now()
		log, outcome, server, err := run(t,
			troupetest.ServeStatus(429, `{"error":{"message":"slow down"}}`).Header("Retry-After", "5"),
			troupetest.ServeCalls(call).CutAfterChunks(1),
			troupetest.ServeStatus(503, "<html>bad gateway</html>"),
			troupetest.ServeCalls(call).KeepAlives(3),
			troupetest.ServeText("Yes, take ").FailWith(`{"message":"overloaded","code":503}`),
			troupetest.ServeText("Yes, take an umbrella.").NoDone().Usage(troupe.Usage{Input: 20, Output: 5}),
		)
		if err != nil || outcome.Text != "Yes, take an umbrella." || outcome.Spent.Usage.Input != 30 {
			t.Fatalf("%+v, %v\n%s", outcome, err, log)
		}
		if waited := time.Since(began); waited < 5*time.Second {
			t.Errorf("Retry-After was not heeded: %s", waited)
		}
		if n := strings.Count(log, `"kind":"tool_called"`); n != 1 {
			t.Errorf("%d calls were carried out", n)
		}
		if n := len(server.Requests()); n != 6 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestTheKeyIsInNoEventAndNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		echo := `{"error":{"message":"Incorrect API key provided: ` + canary + ` (` + canary + `-header)","code":"invalid_api_key"}}`
		log, _, server, err := run(t, troupetest.ServeStatus(401, echo))
		failure, ok := errors.AsType[*troupe.ModelError](err)
		if !ok || failure.Status != 401 {
			t.Fatalf("got %v", err)
		}
		if got := server.Requests()[0].Header.Get("Authorization"); got != "Bearer "+canary {
			t.Errorf("the key was sent as %q", got)
		}
		detail, err := json.Marshal(failure)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{log, failure.Error(), string(detail)} {
			if strings.Contains(text, canary) {
				t.Errorf("the key is in %s", text)
			}
		}
	})
}

// From outside: whatever shape the server puts its answers into, the tool is called
// as often as the model wanted, thoughts are no part of the answer, and nothing is
// asked twice.
func TestAnAgentComesToItsAnswerInEveryShape(t *testing.T) {
	for _, shape := range troupetest.Shapes() {
		t.Run(string(shape), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := []troupe.ToolCall{{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "c2", Name: "weather", Arguments: `{"city":"Rome"}`}}
				log, outcome, server, err := run(t,
					troupetest.ServeCalls(calls...).Thought("Where?").As(shape),
					troupetest.ServeText("Take an umbrella.").Thought("It rains.").As(shape))
				if err != nil || outcome.Text != "Take an umbrella." || outcome.Stop != "answered" {
					t.Fatalf("%+v, %v\n%s", outcome, err, log)
				}
				if n := strings.Count(log, `"kind":"tool_called"`); n != 2 || !strings.Contains(log, "rain in Oslo") || !strings.Contains(log, "rain in Rome") {
					t.Errorf("%d calls were carried out\n%s", n, log)
				}
				if n := len(server.Requests()); n != 2 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

// An error inside a good answer is what it says: what passes is tried again, and
// what does not is not.
func TestErrorsInGoodAnswersAreActedUpon(t *testing.T) {
	for _, place := range troupetest.ErrorPlaces() {
		t.Run(string(place), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, outcome, _, err := run(t, troupetest.ServeText("Take").FailIn(place, `{"message":"overloaded","code":529}`), troupetest.ServeText("Take an umbrella."))
				if err != nil || outcome.Text != "Take an umbrella." {
					t.Fatalf("%+v, %v\n%s", outcome, err, log)
				}
				_, _, server, err := run(t, troupetest.ServeText("Take").FailIn(place, `{"message":"incorrect api key provided","code":401}`))
				if e, ok := errors.AsType[*troupe.ModelError](err); !ok || e.Reason != "key" || len(server.Requests()) != 1 {
					t.Errorf("%d requests, %v", len(server.Requests()), err)
				}
			})
		})
	}
}

// A server that says nothing for five minutes while it collects a call is waited for.
func TestASilentCallIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		go func() {
			time.Sleep(299 * time.Second)
			close(ready)
		}()
		call := troupe.ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}
		log, outcome, server, err := run(t, troupetest.ServeCalls(call).Text("Let me see.").PauseAfterChunks(4, ready), troupetest.ServeText("Rain."))
		if err != nil || outcome.Text != "Rain." || len(server.Requests()) != 2 {
			t.Fatalf("%+v, %v\n%s", outcome, err, log)
		}
	})
}
