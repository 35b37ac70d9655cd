package troupetest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// at makes an event of a run at a step.
func at(run, step string, body troupe.Body) troupe.Event {
	e := troupe.Event{Run: run, Step: step, Agent: "alex", Body: body}
	if i := strings.LastIndex(run, ":"); i >= 0 {
		e.Parent = run[:i]
	}
	return e
}

func TestFormatShowsWhatMatters(t *testing.T) {
	long := strings.Repeat("x", 1000)
	tests := []struct {
		body troupe.Body
		want string
	}{
		{&troupe.RunStarted{Input: troupe.Handoff{Task: "go\non"}}, `run_started alex "go\non"`},
		{&troupe.ContextLoaded{Source: "a.md", Role: troupe.RoleUser, SHA256: "1", Content: "hi"}, `context_loaded user from a.md "hi"`},
		{&troupe.ContextLoaded{Source: "b.md", Role: troupe.RoleUser, SHA256: "1"}, `context_loaded user from b.md "hi"`},
		{&troupe.UserSaid{Text: "雪", Parts: []troupe.Part{{MIME: "image/png"}}}, `user_said "雪" image/png`},
		{&troupe.TextDelta{Text: "part"}, ""},
		{&troupe.ThoughtDelta{Text: "part"}, ""},
		{&troupe.ModelReplied{Finish: "stop", Attempt: 2, Purpose: "summary", Usage: troupe.Usage{Input: 3, Output: 4}, Message: &troupe.Message{
			Text: "so", Thought: "hm", Refusal: "no", Calls: []troupe.ToolCall{{ID: "c7", Name: "f", Arguments: "{}"}, {Name: "g"}},
		}}, `model_replied stop summary thought "hm" refused "no" "so" f({}) g() input=3 output=4 attempt=2`},
		{&troupe.ToolCalled{CallID: "c7", Tool: "f", Arguments: `{"id":"123e4567-e89b-42d3-a456-426614174000"}`, Attempt: 1}, `tool_called f {"id":"<uuid>"}`},
		{&troupe.ToolCalled{Tool: "f", Arguments: "{}", Attempt: 3}, "tool_called f {} attempt=3"},
		{&troupe.ToolReturned{CallID: "c7", Tool: "f", Content: "at 2024-02-29T12:30:00.5+01:00", Duration: 5}, `tool_returned f "at <time>"`},
		{&troupe.ToolReturned{Tool: "f", Class: "timeout", Content: long}, `tool_returned f timeout "` + long[:400] + `"…(1000 bytes)…"` + long[:400] + `"`},
		{&troupe.HandedOff{From: "a", To: "b", Handoff: troupe.Handoff{Task: "t", Summary: "s"}}, `handed_off a to b "t" "s"`},
		{&troupe.InputRequested{Question: "which?", Tool: "ask"}, `input_requested ask "which?"`},
		{&troupe.ArtifactSaved{Path: "out.md", Size: 12}, "artifact_saved out.md bytes=12"},
		{&troupe.ContextCompacted{Summary: "s", Dropped: 3, Kept: 2, TokensBefore: 9}, `context_compacted dropped=3 kept=2 "s"`},
		{&troupe.Warned{Code: "model_retry", Message: "again in 1m2.5s, not 300ms"}, `warned model_retry "again in <duration>, not <duration>"`},
		{&troupe.RunFinished{Stop: "turns", Output: troupe.Handoff{Summary: "done"}, Spent: troupe.Spent{Turns: 2, ToolCalls: 1, Elapsed: 7}}, `run_finished turns "done" turns=2 calls=1`},
		{&troupe.RunFailed{Error: "no", Partial: "so f"}, `run_failed "no" partial "so f"`},
		{&troupe.RunCancelled{Reason: "stop"}, `run_cancelled "stop"`},
	}
	var events []troupe.Event
	var want string
	for _, test := range tests {
		events = append(events, at("r", "1", test.body))
		if test.want != "" {
			want += test.want + "\n"
		}
	}
	if got := troupetest.Format(events); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFormatOrdersConcurrentBranches(t *testing.T) {
	say := func(run, step, text string) troupe.Event { return at(run, step, &troupe.Warned{Code: text}) }
	inOrder := []troupe.Event{
		say("r", "0", "start"), say("r", "1", "reply"),
		say("r", "2/0", "call-0"), say("r", "2/0", "result-0"),
		say("r", "2/1", "call-1"),
		say("r:2/1/1", "0", "child-start"), say("r:2/1/1", "1/0", "child-call-0"), say("r:2/1/1", "1/1", "child-call-1"), say("r:2/1/1", "2", "child-end"),
		say("r", "2/1", "result-1"),
		say("r", "2/10", "call-10"),
		say("r", "2", "failed"),
		say("r", "0", "resumed"), say("r", "2/10", "result-10"), say("r", "3", "end"), say("r", "0", "left-running"),
		say("q", "0", "next-run"), say("q", "1/1", "x"), say("q", "2", "y"),
	}
	want := troupetest.Format(inOrder)
	if got := strings.Fields(strings.ReplaceAll(want, "warned", "")); len(got) != 2*len(inOrder) || got[0] != "start" || got[2*5] != "child-start" || got[2*11] != "failed" {
		t.Fatalf("events in order are changed:\n%s", want)
	}
	// Everything within the call of both tools may come in any order that keeps each branch's.
	mixed := slices.Clone(inOrder)
	for i, from := range []int{4, 2, 10, 5, 7, 6, 3, 8, 9} {
		mixed[2+i] = inOrder[from]
	}
	if got := troupetest.Format(mixed); got != want {
		t.Errorf("mixed branches give\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(want, "\n  warned child-start") {
		t.Errorf("a nested run is not indented:\n%s", want)
	}
}
