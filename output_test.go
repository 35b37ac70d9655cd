package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

type invoice struct {
	Number   string   `json:"number" jsonschema:"as printed"`
	Total    float64  `json:"total" minimum:"0"`
	Currency string   `json:"currency" enum:"EUR,USD"`
	Lines    []line   `json:"lines,omitempty" maxItems:"3"`
	Tags     []string `json:"tags,omitempty" enum:"paid,open"`
	Due      *string  `json:"due,omitempty" format:"date"`
}

type line struct {
	Text string `json:"text" minLength:"1"`
}

func (grade) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","pattern":"^[A-F]$"}`)
}

type grade string

// Models write 3.0 where a 3 is asked for, and JSON Schema has nothing against it. What does
// not fit a Go type is told in words that a model can act on.
func TestWholeNumbersAreIntegersForToolsAndAnswers(t *testing.T) {
	type order struct {
		Count int   `json:"count"`
		Small int8  `json:"small,omitempty"`
		Sizes []int `json:"sizes,omitempty"`
	}
	answers := []string{`{"count":99999999999999999999,"small":3}`, `{"count":3.0,"sizes":[1e1,2.0]}`}
	var told string
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		told = req.Messages[len(req.Messages)-1].Text
		next := answers[0]
		answers = answers[1:]
		return turn{text: next}
	}))
	got, outcome, err := troupe.Ask[order](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "How many?"})
	if err != nil || got.Count != 3 || !slices.Equal(got.Sizes, []int{10, 2}) || string(outcome.Handoff.Value) != `{"count":3,"sizes":[10,2]}` {
		t.Errorf("%+v, %s, %v", got, outcome.Handoff.Value, err)
	}
	if !strings.Contains(told, "/count: expected a whole number from -9223372036854775808 to") || strings.Contains(told, "Go ") {
		t.Errorf("the model was told %q", told)
	}
	var taken []order
	tool := troupe.NewTool("order", "Orders.", func(_ context.Context, in order) (string, error) {
		taken = append(taken, in)
		return "ok", nil
	})
	model := inTurn(t, turn{calls: []troupe.ToolCall{call("c1", "order", `{"count":3.0}`), call("c2", "order", `{"count":99999999999999999999}`)}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "go")
	if len(taken) != 1 || taken[0].Count != 3 {
		t.Errorf("the tool was given %+v", taken)
	}
	if said := bodies[*troupe.ToolReturned](events)[1].Error; !strings.Contains(said, "/count: expected a whole number from -9223372036854775808 to") {
		t.Errorf("the model was told %q", said)
	}
}

// G1: a Go value back, asked for by schema, checked, corrected, typed.
func TestAskReturnsAGoValue(t *testing.T) {
	var requests []*troupe.Request
	answers := []string{
		"The invoice is number 7 over 12.50 euros.",     // prose
		`{"number":"7","total":-12.5,"currency":"EUR"}`, // out of range
		"Here it is:\n```json\n{\"number\":\"7\",\"total\":12.5,\"currency\":\"EUR\",\"lines\":[{\"text\":\"tea\"}]}\n```",
	}
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		requests = append(requests, req)
		return turn{text: answers[len(requests)-1]}
	}))
	got, outcome, err := troupe.Ask[invoice](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "Read this."})
	if err != nil || got.Number != "7" || got.Total != 12.5 || len(got.Lines) != 1 || got.Lines[0].Text != "tea" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if outcome.Stop != "answered" || !json.Valid(outcome.Handoff.Value) || outcome.Spent.Turns != 3 {
		t.Errorf("the outcome is %+v", outcome)
	}
	if schema := string(requests[0].Params.Schema); !strings.Contains(schema, `"enum":["EUR","USD"]`) || !strings.Contains(schema, `"minimum":0`) || requests[0].Params.SchemaName != "invoice" {
		t.Errorf("the provider was asked for %s", schema)
	}
	if system := requests[0].Messages[0].Text; !strings.Contains(system, "You are a clerk.") || !strings.Contains(system, `"currency"`) {
		t.Errorf("the model was told %q", system)
	}
	// A correction is asked for in the same conversation, with the answer and what is wrong.
	last := requests[2].Messages
	if n := len(last); n != 6 || last[3].Role != troupe.RoleUser || !strings.Contains(last[5].Text, "/total") || last[4].Text != answers[1] || last[1].Text != "Read this." {
		t.Errorf("the last request had %d messages: %+v", n, last[n-1])
	}
}

func TestWhatIsNotAnObjectCanBeAskedForToo(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	names, _, err := troupe.Ask[[]string](t.Context(), engine, newAgent(t, inTurn(t, turn{text: `{"answer":["ann","bob"]}`})), troupe.Input{Text: "Who?"})
	if err != nil || !slices.Equal(names, []string{"ann", "bob"}) {
		t.Errorf("got %v, %v", names, err)
	}
	mark, _, err := troupe.Ask[grade](t.Context(), engine, newAgent(t, inTurn(t, turn{text: `{"answer":"Z"}`}, turn{text: `{"answer":"B"}`})), troupe.Input{Text: "How good?"})
	if err != nil || mark != "B" {
		t.Errorf("got %v, %v", mark, err)
	}
}

