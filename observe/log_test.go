package observe_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
)

func TestEveryToolCallIsLoggedWithWhatWentInAndOut(t *testing.T) {
	t.Attr("FR", "FR-025 FR-029")
	records, events := play(t, slog.LevelInfo)
	called := of(of(records, "kind", "tool_called"), "tool", "read_file")
	returned := of(of(records, "kind", "tool_returned"), "tool", "read_file")
	if len(called) != 1 || len(returned) != 1 {
		t.Fatalf("%d calls and %d returns of read_file", len(called), len(returned))
	}
	c, r := called[0], returned[0]
	if c["msg"] != "tool called" || c["agent"] != "mira" || c["args"] != `{"file_path":"brief.md"}` || c["attempt"] != 1. {
		t.Errorf("called: %v", c)
	}
	if r["level"] != "INFO" || r["result"] != "the brief" || r["dur"].(float64) <= 0 || r["err"] != nil {
		t.Errorf("returned: %v", r)
	}
	at, err := time.Parse(time.RFC3339Nano, c["time"].(string))
	if e := events[int(c["seq"].(float64))-1]; err != nil || !at.Equal(e.Time) || c["session"] != e.Session || c["run"] != e.Run || c["step"] != e.Step {
		t.Errorf("called: %v, not as the event %+v", c, e)
	}
}

func TestThoughtsAndDecisionsAreLogged(t *testing.T) {
	t.Attr("FR", "FR-026 FR-027")
	records, _ := play(t, slog.LevelInfo)
	replies := of(records, "kind", "model_replied")
	if first := replies[0]; first["thought"] != "A brief comes first." || first["decision"] != "read_file: Reading the brief." {
		t.Errorf("the first reply: %v", first)
	}
	if replies[3]["decision"] != "crash, made_up" || replies[4]["text"] != "All done." || replies[4]["decision"] != nil {
		t.Errorf("the last replies: %v, %v", replies[3], replies[4])
	}
	if first := replies[0]; first["tokens_in"] != 100. || first["tokens_out"] != 20. || first["cost"].(float64) <= 0 {
		t.Errorf("what the first reply took: %v", first)
	}
}

func TestARetryIsLoggedWithWhatChanged(t *testing.T) {
	t.Attr("FR", "FR-037a")
	records, _ := play(t, slog.LevelInfo)
	calls := of(of(records, "kind", "tool_called"), "tool", "flaky")
	if changed, _ := calls[1]["changed"].(map[string]any); calls[1]["attempt"] != 2. || changed["file_path"] != `"a" → "b"` {
		t.Errorf("the retry: %v", calls[1])
	}
}

func TestStartsEndsAndErrorsOfRunsAreLogged(t *testing.T) {
	t.Attr("FR", "FR-028 FR-029")
	records, _ := play(t, slog.LevelInfo)
	if started := of(records, "kind", "run_started"); len(started) != 2 || started[0]["task"] != "Sum up the brief." {
		t.Errorf("starts: %v", started)
	}
	if f := of(records, "kind", "run_finished"); len(f) != 1 || f[0]["stop"] != "answered" || f[0]["result"] != "All done." || f[0]["turns"] != 5. {
		t.Errorf("finishes: %v", f)
	}
	if failed := of(records, "level", "ERROR"); len(failed) != 1 || failed[0]["kind"] != "run_failed" {
		t.Errorf("errors: %v", failed)
	}
	if failures := of(of(records, "kind", "tool_returned"), "level", "WARN"); len(failures) != 3 {
		t.Errorf("failures of tools: %v", failures)
	}
}

func TestHandoffsAndNestedRunsAreTold(t *testing.T) {
	t.Attr("FR", "FR-028")
	var out bytes.Buffer
	sink := observe.Log(slog.NewJSONHandler(&out, nil))
	sink.Note(&troupe.Event{Seq: 1, Run: "r:1", Parent: "r", Body: &troupe.HandedOff{From: "mira", To: "noor", Handoff: troupe.Handoff{Task: "review"}}})
	if r := lines(t, &out)[0]; r["from"] != "mira" || r["to"] != "noor" || r["task"] != "review" || r["parent"] != "r" {
		t.Errorf("handoff: %v", r)
	}
}

