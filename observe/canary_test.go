package observe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
)

// knownCanaries are secrets that the handler is told of.
var knownCanaries = []string{
	"canary-one-plain", "canary two with blanks", `canary"three"\with\quotes`, "canary four\nof two\tlines",
	"canary-fünf-ünïcode-🐤", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", strings.Repeat("c4f3", 16),
	"Y2FuYXJ5+eight/base64==", strings.Repeat("canary-nine-long-", 12), "{canary: <ten> & 'more'}",
}

// shapedCanaries look like secrets, in what stands around them or in themselves.
var shapedCanaries = []struct{ before, secret, after string }{
	{"", "sk-canary0123456789abcdefgh", ""},
	{"", "ghp_canary0123456789abcdefghijklmnopqrst", ""},
	{"", "AKIACANARY0123456789", ""},
	{"", "xoxb-0123456789-canary", ""},
	{"", "eyJjYW5hcnkiOjE1fQ.eyJjYW5hcnkiOjE1fQ.canary15", ""},
	{"-----BEGIN PRIVATE KEY-----\n", "CANARY16MIIEvQIBADAN", "\n-----END PRIVATE KEY-----"},
	{"Authorization: Bearer ", "canary17", ""},
	{`{"api_key": "`, "canary 18 in JSON", `"}`},
	{"DB_PASSWORD=", "canary19", ""},
	{"https://ann:", "canary20", "@example.org/"},
}

// tainted are events of every kind, with the text wherever there is room for one
// that a person, a model, a tool or a file wrote.
func tainted(text string) []troupe.Body {
	quoted, _ := json.Marshal(map[string]string{"content": text})
	handoff := troupe.Handoff{Task: text, Summary: text, Outputs: map[string]any{"x": text}, Custom: map[string]any{"x": text}}
	message := &troupe.Message{Text: text, Thought: text, Calls: []troupe.ToolCall{{Name: text, Arguments: string(quoted)}}}
	return []troupe.Body{
		&troupe.RunStarted{Input: handoff},
		&troupe.ContextLoaded{Source: text, Content: text},
		&troupe.UserSaid{Text: text},
		&troupe.ModelReplied{Message: message, Model: "m"},
		&troupe.ModelReplied{Message: &troupe.Message{Text: text, Refusal: text}, Model: "m"},
		&troupe.ToolCalled{Tool: text, Arguments: troupe.Arguments(text)},
		&troupe.ToolCalled{Tool: "t", Arguments: troupe.Arguments(quoted), Changed: map[string][2]json.RawMessage{text: {quoted, quoted}}},
		&troupe.ToolReturned{Tool: text, Class: "not_found", Error: "no tool " + text, Content: text},
		&troupe.ToolReturned{Tool: "t", Class: "panicked", Error: text, Content: string(quoted), Stack: "goroutine 1:\n" + text},
		&troupe.HandedOff{From: "a", To: "b", Handoff: handoff},
		&troupe.InputRequested{Question: text, Tool: "t", Arguments: troupe.Arguments(quoted)},
		&troupe.ArtifactSaved{Path: text, Description: text},
		&troupe.ContextCompacted{Summary: text},
		&troupe.Warned{Code: "model_retry", Message: text},
		&troupe.RunFinished{Output: handoff},
		&troupe.RunFailed{Error: text, Task: text, Partial: text, Stack: text},
		&troupe.RunCancelled{Reason: text, Partial: text},
	}
}

func TestNoCanaryReachesAnyOutput(t *testing.T) {
	t.Attr("N", "N-15")
	path := filepath.Join(t.TempDir(), "troupe.log")
	file, err := observe.OpenFile(observe.FileOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	outs := map[string]*bytes.Buffer{}
	out := func(name string) *bytes.Buffer {
		outs[name] = &bytes.Buffer{}
		return outs[name]
	}
	debug := &slog.HandlerOptions{Level: slog.LevelDebug}
	metrics := observe.NewMetrics()
	store := observe.Watch(troupe.NewMemoryStore(), metrics,
		observe.Log(observe.Redact(slog.NewJSONHandler(out("brief JSON"), nil), knownCanaries...)),
		observe.Log(observe.Redact(slog.NewMultiHandler(
			slog.NewJSONHandler(out("JSON"), debug), slog.NewTextHandler(out("text"), debug), slog.NewJSONHandler(file, debug),
			observe.NewConsole(out("console"), observe.ConsoleOptions{Level: slog.LevelDebug, IDs: true}),
			observe.NewConsole(out("colours"), observe.ConsoleOptions{Level: slog.LevelDebug, Colour: true}),
		), knownCanaries...)))
	plant := func(session, text string) {
		if err := store.Append(t.Context(), session, eventsOf(session, "r", "mira", tainted(text)...)...); err != nil {
			t.Fatal(err)
		}
	}
	for i, canary := range knownCanaries {
		plant(fmt.Sprint("known", i), "before "+canary+" after")
		plant(fmt.Sprint("late", i), strings.Repeat("x ", 145)+canary) // where texts are cut
	}
	for i, c := range shapedCanaries {
		plant(fmt.Sprint("shaped", i), "before "+c.before+c.secret+c.after+" after")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out("file").Write(stored)
	if err := metrics.WritePrometheus(out("exposition")); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(out("summary")).Encode(metrics.Summary()); err != nil {
		t.Fatal(err)
	}
	for name, buffer := range outs {
		if text := buffer.String(); name != "summary" && name != "exposition" && !strings.Contains(text, "[redacted]") {
			t.Errorf("%s: nothing was redacted", name)
		}
		for _, canary := range knownCanaries {
			checkAbsent(t, name, buffer.String(), canary[:8]) // its beginning gives it away
		}
		for _, c := range shapedCanaries {
			checkAbsent(t, name, buffer.String(), c.secret)
		}
	}
}

// checkAbsent looks for a secret as it is and as outputs escape it.
func checkAbsent(t *testing.T, name, text, secret string) {
	t.Helper()
	form, escaped := secret, text
	for range 4 {
		if at := strings.Index(text, form); at >= 0 {
			t.Errorf("%s has %q: %.120s", name, secret, text[max(0, at-60):])
			return
		}
		data, _ := json.Marshal(form)
		form = string(data[1 : len(data)-1])
	}
	escaped = strings.NewReplacer(`\`, "", `u003c`, "<", `u003e`, ">", `u0026`, "&").Replace(escaped)
	if strings.Contains(escaped, strings.ReplaceAll(secret, `\`, "")) {
		t.Errorf("%s has %q, escaped", name, secret)
	}
}
