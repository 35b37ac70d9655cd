// Command quickstart runs an agent with three tools and shows what happens. With
// OPENAI_API_KEY set it asks a model; without, it rehearses.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/model/rehearsal"
)

type pair struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type text struct {
	Text string `json:"text" jsonschema:"the text to look at"`
}

func main() {
	add := troupe.NewTool("add", "Adds two numbers.", func(_ context.Context, p pair) (float64, error) {
		return p.A + p.B, nil
	}, troupe.RepeatSafe())
	count := troupe.NewTool("count_words", "Counts the words of a text.", func(_ context.Context, t text) (int, error) {
		return len(strings.Fields(t.Text)), nil
	}, troupe.RepeatSafe())
	today := troupe.NewTool("today", "Says which day of the week it is.", func(context.Context, struct{}) (string, error) {
		return time.Now().Weekday().String(), nil
	}, troupe.RepeatSafe())

	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "clerk", Instructions: "You are a precise clerk. Use your tools and answer in one sentence.",
		Model: model(), Tools: []troupe.Tool{add, count, today},
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	task := "Please add 19.5 and 22.5."
	if len(os.Args) > 1 {
		task = strings.Join(os.Args[1:], " ")
	}
	fmt.Println("you:  ", task)
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: task}) {
		if err != nil {
			log.Fatal(err)
		}
		switch body := event.Body.(type) {
		case *troupe.ToolCalled:
			fmt.Printf("tool:  %s %s\n", body.Tool, body.Arguments)
		case *troupe.ToolReturned:
			fmt.Printf("       %s (%s)\n", body.Content, cmp.Or(string(body.Class), "ok"))
		case *troupe.RunFinished:
			fmt.Printf("clerk: %s\n", body.Output.Summary)
			fmt.Printf("       %s after %d turns, %d tokens\n", body.Stop, body.Spent.Turns, body.Spent.Usage.Total())
		}
	}
}

func model() troupe.Model {
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		return rehearsal.New()
	}
	m, err := openai.New(openai.Config{
		BaseURL: os.Getenv("OPENAI_BASE_URL"), Key: openai.Secret(key), Model: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini"),
	})
	if err != nil {
		log.Fatal(err)
	}
	return m
}
