package troupe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
)

type verdict struct {
	N int `json:"n" minimum:"1"`
}

// broken is an Ask whose model was down, in a store that another engine can read.
func brokenAsk(t *testing.T, answers ...string) (store troupe.Store, agent *troupe.Agent, session string, asked *[]*troupe.Request) {
	t.Helper()
	store, asked = troupe.NewMemoryStore(), new([]*troupe.Request)
	agent = newAgent(t, modelFunc(func(req *troupe.Request) turn {
		*asked = append(*asked, req)
		if n := len(*asked); n > 1 {
			return turn{text: answers[min(n-2, len(answers)-1)]}
		}
		return turn{err: errBoom}
	}))
	_, outcome, err := troupe.Ask[verdict](t.Context(), newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Text: "How many?"})
	if !errors.Is(err, errBoom) || outcome.Session == "" {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	return store, agent, outcome.Session, asked
}

// A run keeps the output that it began with, whoever resumes it.
func TestAResumedAskIsCheckedAgain(t *testing.T) {
	store, agent, session, asked := brokenAsk(t, "four, I guess", `{"n":0}`, `here: {"n":4}`)
	outcome, err := troupe.Collect(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), agent, session))
	if err != nil || string(outcome.Handoff.Value) != `{"n":4}` || outcome.Text != `{"n":4}` {
		t.Errorf("got %+v, %v", outcome, err)
	}
	if n := len(*asked); n != 4 || (*asked)[1].Params == nil || !strings.Contains(string((*asked)[1].Params.Schema), `"minimum":1`) {
		t.Errorf("asked %d times, with %+v", n, (*asked)[1].Params)
	}
	for e, err := range newEngine(t, troupe.Config{Store: store}).Events(t.Context(), session, 0) {
		if warned, ok := e.Body.(*troupe.Warned); err != nil || ok && warned.Code == "definition_changed" {
			t.Errorf("%+v, %v", e.Body, err)
		}
	}
}

func TestAResumedAskThatNeverFitsFails(t *testing.T) {
	store, agent, session, _ := brokenAsk(t, "prose")
	_, err := troupe.Collect(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), agent, session))
	if misfit, ok := errors.AsType[*troupe.OutputError](err); !ok || misfit.Text != "prose" {
		t.Errorf("got %v", err)
	}
}

// Ask with a session and nothing else goes on with the session's run.
func TestAskWithASessionAloneResumes(t *testing.T) {
	store, agent, session, asked := brokenAsk(t, `{"n":4}`)
	engine := newEngine(t, troupe.Config{Store: store})
	got, outcome, err := troupe.Ask[verdict](t.Context(), engine, agent, troupe.Input{Session: session})
	if err != nil || got.N != 4 || outcome.Session != session || len(*asked) != 2 {
		t.Errorf("got %+v, %+v, %v after %d calls", got, outcome, err, len(*asked))
	}
	if _, _, err := troupe.Ask[verdict](t.Context(), engine, agent, troupe.Input{Session: session}); !errors.Is(err, troupe.ErrNothingToResume) {
		t.Errorf("got %v", err)
	}
}

// What was asked for as one type is never taken for another.
func TestAnAskThatIsResumedAsAnotherTypeFails(t *testing.T) {
	type other struct {
		Name string `json:"name"`
	}
	store, agent, session, _ := brokenAsk(t, `{"n":4}`)
	got, outcome, err := troupe.Ask[other](t.Context(), newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Session: session})
	if _, ok := errors.AsType[*troupe.OutputError](err); !ok || !strings.Contains(err.Error(), "/name: required") || string(outcome.Handoff.Value) != `{"n":4}` {
		t.Errorf("got %+v, %+v, %v", got, outcome, err)
	}
	var warned []string
	for e, err := range newEngine(t, troupe.Config{Store: store}).Events(t.Context(), session, 0) {
		if w, ok := e.Body.(*troupe.Warned); err == nil && ok {
			warned = append(warned, w.Message)
		}
	}
	if len(warned) != 1 || warned[0] != "the output of agent clerk has changed since the run began" {
		t.Errorf("warned of %q", warned)
	}
}

// An approval goes on with the run that asked for it, and with its output.
func TestAnAskThatWaitsKeepsItsOutput(t *testing.T) {
	guarded := approve.Policy{{Tool: "add", Do: approve.Ask}}.Tools(adder())
	n := 0
	agent := newAgent(t, modelFunc(func(*troupe.Request) turn {
		if n++; n == 1 {
			return turn{calls: []troupe.ToolCall{call("1", "add", `{"a":1,"b":2}`)}}
		}
		return turn{text: []string{"three", `{"n":3}`}[min(n-2, 1)]}
	}), guarded...)
	engine := newEngine(t, troupe.Config{})
	_, outcome, err := troupe.Ask[verdict](t.Context(), engine, agent, troupe.Input{Text: "go"})
	if _, ok := errors.AsType[*troupe.OutputError](err); !ok || outcome.Stop != "input_requested" {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	outcome, err = troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Session: outcome.Session, Answer: &troupe.Answer{Approved: true}}))
	if err != nil || string(outcome.Handoff.Value) != `{"n":3}` {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

func TestAskForATypeWithoutASchemaIsAnError(t *testing.T) {
	_, _, err := troupe.Ask[chan int](t.Context(), newEngine(t, troupe.Config{}), newAgent(t, inTurn(t)), troupe.Input{Text: "go"})
	if err == nil || !strings.HasPrefix(err.Error(), "ask: chan int: chan int has no form in JSON") {
		t.Errorf("got %v", err)
	}
}

func TestAskWithoutAnAgentIsAnError(t *testing.T) {
	if _, _, err := troupe.Ask[verdict](t.Context(), newEngine(t, troupe.Config{}), nil, troupe.Input{Text: "go"}); err == nil {
		t.Error("no error")
	}
}

// The error of an answer that does not fit at a limit is for the caller: it names the
// limit and what is wrong, not what the model was told.
func TestAnAnswerThatDoesNotFitAtALimit(t *testing.T) {
	n := 0
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		if n++; req.Tools.Len() > 0 {
			return turn{calls: []troupe.ToolCall{call("1", "add", `{"a":1,"b":2}`)}}
		}
		return turn{text: `{"n":0}`}
	}), adder())
	_, _, err := troupe.Ask[verdict](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go", Limits: troupe.Limits{Turns: 1}})
	misfit, ok := errors.AsType[*troupe.OutputError](err)
	if !ok || misfit.Problem != "a limit (turns) was reached before there was an answer that fits: /n: expected at least 1, got number 0" {
		t.Errorf("got %v", err)
	}
}
