package troupe_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// Structured output: a Go value in place of text. The type's tags describe it to the
// model, the answer is checked, and a model that gets it wrong is asked to correct it.
func ExampleAsk() {
	type Invoice struct {
		Number   string  `json:"number" jsonschema:"as printed"`
		Total    float64 `json:"total" minimum:"0"`
		Currency string  `json:"currency" enum:"EUR,USD,GBP"`
	}
	model := troupetest.NewScript(nil,
		troupetest.Say(`{"number":"2026-17","total":"119 euros","currency":"EUR"}`),
		troupetest.Say(`{"number":"2026-17","total":119,"currency":"EUR"}`))
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "reader", Instructions: "You read invoices.", Model: model}))

	invoice, outcome, err := troupe.Ask[Invoice](context.Background(), engine, agent, troupe.Input{Text: "Invoice 2026-17: 119 EUR"})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+v after %d turns\n", invoice, outcome.Spent.Turns)
	// Output: {Number:2026-17 Total:119 Currency:EUR} after 2 turns
}

// A model that never gets it right is an error with the text in it, never an answer.
func ExampleOutputError() {
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "judge", Model: troupetest.NewScript(nil, troupetest.Say("It depends.").Forever())}))

	_, _, err := troupe.Ask[struct {
		Guilty bool `json:"guilty"`
	}](context.Background(), engine, agent, troupe.Input{Text: "Guilty?"})
	if misfit, ok := errors.AsType[*troupe.OutputError](err); ok {
		fmt.Println(misfit.Agent, "said:", misfit.Text)
	}
	// Output: judge said: It depends.
}

// An agent whose every final answer is bound to a type, wherever it runs: alone, in a
// flow, or as a tool of another agent.
func ExampleOutputOf() {
	type Verdict struct {
		Good   bool   `json:"good"`
		Reason string `json:"reason"`
	}
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "critic", Output: troupe.OutputOf[Verdict](),
		Model: troupetest.NewScript(nil, troupetest.Say("```json\n{\"good\": true, \"reason\": \"short\"}\n```")),
	}))
	outcome := orPanic(troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "Judge: a haiku."})))
	fmt.Println(string(outcome.Handoff.Value))
	// Output: {"good":true,"reason":"short"}
}
