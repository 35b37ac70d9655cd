package troupe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
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
	// It has finished: whoever was killed before they heard of it hears of it now.
	got, outcome, err = troupe.Ask[verdict](t.Context(), engine, agent, troupe.Input{Session: session})
	if err != nil || got.N != 4 || outcome.Stop != "answered" || outcome.Spent.Turns != 1 || len(*asked) != 2 {
		t.Errorf("got %+v, %+v, %v after %d calls", got, outcome, err, len(*asked))
	}
	if known, err := engine.Outcome(t.Context(), session); err != nil || string(known.Handoff.Value) != `{"n":4}` || known.Run != outcome.Run {
		t.Errorf("its outcome is %+v, %v", known, err)
	}
	plain, err := troupe.Collect(engine.Run(t.Context(), newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "words"} })), troupe.Input{Text: "go"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := troupe.Ask[verdict](t.Context(), engine, agent, troupe.Input{Session: plain.Session}); err == nil || !strings.Contains(err.Error(), "was not asked for a value") {
		t.Errorf("of a run without a value: %v", err)
	}
}

func TestAnOutcomeIsThatOfARunThatHasEnded(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	if _, err := engine.Outcome(t.Context(), "00000000-0000-4000-8000-000000000000"); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("of no session: %v", err)
	}
	handle, err := engine.Start(t.Context(), newAgent(t, hang{}), troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for range handle.Events(t.Context()) {
		break
	}
	if _, err := engine.Outcome(t.Context(), handle.Session); !errors.Is(err, troupe.ErrBusy) {
		t.Errorf("of a run under way: %v", err)
	}
	if err := engine.Cancel(t.Context(), handle.Session); err != nil {
		t.Fatal(err)
	}
	if outcome, err := engine.Outcome(t.Context(), handle.Session); !errors.Is(err, troupe.ErrCancelled) || outcome.Run != handle.Run {
		t.Errorf("of a run that was cancelled: %+v, %v", outcome, err)
	}
}

// A run that failed because no answer fitted is resumed to get past that: the model is asked
// again, and what it says then is on record as everything is.
func TestAnAskThatNeverFittedIsAskedAgain(t *testing.T) {
	for _, nested := range []bool{false, true} {
		answers := []string{"prose"}
		asked := 0
		typed := agentWith(t, troupe.AgentConfig{ID: "typed", Output: troupe.OutputOf[verdict](), Model: modelFunc(func(*troupe.Request) turn {
			asked++
			return turn{text: answers[min(asked, len(answers))-1]}
		})})
		step := troupe.Step(typed)
		if nested {
			step = flow.Sequence("relay", typed)
		}
		store := troupe.NewMemoryStore()
		outcome, err := troupe.Collect(newEngine(t, troupe.Config{Store: store}).Run(t.Context(), step, troupe.Input{Text: "go"}))
		if err == nil || asked != 3 {
			t.Fatalf("after %d calls: %v", asked, err)
		}
		if _, err = troupe.Collect(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, outcome.Session)); err == nil || asked != 6 {
			t.Fatalf("resumed, after %d calls: %v", asked, err)
		}
		answers = []string{"prose", "prose", "prose", "prose", "prose", "prose", "prose", `{"n":4}`}
		outcome, err = troupe.Collect(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, outcome.Session))
		if err != nil || string(outcome.Handoff.Value) != `{"n":4}` || asked != 8 || outcome.Spent.Turns != 8 {
			t.Errorf("well again, after %d calls: %+v, %v", asked, outcome, err)
		}
	}
}

// Whatever the reason: an agent that is to return a value and has none has failed, and the
// flow around it does not go on with words in its place. To say nothing is corrected.
func TestAValueThatIsNotThereIsAFailure(t *testing.T) {
	for name, test := range map[string]struct {
		reply turn
		asked int
		stop  string
	}{
		"empty":    {turn{}, 3, "empty"},
		"refused":  {turn{refuse: "I can't."}, 1, "refused"},
		"withheld": {turn{text: "half", finish: troupe.FinishFiltered}, 1, "content_filter"},
	} {
		t.Run(name, func(t *testing.T) {
			asked, further := 0, 0
			typed := agentWith(t, troupe.AgentConfig{ID: "typed", Output: troupe.OutputOf[verdict](), Model: modelFunc(func(*troupe.Request) turn {
				asked++
				return test.reply
			})})
			second := agentWith(t, troupe.AgentConfig{ID: "second", Model: modelFunc(func(*troupe.Request) turn {
				further++
				return turn{text: "fine"}
			})})
			_, err := troupe.Collect(newEngine(t, troupe.Config{}).Run(t.Context(), flow.Sequence("relay", typed, second), troupe.Input{Text: "go"}))
			misfit, ok := errors.AsType[*troupe.OutputError](err)
			if !ok || misfit.Stop != test.stop || asked != test.asked || further != 0 {
				t.Errorf("%v after %d calls, and %d of the next agent", err, asked, further)
			}
		})
	}
	replies := []turn{{}, {text: `{"n":4}`}}
	got, _, err := troupe.Ask[verdict](t.Context(), newEngine(t, troupe.Config{}), newAgent(t, inTurn(t, replies...)), troupe.Input{Text: "go"})
	if err != nil || got.N != 4 {
		t.Errorf("after an empty answer: %+v, %v", got, err)
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