// M19: an answer that never fits is an error of its own type with the text in it.
func TestAnAnswerThatNeverFitsIsAnError(t *testing.T) {
	for _, c := range []struct {
		corrections, asked int
	}{{0, 3}, {1, 2}, {-1, 1}} {
		asked := 0
		output := troupe.OutputOf[invoice]()
		output.Corrections = c.corrections
		agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Output: output, Model: modelFunc(func(*troupe.Request) turn {
			asked++
			return turn{text: "I would rather write prose."}
		})})
		store := troupe.NewMemoryStore()
		events, end, err := play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Text: "go"})
		misfit, ok := errors.AsType[*troupe.OutputError](err)
		if !ok || misfit.Agent != "clerk" || misfit.Text != "I would rather write prose." || end != nil {
			t.Fatalf("got %v", err)
		}
		if last := collect(t, store, events[0].Session); last[len(last)-1].Kind() != "run_failed" || asked != c.asked {
			t.Errorf("asked %d times, want %d; it ended with %s", asked, c.asked, last[len(last)-1].Kind())
		}
	}
}

// M17: half an answer is none, whatever it looks like.
func TestACutAnswerNeverFits(t *testing.T) {
	whole := `{"number":"7","total":1,"currency":"EUR"}`
	agent := newAgent(t, inTurn(t,
		turn{text: whole[:30], finish: troupe.FinishLength},
		turn{text: whole, finish: troupe.FinishLength},
		turn{text: whole}))
	got, outcome, err := troupe.Ask[invoice](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go"})
	if err != nil || got.Number != "7" || outcome.Spent.Turns != 3 {
		t.Errorf("got %+v after %d turns, %v", got, outcome.Spent.Turns, err)
	}
}

func TestAnAnswerThatWasCutOffGoesOn(t *testing.T) {
	var told []string
	model := modelFunc(func(req *troupe.Request) turn {
		told = append(told, req.Messages[len(req.Messages)-1].Text)
		if len(told) == 1 {
			return turn{text: "One, two, ", finish: troupe.FinishLength}
		}
		return turn{text: "three."}
	})
	_, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model), "Count.")
	if end.Output.Summary != "One, two, three." || end.Stop != "answered" || !strings.Contains(told[1], "cut off") {
		t.Errorf("got %+v; it was told %q", end.Output, told)
	}
}

// Asked for the rest, many models send the whole answer once more.
func TestAnAnswerThatWasCutOffMayBeginAnew(t *testing.T) {
	const whole = `{"status": "success", "phase": "planning", "errors": []}`
	turns := []turn{{text: whole[:40], finish: troupe.FinishLength}, {text: "\n" + whole[:50], finish: troupe.FinishLength}, {text: "\n" + whole}}
	_, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, inTurn(t, turns...)), "Plan.")
	if strings.TrimSpace(end.Output.Summary) != whole || end.Stop != "answered" {
		t.Errorf("got %+v", end.Output)
	}
}

func TestATypeWithoutASchemaIsAMistakeInTheProgram(t *testing.T) {
	for says, ask := range map[string]func(){
		"chan int": func() { troupe.OutputOf[chan int]() },
		`field N: tag`: func() {
			troupe.OutputOf[struct {
				N int `minimum:"few"`
			}]()
		},
		`enum:"a,b"`: func() {
			troupe.OutputOf[struct {
				N bool `enum:"a,b"`
			}]()
		},
		`maxItems:"2": it is for`: func() {
			troupe.OutputOf[struct {
				N string `maxItems:"2"`
			}]()
		},
		"does not return a schema": func() { troupe.OutputOf[struct{ X badSchema }]() },
		"troupe.NewTool: tool t: input": func() {
			troupe.NewTool("t", "", func(context.Context, struct {
				N int `enum:"x"`
			}) (string, error) {
				return "", nil
			})
		},
	} {
		t.Run(says, func(t *testing.T) {
			defer func() {
				if value, ok := recover().(string); !ok || !strings.Contains(value, says) {
					t.Errorf("got %v, want %q", value, says)
				}
			}()
			ask()
			t.Error("it did not panic")
		})
	}
}

type badSchema struct{}

func (badSchema) JSONSchema() json.RawMessage { return json.RawMessage(`[1`) }

func TestAnOutputThatIsNoSchemaIsRefused(t *testing.T) {
	for says, output := range map[string]*troupe.Output{
		"not a JSON object": {Schema: json.RawMessage(`7`)},
		"its name":          {Schema: json.RawMessage(`{"type":"object"}`), Name: "an answer"},
		"schema: ":          {Schema: json.RawMessage(`{"type":"objekt"}`)},
	} {
		_, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: inTurn(t), Output: output})
		if err == nil || !strings.Contains(err.Error(), "agent clerk") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", says, err)
		}
	}
}