func TestWhatAPersonHasEditedIsLogged(t *testing.T) {
	var out bytes.Buffer
	sink := observe.Log(slog.NewJSONHandler(&out, nil))
	was, now := troupe.Handoff{Task: "dull"}, troupe.Handoff{Task: "bold"}
	sink.Note(&troupe.Event{Seq: 1, Run: "r", Body: &troupe.SessionForked{From: "s", After: 3, Run: "r:1", Agent: "noor", Was: &was, Input: &now, User: "ann"}})
	sink.Note(&troupe.Event{Seq: 2, Run: "r:1", Parent: "r", Agent: "noor", Body: &troupe.RunStarted{Input: now, Edited: true, EditedBy: "ann"}})
	sink.Note(&troupe.Event{Seq: 3, Run: "r", Body: &troupe.SessionForked{From: "s", After: 3, Run: "r:1", Agent: "noor"}})
	records := lines(t, &out)
	if r := records[0]; r["from"] != "s" || r["step"] != "noor" || r["edited"] != true || r["edited_by"] != "ann" || r["was"] != "dull" || r["input"] != "bold" {
		t.Errorf("fork: %v", r)
	}
	if r := records[1]; r["edited"] != true || r["edited_by"] != "ann" || r["task"] != "bold" {
		t.Errorf("run: %v", r)
	}
	if r := records[2]; r["edited"] != nil || r["step"] != "noor" {
		t.Errorf("nothing was edited: %v", r)
	}
}

func TestErrorsAreLoggedWithTaskStateAndStack(t *testing.T) {
	t.Attr("FR", "FR-030")
	records, _ := play(t, slog.LevelInfo)
	failed := of(records, "kind", "run_failed")[0]
	state, _ := failed["state"].(map[string]any)
	if failed["agent"] != "mira" || failed["task"] != "Once more." || state["turns"] == nil || !strings.Contains(failed["err"].(string), "the key is not valid") {
		t.Errorf("run failed: %v", failed)
	}
	crash := of(of(records, "kind", "tool_returned"), "tool", "crash")[0]
	if crash["class"] != "panicked" || !strings.Contains(fmt.Sprint(crash["stack"]), "goroutine ") {
		t.Errorf("crash: %v", crash)
	}
	var out bytes.Buffer
	sink := observe.Log(slog.NewJSONHandler(&out, nil))
	sink.Note(&troupe.Event{Seq: 1, Body: &troupe.RunFailed{Error: "a step crashed", Task: "go", Stack: "goroutine 7"}})
	if got := lines(t, &out)[0]; got["stack"] != "goroutine 7" || got["err"] != "a step crashed" {
		t.Errorf("a step that crashed: %v", got)
	}
}

func TestLevelsChooseWhatIsLogged(t *testing.T) {
	t.Attr("FR", "FR-031")
	seen := map[slog.Level]int{}
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		records, events := play(t, level)
		want := 0
		for i := range events {
			if observe.Level(&events[i]) >= level {
				want++
			}
		}
		if len(records) != want {
			t.Errorf("%s: %d records, want %d", level, len(records), want)
		}
		seen[level] = len(records)
	}
	if !(seen[slog.LevelDebug] > seen[slog.LevelInfo] && seen[slog.LevelInfo] > seen[slog.LevelWarn] && seen[slog.LevelWarn] > seen[slog.LevelError] && seen[slog.LevelError] == 1) {
		t.Errorf("records by level: %v", seen)
	}
}

func TestLongTextsAreCutUnlessDebugging(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelInfo: 300, slog.LevelDebug: 16384} {
		var out bytes.Buffer
		sink := observe.Log(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))
		sink.Note(&troupe.Event{Seq: 1, Body: &troupe.ToolReturned{Content: strings.Repeat("ä", 20_000)}})
		if got := lines(t, &out)[0]["result"]; got != strings.Repeat("ä", want)+"…" {
			t.Errorf("%s: %d bytes", level, len(got.(string)))
		}
	}
}

// A tally is a handler that somebody else might have written.
type tally struct {
	slog.Handler
	messages []string
}

func (h *tally) Handle(_ context.Context, r slog.Record) error {
	h.messages = append(h.messages, r.Message)
	return nil
}

func TestAnyHandlerCanTakeTheLog(t *testing.T) {
	t.Attr("FR", "FR-029a FR-029b")
	var out bytes.Buffer
	mine := &tally{Handler: slog.NewTextHandler(nil, &slog.HandlerOptions{Level: slog.LevelDebug})}
	sink := observe.Log(slog.NewMultiHandler(mine, slog.NewTextHandler(&out, nil)))
	sink.Note(&troupe.Event{Seq: 1, Time: noon, Agent: "mira", Body: &troupe.InputRequested{Question: "Why?"}})
	sink.Note(&troupe.Event{Body: &troupe.TextDelta{Text: "shown, not stored"}})
	if len(mine.messages) != 1 || mine.messages[0] != "input requested" {
		t.Errorf("the handler got %q", mine.messages)
	}
	if want := "time=2026-05-04T12:00:00.000Z level=INFO msg=\"input requested\" agent=mira kind=input_requested text=Why? seq=1\n"; out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}
