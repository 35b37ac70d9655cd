package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// A flow of your own, with the same means as the built-in ones: it asks three
// reviewers at the same time and counts their votes. It resumes like every step.
func ExampleNewStep() {
	reviewer := func(name, says string) *troupe.Agent {
		return orPanic(troupe.NewAgent(troupe.AgentConfig{ID: name, Model: troupetest.NewScript(nil, troupetest.Say(says))}))
	}
	reviewers := []troupe.Step{reviewer("ann", "yes"), reviewer("bob", "no"), reviewer("cid", "yes")}
	vote := troupe.NewStep("vote", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		votes := make([]string, len(reviewers))
		var branches []func(context.Context, *troupe.Run) error
		for i, reviewer := range reviewers {
			branches = append(branches, func(ctx context.Context, run *troupe.Run) error {
				out, err := run.Do(ctx, reviewer, in)
				votes[i] = out.Summary
				return err
			})
		}
		if err := errors.Join(run.All(ctx, 2, branches...)...); err != nil { // two at a time
			return troupe.Handoff{}, err
		}
		yes := strings.Count(strings.Join(votes, " "), "yes")
		return troupe.Handoff{Summary: fmt.Sprintf("%d of %d say yes", yes, len(votes))}, nil
	}, reviewers...)

	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	outcome := orPanic(troupe.Collect(engine.Run(context.Background(), vote, troupe.Input{Text: "Shall we ship?"})))
	fmt.Println(outcome.Text, outcome.Spent.Turns)
	// Output: 2 of 3 say yes 3
}

// A step may call tools itself, without a model, and note what it found. Both are on
// record.
func ExampleRun_Call() {
	type city struct {
		Name string `json:"name"`
	}
	weather := troupe.NewTool("weather", "Says what the weather is like.", func(_ context.Context, c city) (string, error) {
		return "rain in " + c.Name, nil
	}, troupe.ReadOnly())
	report := troupe.NewStep("report", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		result, err := run.Call(ctx, weather, city{in.Task})
		if err != nil {
			return troupe.Handoff{}, err
		}
		return troupe.Handoff{Summary: result.Content}, run.Note(ctx, "looked_up", in.Task)
	})
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	for event, err := range engine.Run(context.Background(), report, troupe.Input{Text: "Oslo"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Kind())
	}
	// Output:
	// run_started
	// user_said
	// tool_called
	// tool_returned
	// noted
	// run_finished
}

// A tracer stands for a tracing library: Parent reads the caller's span from the context.
type tracer struct{}

type spanKey struct{}

func (tracer) Parent(ctx context.Context) string {
	span, _ := ctx.Value(spanKey{}).(string)
	return span
}

func (tracer) Within(ctx context.Context, parent, session, run, step string) context.Context {
	return context.WithValue(ctx, spanKey{}, parent+"/"+step)
}

// Tracing: the caller's span is the parent of the run, and a span that is opened in a
// tool hangs below that tool's call. With OpenTelemetry, package observe/otel does it.
func ExampleTracing() {
	look := troupe.NewTool("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
		return "the current span is " + tracer{}.Parent(ctx), nil
	})
	engine := orPanic(troupe.New(troupe.Config{Tracing: tracer{}}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "scout", Tools: []troupe.Tool{look}, Model: troupetest.NewScript(nil, troupetest.Call("look", `{}`), troupetest.Say("Seen.")),
	}))
	ctx := context.WithValue(context.Background(), spanKey{}, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	for event, err := range engine.Run(ctx, agent, troupe.Input{Text: "Look."}) {
		if err != nil {
			log.Fatal(err)
		}
		switch body := event.Body.(type) {
		case *troupe.RunStarted:
			fmt.Println(body.Trace)
		case *troupe.ToolReturned:
			fmt.Println(body.Content)
		}
	}
	// Output:
	// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
	// the current span is 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01/3/0
}

// A parrot is a model of one's own.
type parrot struct{}

func (parrot) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if !yield(troupe.Chunk{Text: req.Messages[len(req.Messages)-1].Text}, nil) {
			return
		}
		yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop, Model: "parrot"}}, nil)
	}
}

// A model of your own is one method. Check it with troupetest.TestModel.
func ExampleModel() {
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "polly", Model: parrot{}}))
	outcome := orPanic(troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "Hello!"})))
	fmt.Println(outcome.Text)
	// Output: Hello!
}
