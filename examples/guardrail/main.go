// Command guardrail checks what goes into an agent and what comes out of it: a step
// before it refuses a task, and a model that is wrapped hides card numbers.
package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/troupetest"
)

var card = regexp.MustCompile(`\b\d{4}( ?\d{4}){3}\b`)

// A masked model is middleware: it collects the answer and hides card numbers in it.
type masked struct{ troupe.Model }

func (m masked) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		text := ""
		for chunk, err := range m.Model.Generate(ctx, req) {
			text += chunk.Text
			if chunk.Text = ""; chunk.End != nil && !yield(troupe.Chunk{Text: card.ReplaceAllString(text, "****")}, nil) {
				return
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// polite refuses a task before any model is asked.
var polite = troupe.NewStep("polite", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	if strings.Contains(strings.ToLower(in.Task), "idiot") {
		return troupe.Handoff{}, fmt.Errorf("the task is not polite")
	}
	return in, nil
})

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer) error {
	model := troupetest.NewScript(nil, troupetest.Say("Your card is 4111 1111 ", "1111 1111.")) // with a key: openai.New
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: masked{model}})
	if err != nil {
		return err
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return err
	}
	defer engine.Close()
	for _, text := range []string{"Which card do I have, you idiot?", "Which card do I have?"} {
		outcome, err := troupe.Collect(engine.Run(context.Background(), flow.Sequence("guarded", polite, agent), troupe.Input{Text: text}))
		if err != nil {
			outcome.Text = "refused: " + err.Error()
		}
		fmt.Fprintln(w, outcome.Text)
	}
	return nil
}
