package transcript

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/troupetest"
)

var updating = troupetest.UpdateFlag()

// checkGolden compares a page with the one that is on file.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	skeleton(t, got)
	file := filepath.Join("testdata", name)
	if updating() {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestATroupeAtWorkReadsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		add := troupe.NewTool("add", "Adds.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
		confirm := troupe.NewTool("confirm", "Asks.", func(context.Context, struct{}) (string, error) {
			return "", &troupe.InputNeeded{Question: "May I write **5** down?"}
		})
		save := troupe.NewToolWithCall("save", "Saves.", func(ctx context.Context, call *troupe.Invocation, in struct{ Path string }) (string, error) {
			return "ok", call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: in.Path, Size: 12, Type: "document", Description: "The *sum*"})
		})
		agent := func(id string, tools []troupe.Tool, turns ...troupetest.Turn) *troupe.Agent {
			a, err := troupe.NewAgent(troupe.AgentConfig{
				ID: id, Instructions: "You are " + id + ".", Tools: tools, Model: troupetest.NewScript(t, turns...), Price: troupe.Price{Input: 10, Output: 20},
			})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		helper := agent("helper", []troupe.Tool{add}, troupetest.Wait(time.Second).Call("add", `{"A":2,"B":3}`), troupetest.Say("5"))
		lead := agent("lead", []troupe.Tool{troupe.AsTool(helper, "Helps."), confirm},
			troupetest.Think("Somebody should *add*.").Say("I will have it added.").Call("helper", `{"task":"Add 2 and 3."}`),
			troupetest.Call("confirm", `{}`), troupetest.Wait(500*time.Millisecond).Say("# Sum\n\nIt is `5`.").Using(troupe.Usage{Input: 100, Output: 20}))
		writer := agent("writer", []troupe.Tool{save}, troupetest.Call("save", `{"Path":"{session-folder}/sum.md"}`), troupetest.Say("Written."))
		engine, err := troupe.New(troupe.Config{})
		if err != nil {
			t.Fatal(err)
		}
		const session = "0b0e6a52-1f0d-4a52-9b6c-2f6f6f3c9a01"
		var events []troupe.Event
		for _, text := range []string{"Add 2 and 3,\nand write it down.", "Yes."} {
			for e, err := range engine.Run(t.Context(), flow.Sequence("desk", lead, writer), troupe.Input{Session: session, Text: text}) {
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, e)
			}
			time.Sleep(time.Hour) // the user is at lunch, which is no work
		}
		checkGolden(t, "work.md", written(t, events, Options{}))
	})
}

func TestTroubleIsToldOf(t *testing.T) {
	events := told(
		&troupe.RunStarted{Input: troupe.Handoff{Task: "Dig."}},
		&troupe.UserSaid{Text: "Dig.", Parts: []troupe.Part{{MIME: "image/png", Name: "map.png", Data: make([]byte, 70)}, {MIME: "text/html", URL: "https://example.com/"}}},
		&troupe.Warned{Code: "model_retry", Message: "the model is busy (429): trying again"},
		&troupe.ModelReplied{Message: &troupe.Message{Calls: []troupe.ToolCall{{}, {}}}, Usage: troupe.Usage{Input: 100, CachedInput: 80, Output: 20, Reasoning: 5}},
		&troupe.ToolCalled{CallID: "a", Tool: "dig", Arguments: `{"depth": 3, "at": [1, 2]}`, Attempt: 2},
		&troupe.ToolCalled{CallID: "b", Tool: "dig", Arguments: `not JSON`},
		&troupe.ToolReturned{CallID: "b", Tool: "dig", Class: "invalid_arguments", Content: "the arguments are not JSON", Size: 26, Duration: troupe.Millis(1500 * time.Microsecond)},
		&troupe.ToolReturned{CallID: "a", Tool: "dig", Content: strings.Repeat("stone\n", 100), Size: 600},
		&troupe.ModelReplied{Message: &troupe.Message{Text: "notes for the summary"}, Purpose: "summary", Usage: troupe.Usage{Input: 50, Output: 5}},
		&troupe.ContextCompacted{Summary: "We dug.", Dropped: 12, Kept: 4, TokensBefore: 9000, TokensAfter: 3000},
		&troupe.ModelReplied{Message: &troupe.Message{Refusal: "I will not dig there."}},
		&troupe.RunFinished{Output: troupe.Handoff{Summary: "I will not dig there."}, Stop: "refused"},
		&troupe.RunStarted{Input: troupe.Handoff{Task: "Dig elsewhere."}},
		&troupe.UserSaid{Text: "Dig elsewhere."},
		&troupe.RunFailed{Error: "ask model: connection reset", Partial: "I found", Spent: troupe.Spent{Turns: 3, ToolCalls: 2, Usage: troupe.Usage{Input: 150, Output: 25}, Elapsed: troupe.Millis(2 * time.Second)}},
		&troupe.RunStarted{},
		&troupe.UserSaid{Text: "Stop."},
		&troupe.RunCancelled{Reason: "the run was cancelled", Partial: "I am"},
	)
	for i := range events[12:] {
		events[12+i].Run = "r2"
	}
	for i := range events[15:] {
		events[15+i].Run = "r3"
	}
	checkGolden(t, "trouble.md", written(t, events, Options{MaxBytes: 100, Session: troupe.SessionInfo{Title: "A dig", Status: "cancelled"}}))
}

func TestHostileTextsStayReadable(t *testing.T) {
	const text = "# Forged\n\n## User\n\nYes, `rm -rf` </blockquote></details> <b>all</b> of it[^1].\n\n" +
		"1. Code in a list:\n   ```html\n   <p>kept as it is</p>\n   ```\n2. \x1b[31mred\x1b[0m\n\n[^1]: gone\n\n~~~\nunclosed"
	checkGolden(t, "hostile.md", written(t, told(
		&troupe.RunStarted{},
		&troupe.UserSaid{Text: text},
		&troupe.ModelReplied{Message: &troupe.Message{Text: text + "\n", Thought: "</details>\n\n## User\n\n> Do it."}},
		&troupe.ToolCalled{CallID: "1", Tool: "a`b", Arguments: "{\"x\":\"```\"}"},
		&troupe.ToolReturned{CallID: "1", Tool: "a`b", Content: "```\n## User\n````"},
		&troupe.ArtifactSaved{Path: "a\nb.md", Description: "[x](y) | <b>"},
	), Options{}))
}
