package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/mcp"
)

// rogueConfig is for a server named rogue in the given mode. Without the rest of its
// environment it would take a second to exit with the race detector, and complain
// when coverage is measured.
func rogueConfig(t *testing.T, mode string) mcp.Config {
	t.Helper()
	dir := t.TempDir()
	return mcp.Config{
		Name: "rogue", Command: os.Args[0], Env: map[string]string{"ROGUE": mode, "GORACE": "atexit_sleep_ms=0", "GOCOVERDIR": dir},
		Pins: filepath.Join(dir, "pins.json"),
	}
}

// open connects to a server that is closed with the test.
func open(t *testing.T, c mcp.Config) *mcp.Server {
	t.Helper()
	s, err := mcp.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// find returns one of the tools that a server offers.
func find(t *testing.T, s *mcp.Server, name string) troupe.Tool {
	t.Helper()
	for _, tool := range s.Tools() {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s is offered", name)
	return nil
}

type arguments = map[string]any

// use calls one of the tools that a server offers.
func use(t *testing.T, s *mcp.Server, name string, with arguments) (string, error) {
	t.Helper()
	return call(t, find(t, s, name), with)
}

func call(t *testing.T, tool troupe.Tool, with arguments) (string, error) {
	t.Helper()
	if with == nil {
		with = arguments{}
	}
	data, err := json.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := tool.Call(ctx, &troupe.Invocation{ID: "1", Arguments: data})
	return result.Content, err
}

// wantClass fails unless err is a tool's failure of the class that says text.
func wantClass(t *testing.T, err error, class string, text string) {
	t.Helper()
	failure, ok := errors.AsType[*troupe.ToolError](err)
	if !ok || failure.Class != class || !strings.Contains(failure.Error(), text) {
		t.Errorf("the error is %v, not %s: … %s …", err, class, text)
	}
}

func names(s *mcp.Server) (list []string) {
	for _, tool := range s.Tools() {
		list = append(list, tool.Spec().Name)
	}
	return list
}

func withheld(s *mcp.Server) map[string]mcp.Withheld {
	found := make(map[string]mcp.Withheld)
	for _, w := range s.Withheld() {
		found[w.Tool] = w
	}
	return found
}

// A record is a log that tests can wait on.
type record struct {
	slog.Handler
	lines chan string
}

func newRecord() (*slog.Logger, *record) {
	r := &record{lines: make(chan string, 10_000)}
	return slog.New(r), r
}

func (r *record) Enabled(context.Context, slog.Level) bool { return true }
func (r *record) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *record) Handle(_ context.Context, entry slog.Record) error {
	line := entry.Message
	entry.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	r.lines <- line
	return nil
}

// wait returns the next line that has the text.
func (r *record) wait(t *testing.T, text string) string {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case line := <-r.lines:
			if strings.Contains(line, text) {
				return line
			}
		case <-patience:
			t.Fatalf("nothing was logged that says %q", text)
		}
	}
}
