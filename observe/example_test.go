package observe_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/troupetest"
)

// Warnings go to the terminal and everything to a file, without secrets.
func Example() {
	file, err := observe.OpenFile(observe.FileOptions{Path: "logs/troupe.log", MaxSize: 10, MaxCount: 5, Compress: true})
	if err != nil {
		slog.Error("no log", "err", err)
		return
	}
	defer file.Close()
	lines := slog.NewMultiHandler(
		observe.NewConsole(os.Stderr, observe.ConsoleOptions{Level: slog.LevelWarn, Colour: true}),
		slog.NewJSONHandler(file, nil))
	metrics := observe.NewMetrics()
	store := observe.Watch(troupe.NewMemoryStore(),
		observe.Log(observe.Redact(lines, os.Getenv("OPENAI_API_KEY"))), metrics)
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		slog.Error("no engine", "err", err)
		return
	}
	defer engine.Close()
}

// Metrics of everything that was stored, and a sink of your own beside them.
func ExampleWatch() {
	metrics := observe.NewMetrics()
	store := observe.Watch(troupe.NewMemoryStore(), metrics, printer{})
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "clerk", Model: troupetest.NewScript(nil, troupetest.Call("unknown", `{}`), troupetest.Say("I cannot.")),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "Do it."})); err != nil {
		log.Fatal(err)
	}
	summary := metrics.Summary()
	fmt.Println(summary.Runs.Success, "run,", summary.Agents["clerk"].ToolErrors, "tool error")
	// Output:
	// WARN tool_returned
	// 1 run, 1 tool error
}

// A printer is a sink that prints what is worth a look.
type printer struct{}

func (printer) Note(e *troupe.Event) {
	if level := observe.Level(e); level >= slog.LevelWarn {
		fmt.Println(level, e.Kind())
	}
}
