package replay

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/troupe-dev/troupe"
)

func FuzzRead(f *testing.F) {
	hi := message{Role: troupe.RoleUser, Text: "hi"}
	line, err := json.Marshal(exchange{
		Key: "k", Messages: []string{digest(encode(hi))}, New: []message{hi},
		Chunks: []chunk{{Text: "x"}, {End: &end{Finish: troupe.FinishStop}}}, Error: &failure{Status: 500, Cause: "incomplete", End: &end{Usage: troupe.Usage{Input: 7}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(line, '\n'))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := read(data)
		if err != nil {
			return
		}
		if lines := bytes.Count(data, []byte("\n")); len(r.exchanges) != lines {
			t.Errorf("%d exchanges were read from %d lines", len(r.exchanges), lines)
		}
		req, err := normalised(&troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hi"}, {Role: troupe.RoleUser, Text: "ho"}}})
		if err != nil {
			t.Fatal(err)
		}
		if r.explain(req) == "" {
			t.Error("there is no explanation")
		}
		for _, e := range r.exchanges {
			for i := range e.Chunks {
				e.Chunks[i].chunk()
			}
			if e.Error != nil && e.Error.error() == nil {
				t.Errorf("line %d: the error is lost", e.line)
			}
		}
	})
}

// FuzzMessages checks that what is written of any message is found again.
func FuzzMessages(f *testing.F) {
	f.Add("text", "id", `{"a":1}`, []byte{1})
	f.Add("\xff <&> 2024-02-29T12:00:00Z", "", "\xfe", []byte(nil))
	f.Fuzz(func(t *testing.T, text, id, arguments string, data []byte) {
		req, err := normalised(&troupe.Request{Messages: []*troupe.Message{
			{Role: troupe.RoleUser, Text: text, Parts: []troupe.Part{{MIME: text, Data: data}}},
			{Role: troupe.RoleAssistant, Thought: text, Refusal: text, Calls: []troupe.ToolCall{{ID: id, Name: text, Arguments: arguments}}},
			{Role: troupe.RoleTool, CallID: id, Text: text},
		}})
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(exchange{Key: req.key, Messages: req.digests, New: req.messages, Chunks: []chunk{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(append(line, '\n')); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	})
}

func TestIDsAndTimesDoNotCount(t *testing.T) {
	key := func(id, uuid, time string) string {
		req, err := normalised(&troupe.Request{Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "session " + uuid},
			{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{ID: id + "1", Name: "f", Arguments: `{"at":"` + time + `"}`}, {ID: id + "2", Name: "f", Arguments: "{}"}}},
			{Role: troupe.RoleTool, CallID: id + "1", Text: time},
			{Role: troupe.RoleTool, CallID: id + "2", Text: uuid},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return req.key
	}
	one := key("a", "123e4567-e89b-42d3-a456-426614174000", "2024-02-29T12:30:00Z")
	if two := key("b", "00000000-0000-4000-8000-00000000000A", "1999-12-31t23:59:59.123456789+05:30"); two != one {
		t.Error("ids and times make another key")
	}
	if two := key("a", "123e4567-e89b-42d3-a456-42661417400", "2024-02-29T12:30:00Z"); two == one {
		t.Error("what only looks like an id does not count")
	}
}

func TestResultsCountInTheirOrder(t *testing.T) {
	key := func(first, second string) string {
		req, err := normalised(&troupe.Request{Messages: []*troupe.Message{
			{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{ID: "x", Name: "f"}, {ID: "y", Name: "f"}}},
			{Role: troupe.RoleTool, CallID: first, Text: "same"}, {Role: troupe.RoleTool, CallID: second, Text: "same"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return req.key
	}
	if key("x", "y") == key("y", "x") {
		t.Error("it does not matter which call a result is for")
	}
}
