package troupe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/troupe-dev/troupe"
)

type ctx = context.Context

func everyBody() []troupe.Body {
	use := troupe.Usage{Input: 7, CachedInput: 3, Output: 2, Reasoning: 1}
	spent := troupe.Spent{Turns: 2, ToolCalls: 1, Usage: use, Cost: 0.25, Elapsed: troupe.Millis(1500 * time.Microsecond)}
	hand := troupe.Handoff{Task: "t", Summary: "s", Outputs: map[string]any{"k": "v"}, Custom: map[string]any{"n": 1.5},
		Meta:  troupe.HandoffMeta{Source: "a", Time: time.Unix(1, 0).UTC(), Status: "partial", Stop: "turns", ToolsUsed: []string{"x"}},
		Parts: []troupe.Part{{MIME: "image/png", Name: "p", Data: []byte{1, 2}}}}
	return []troupe.Body{
		&troupe.RunStarted{Input: hand, Depth: 2, Limits: troupe.Limits{Turns: 3, Time: time.Second}},
		&troupe.ContextLoaded{Source: "instructions", Role: troupe.RoleSystem, SHA256: "00", Size: 3, Content: "a<b", Following: 2},
		&troupe.UserSaid{Text: "hi\u2028 <b>&</b>", Parts: []troupe.Part{{MIME: "text/plain", URL: "u"}}},
		&troupe.TextDelta{Text: "x", Attempt: 1},
		&troupe.ThoughtDelta{Text: "y", Attempt: 2},
		&troupe.ModelReplied{Message: &troupe.Message{Role: troupe.RoleAssistant, Text: "t", Thought: "th", Refusal: "r", Calls: []troupe.ToolCall{{ID: "1", Name: "n", Arguments: `{"a": 1`}},
			ThoughtField: "reasoning", Opaque: json.RawMessage(`{"a":1}`), Pinned: true}, Finish: troupe.FinishCalls, Usage: use, Cost: 0.5, Latency: troupe.Millis(time.Second), FirstToken: troupe.Millis(time.Millisecond),
			Model: "m", Attempt: 3, Purpose: "summary", Context: troupe.ContextUse{System: 1, Tools: 2, History: 3, Window: 4}},
		&troupe.ToolCalled{CallID: "1", Tool: "n", Arguments: `{"a":[1,"<"]}`, Attempt: 2, Changed: map[string][2]json.RawMessage{"a": {json.RawMessage("1"), json.RawMessage("[1]")}}},
		&troupe.ToolCalled{CallID: "1", Tool: "n", Arguments: `{"a": [1,`, Attempt: 1},
		&troupe.ToolReturned{CallID: "1", Tool: "n", Content: "c", Class: "timeout", Error: "e", Size: 1, Duration: troupe.Millis(2 * time.Millisecond), Asks: "q", Stack: "s"},
		&troupe.HandedOff{From: "a", To: "b", Handoff: hand},
		&troupe.InputRequested{Question: "q", CallID: "1", Tool: "n", Arguments: `{"a":1}`},
		&troupe.ArtifactSaved{Path: "p", Size: 3, SHA256: "00", Type: "document", Description: "d"},
		&troupe.ContextCompacted{Summary: "s", Dropped: 3, Kept: 2, ResultCap: 100, TokensBefore: 9, TokensAfter: 4},
		&troupe.Warned{Code: "c", Message: "m", Told: true},
		&troupe.SessionRenamed{Title: "t"},
		&troupe.RunFinished{Output: hand, Stop: "answered", Spent: spent},
		&troupe.RunFailed{Error: "e", Task: "t", Reason: "key", Spent: spent, SpentBelow: spent, Partial: "p", Stack: "s"},
		&troupe.RunCancelled{Reason: "r", Partial: "p"},
	}
}

var sameEvent = cmp.Options{cmpopts.IgnoreUnexported(troupe.Message{})}

func TestEveryEventReadsBackAsItWasWritten(t *testing.T) {
	for _, body := range everyBody() {
		e := troupe.Event{Seq: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Session: "s", Run: "r:1", Parent: "r", Step: "3/1", Agent: "alex", Body: body}
		data, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back troupe.Event
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(e, back, sameEvent); diff != "" {
			t.Errorf("%s: %s", body.Kind(), diff)
		}
	}
}

