// Command structured-output has an agent read an invoice and gets a Go value back. The
// model is a script, which makes a mistake first, so that it runs without a key.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// An Item is a line of an invoice. Its tags say what values are possible.
type Item struct {
	Text     string  `json:"text"`
	Quantity int     `json:"quantity" minimum:"1"`
	Price    float64 `json:"price" jsonschema:"of one piece, in the invoice's currency"`
}

// An Invoice is what the agent returns.
type Invoice struct {
	Number   string `json:"number" jsonschema:"as printed, without the word invoice"`
	Currency string `json:"currency" enum:"EUR,USD,GBP"`
	Items    []Item `json:"items" minItems:"1"`
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer) error {
	model := troupetest.NewScript(nil, // with a key: openai.New
		troupetest.Say(`Sure! {"number":"2026-17","currency":"Euro","items":[{"text":"shelf","quantity":2,"price":49.5}]}`),
		troupetest.Say(`{"number":"2026-17","currency":"EUR","items":[{"text":"shelf","quantity":2,"price":49.5}]}`))
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "reader", Instructions: "You read invoices.", Model: model})
	if err != nil {
		return err
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return err
	}
	defer engine.Close()
	invoice, outcome, err := troupe.Ask[Invoice](context.Background(), engine, agent, troupe.Input{Text: "Invoice 2026-17: 2 shelves at 49.50 euros"})
	if err != nil {
		return err // *troupe.OutputError, if the model never gets it right
	}
	total := 0.0
	for _, item := range invoice.Items {
		total += float64(item.Quantity) * item.Price
	}
	fmt.Fprintf(w, "invoice %s: %.2f %s\n", invoice.Number, total, invoice.Currency)
	fmt.Fprintf(w, "the model was asked %d times, because its first answer did not fit\n", outcome.Spent.Turns)
	return nil
}
