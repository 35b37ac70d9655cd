package transcript

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told makes events of bodies, a second apart, all of one run.
func told(bodies ...troupe.Body) []troupe.Event {
	events := make([]troupe.Event, len(bodies))
	for i, b := range bodies {
		events[i] = troupe.Event{
			Seq: int64(i + 1), Time: time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC), Session: "s1", Run: "r1", Agent: "ada", Body: b,
		}
	}
	return events
}

func all(events []troupe.Event) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func written(t testing.TB, events []troupe.Event, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, all(events), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// ours is what this package writes outside of quotes and fences.
var ours = regexp.MustCompile(`^(#{1,2} .+|- .+|\*\*[A-Z][a-z]+( [a-z0-9]+)?\*\*.*|<details><summary>[A-Z][a-z]+</summary>|</details>|The first \d+ of \d+ bytes\.)$`)

// skeleton checks that everything is in its place, and returns the page without
// what other people, models and tools said.
func skeleton(t testing.TB, page string) string {
	t.Helper()
	if !utf8.ValidString(page) || strings.ContainsFunc(page, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }) {
		t.Errorf("control characters are left in %q", page)
	}
	var kept []string
	fence, inner, details := "", "", 0
	for n, line := range strings.Split(page, "\n") {
		quote, isQuote := strings.CutPrefix(line, ">")
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case isQuote:
			inner = checkQuoted(t, strings.TrimPrefix(quote, " "), inner)
			continue
		case inner != "":
			t.Errorf("line %d: a quote ends within %s", n+1, inner)
			inner = ""
		case line == "":
		case strings.HasPrefix(line, "```"):
			fence = strings.TrimSuffix(line, "json")
			kept = append(kept, "fence")
		case !ours.MatchString(line):
			t.Errorf("line %d is not ours: %q", n+1, line)
		default:
			if strings.HasPrefix(line, "<details>") {
				details++
			} else if line == "</details>" {
				details--
			}
			kept = append(kept, strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" >*", r) })[0])
		}
	}
	if fence != "" || inner != "" || details != 0 {
		t.Errorf("left open: %q, %q and %d details in\n%s", fence, inner, details, page)
	}
	return strings.Join(kept, " ")
}

// checkQuoted checks a line of a quote and returns the fence that is open after it.
func checkQuoted(t testing.TB, line, fence string) string {
	t.Helper()
	ticks := line[:len(line)-len(strings.TrimLeft(line, line[:min(1, len(line))]))]
	isFence := len(ticks) >= 3 && strings.Contains("`~", ticks[:1])
	switch {
	case fence != "" && isFence && strings.HasPrefix(ticks, fence) && ticks == line:
		return ""
	case fence == "" && isFence && (ticks[0] == '~' || !strings.Contains(line[len(ticks):], "`")):
		return ticks
	case fence == "" && regexp.MustCompile(`<[A-Za-z/!?]|\[\^`).MatchString(line):
		t.Errorf("HTML or a footnote is left in %q", line)
	}
	return fence
}

// everywhere has events of all kinds with text wherever they hold any.
func everywhere(text string) []troupe.Event {
	h := troupe.Handoff{Task: text, Summary: text}
	part := troupe.Part{MIME: text, Name: text, URL: text, Data: []byte(text)}
	bodies := []troupe.Body{
		&troupe.RunStarted{Input: h},
		&troupe.ContextLoaded{Source: text, Content: text},
		&troupe.UserSaid{Text: text, Parts: []troupe.Part{part}},
		&troupe.TextDelta{Text: text}, &troupe.ThoughtDelta{Text: text},
		&troupe.ModelReplied{Message: &troupe.Message{Text: text, Thought: text, Refusal: text}, Finish: troupe.Finish(text), Model: text},
		&troupe.ToolCalled{CallID: text, Tool: text, Arguments: troupe.Arguments(text)},
		&troupe.ToolReturned{CallID: text, Tool: text, Content: text, Class: string(text), Error: text, Asks: text, Decision: &troupe.Decision{Name: text, To: text, Text: text}},
		&troupe.HandedOff{From: text, To: text, Handoff: troupe.Handoff{Summary: text + "!"}},
		&troupe.InputRequested{Question: text, CallID: text, Tool: text, Arguments: troupe.Arguments(text)},
		&troupe.ArtifactSaved{Path: text, Type: text, Description: text},
		&troupe.ContextCompacted{Summary: text},
		&troupe.Warned{Code: text, Message: text},
		&troupe.RunFailed{Error: text, Task: text, Partial: text, Stack: text},
		&troupe.RunCancelled{Reason: text, Partial: text},
		&troupe.SessionForked{From: text, Run: text, Agent: text, Input: &h, Was: &h, User: text},
		&troupe.RunStarted{Input: h, Edited: true, EditedBy: text},
		&troupe.RunFinished{Output: h, Stop: string(text)},
	}
	events := told(bodies...)
	nested := told(bodies...)
	for i := range events {
		events[i].Session, events[i].Agent = text, text
		nested[i].Run, nested[i].Parent, nested[i].Agent = "r1:1", "r1", text
	}
	return append(events, nested...)
}

func ExampleWrite() {
	events := told(
		&troupe.RunStarted{Input: troupe.Handoff{Task: "What is 2+3?"}},
		&troupe.UserSaid{Text: "What is 2+3?"},
		&troupe.ModelReplied{Message: &troupe.Message{Text: "It is **5**."}, Usage: troupe.Usage{Input: 12, Output: 5}, Cost: 0.0001},
		&troupe.RunFinished{Output: troupe.Handoff{Summary: "It is **5**."}, Stop: "answered", Spent: troupe.Spent{Elapsed: troupe.Millis(3 * time.Second)}},
	)
	var page strings.Builder
	if err := Write(&page, all(events), Options{Session: troupe.SessionInfo{Status: "completed"}}); err != nil {
		fmt.Println(err)
	}
	fmt.Print(page.String())
	// Output:
	// # What is 2+3?
	//
	// - Session: `s1`
	// - Agent: `ada`
	// - Started: 2026-03-01 12:00:00 UTC
	// - Status: completed
	//
	// ## User
	//
	// > What is 2+3?
	//
	// ## `ada`
	//
	// > It is **5**.
	//
	// ## Totals
	//
	// - Status: completed
	// - Agents: `ada`
	// - Calls: 1 of models, 0 of tools
	// - Tokens: 12 in (0 cached), 5 out (0 reasoning)
	// - Cost: $0.0001
	// - Duration: 3s
}
