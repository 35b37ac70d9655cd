package observe_test

import (
	"log/slog"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
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