func TestTheShapeOfAnEvent(t *testing.T) {
	e := troupe.Event{Seq: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Session: "s", Run: "r", Step: "3/1", Agent: "alex",
		Body: &troupe.ToolCalled{CallID: "c", Tool: "add", Arguments: `{"a":1}`, Attempt: 1}}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seq":7,"time":"2026-01-02T03:04:05Z","session":"s","run":"r","step":"3/1","agent":"alex","kind":"tool_called","body":{"call_id":"c","tool":"add","arguments":{"a":1},"attempt":1}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func TestAnEventThatIsNotOurs(t *testing.T) {
	for text, says := range map[string]string{
		`{"seq":1,"kind":"teleported","body":{}}`:     `unknown kind "teleported"`,
		`{"seq":2,"kind":"model_replied","body":{}}`:  "no message",
		`{"seq":3,"kind":"user_said","body":"words"}`: "user_said",
		`{"seq":`: "unexpected end",
	} {
		var e troupe.Event
		if err := json.Unmarshal([]byte(text), &e); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What is shown of an event when it is stored is what its log shows later.
func TestMillisReadAsTheyWereWritten(t *testing.T) {
	for n := range 100_000 {
		m := troupe.Millis(time.Duration(n) * time.Microsecond)
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var again troupe.Millis
		if err := json.Unmarshal(data, &again); err != nil || again != m {
			t.Fatalf("%s reads as %v, %v; want %v", data, again, err, m)
		}
	}
}

// Whatever reads as an event reads the same after it was written again.
func FuzzEvent(f *testing.F) {
	for i, body := range everyBody() {
		data, err := json.Marshal(troupe.Event{Seq: int64(i), Body: body})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again troupe.Event
		if json.Unmarshal(data, &e) != nil {
			return
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Skip("a value that JSON cannot hold, such as a year of five digits")
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		twice, err := json.Marshal(again)
		if err != nil || string(twice) != string(written) {
			t.Fatalf("%s\n%s\n%v", written, twice, err)
		}
	})
}

// An event is written field by field, and comes out as encoding/json would have it.
func TestAnEventIsWrittenAsItsFieldsAre(t *testing.T) {
	type envelope struct {
		Seq     int64       `json:"seq"`
		Time    time.Time   `json:"time"`
		Session string      `json:"session"`
		Run     string      `json:"run"`
		Parent  string      `json:"parent,omitempty"`
		Step    string      `json:"step"`
		Agent   string      `json:"agent,omitempty"`
		Kind    string      `json:"kind"`
		Body    troupe.Body `json:"body"`
	}
	at := time.Date(2026, 2, 3, 4, 5, 6, 7000, time.FixedZone("", 3600))
	for _, agent := range []string{"", "ann", `a"b\c`, "Zoë\u2028\x00\x7f\xff<b>&"} {
		for _, parent := range []string{"", "1:2"} {
			for _, seq := range []int64{0, -1, 1 << 40} {
				e := troupe.Event{Seq: seq, Time: at, Session: agent, Run: "r", Parent: parent, Step: "1/" + agent, Agent: agent, Body: &troupe.TextDelta{Text: agent, Attempt: 2}}
				got, err := e.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				var want bytes.Buffer
				encoder := json.NewEncoder(&want)
				encoder.SetEscapeHTML(false)
				if err := encoder.Encode(envelope{seq, at, agent, "r", parent, "1/" + agent, agent, "text_delta", e.Body}); err != nil {
					t.Fatal(err)
				}
				if string(got)+"\n" != want.String() {
					t.Errorf("written is\n%s\nnot\n%s", got, &want)
				}
			}
		}
	}
	for _, e := range []troupe.Event{{Seq: 7}, {Seq: 7, Time: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC), Body: &troupe.TextDelta{}}} {
		if _, err := e.MarshalJSON(); err == nil || !strings.Contains(err.Error(), "event 7") {
			t.Errorf("%v", err)
		}
	}
}
