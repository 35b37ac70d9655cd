package replay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/replay"
	"github.com/troupe-dev/troupe/troupetest"
)

// Record once with a real model (a script stands for it here), then test without one.
func Example() {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "answers.jsonl")
	say := func(model troupe.Model, text string) (string, error) {
		agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "guide", Model: model})
		if err != nil {
			return "", err
		}
		engine, err := troupe.New(troupe.Config{})
		if err != nil {
			return "", err
		}
		defer engine.Close()
		outcome, err := troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: text}))
		return outcome.Text, err
	}
	recorder, err := replay.Record(troupetest.NewScript(nil, troupetest.Say("Oslo.")), path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(say(recorder, "The capital of Norway?"))
	if err := recorder.Close(); err != nil {
		log.Fatal(err)
	}

	player, err := replay.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(say(player, "The capital of Norway?"))
	_, err = say(player, "The capital of Sweden?")
	fmt.Println("what was not recorded fails:", err != nil)
	// Output:
	// Oslo. <nil>
	// Oslo. <nil>
	// what was not recorded fails: true
}
