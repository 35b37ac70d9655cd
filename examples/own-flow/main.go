// Command own-flow is a flow that Troupe does not have: a tournament. It is written with
// the same means as the built-in flows, and resumes from its log as they do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/troupetest"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func agent(id string, turns ...troupetest.Turn) *troupe.Agent {
	a, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Model: troupetest.NewScript(nil, turns...)}) // with a key: openai.New
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// A Verdict is what the judge returns.
type Verdict struct {
	Winner int `json:"winner" jsonschema:"the number of the better answer" minimum:"0" maximum:"1"`
}

// tournament has two players answer at the same time, and a judge choose.
// It touches the world only through its run: that is what lets it resume.
func tournament(judge *troupe.Agent, players [2]troupe.Step) troupe.Step {
	return troupe.NewStep("tournament", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		answers := make([]troupe.Handoff, len(players))
		branches := make([]func(context.Context, *troupe.Run) error, len(players))
		for i, player := range players {
			branches[i] = func(ctx context.Context, run *troupe.Run) (err error) {
				answers[i], err = run.Do(ctx, player, in)
				return err
			}
		}
		if err := errors.Join(run.All(ctx, 0, branches...)...); err != nil {
			return troupe.Handoff{}, err
		}
		verdict, err := run.Do(ctx, judge, troupe.Handoff{Task: "Which answer is better: 0 or 1?", Outputs: map[string]any{"0": answers[0].Summary, "1": answers[1].Summary}})
		if err != nil {
			return troupe.Handoff{}, err
		}
		choice, err := flow.Output[Verdict](verdict, judge.Name())
		if err != nil {
			return troupe.Handoff{}, err
		}
		return answers[choice.Winner], run.Note(ctx, "winner", players[choice.Winner].Name())
	}, append(players[:], judge)...)
}

func run(w io.Writer) error {
	judge, err := agent("judge", troupetest.Say(`{"winner":1}`)).WithOutput(troupe.OutputOf[Verdict]())
	if err != nil {
		return err
	}
	step := tournament(judge, [2]troupe.Step{agent("ann", troupetest.Say("Use a hash.")), agent("bob", troupetest.Say("Sort it first."))})
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return err
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(context.Background(), step, troupe.Input{Text: "How do I find duplicates?"}))
	fmt.Fprintln(w, outcome.Text)
	return err
}
