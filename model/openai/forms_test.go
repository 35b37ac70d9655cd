package openai

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// sentTo returns the one request that a model at a base URL sends, and its headers.
func sentTo(t *testing.T, base, model string, req *troupe.Request) (map[string]any, http.Header) {
	t.Helper()
	return sentBy(t, Config{BaseURL: base, Model: model}, req)
}

func sentBy(t *testing.T, c Config, req *troupe.Request) (map[string]any, http.Header) {
	t.Helper()
	server := stream200(events(said(`"content":"a"`), because("stop")))
	c.Key, c.HTTPClient = "k", &http.Client{Transport: server}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := listen(t.Context(), m, req); got.Err != nil {
		t.Fatal(got.Err)
	}
	var sent map[string]any
	if err := json.Unmarshal([]byte(server.Sent()[0].Body), &sent); err != nil {
		t.Fatal(err)
	}
	return sent, server.Sent()[0].Header
}

// What each provider wants is asked of it in the form that it wants.
func TestRequestsHaveTheFormOfTheirProvider(t *testing.T) {
	seed, limit := int64(3), 9
	call := troupe.ToolCall{ID: "toolu_" + strings.Repeat("x", 60), Name: "f", Arguments: "{}"}
	opaque := []byte(`{"host":"api.deepseek.com"}`)
	req := &troupe.Request{
		Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: "be brief"}, {Role: troupe.RoleUser, Text: "hi"},
			{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{call}, Thought: "hm", ThoughtField: "reasoning_content", Opaque: opaque},
			{Role: troupe.RoleTool, CallID: call.ID, Text: "done"}},
		Tools: offering(t, "f"), Stable: 2, Session: "session-1",
		Params: &troupe.Params{Seed: &seed, MaxTokens: &limit, SchemaName: "a plan",
			Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)},
	}
	at := func(sent any, path ...any) any {
		for _, step := range path {
			switch step := step.(type) {
			case string:
				object, _ := sent.(map[string]any)
				sent = object[step]
			case int:
				list, _ := sent.([]any)
				if step >= len(list) {
					return nil
				}
				sent = list[step]
			}
		}
		return sent
	}
	schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []any{"n"}, "additionalProperties": false}
	mark := []any{map[string]any{"type": "text", "text": "hi", "cache_control": map[string]any{"type": "ephemeral"}}}
	for _, test := range []struct {
		base, model string
		want        map[string]any // by a path of words and numbers
	}{
		{"https://api.openai.com/v1", "gpt-5", map[string]any{"stream_options.include_usage": true, "max_completion_tokens": 9., "seed": 3., "prompt_cache_key": "session-1",
			"response_format.json_schema": map[string]any{"name": "a_plan", "strict": true, "schema": schema}, "messages.2.reasoning_content": nil}},
		{"https://api.mistral.ai/v1", "mistral-large", map[string]any{"stream_options": nil, "random_seed": 3., "seed": nil, "max_tokens": 9., "response_format.json_schema.strict": true, "prompt_cache_key": "session-1"}},
		{"https://api.groq.com/openai/v1", "llama", map[string]any{"response_format": nil, "seed": 3.}},
		{"https://api.deepseek.com", "deepseek-chat", map[string]any{"response_format.type": "json_object", "messages.2.reasoning_content": "hm", "messages.2.tool_calls.0.id": call.ID}},
		{"https://api.cohere.ai/compatibility/v1", "command", map[string]any{"stream_options": nil, "response_format.type": "json_object"}},
		{"https://api.perplexity.ai", "sonar", map[string]any{"tools": nil, "response_format.type": "json_schema"}},
		{"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", map[string]any{"prompt_cache_key": nil, "messages.1.content": mark, "messages.0.content.0.cache_control.type": "ephemeral"}},
		{"https://openrouter.ai/api/v1", "openai/gpt-4.1", map[string]any{"messages.1.content": "hi"}},
		{"https://api.fireworks.ai/inference/v1", "m", map[string]any{"response_format": nil, "prompt_cache_key": "session-1"}},
		{"http://localhost:11434/v1", "qwen3", map[string]any{"response_format.type": "json_schema", "response_format.json_schema.strict": nil, "messages.2.tool_calls.0.id": call.ID, "prompt_cache_key": nil}},
	} {
		sent, header := sentTo(t, test.base, test.model, req)
		for path, want := range test.want {
			var steps []any
			for word := range strings.SplitSeq(path, ".") {
				if n := strings.Index("0123456789", word); n >= 0 && len(word) == 1 {
					steps = append(steps, n)
				} else {
					steps = append(steps, word)
				}
			}
			if diff := cmp.Diff(want, at(sent, steps...)); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", test.base, path, diff)
			}
		}
		if asked, answered := at(sent, "messages", 2, "tool_calls", 0, "id"), at(sent, "messages", 3, "tool_call_id"); asked != answered {
			t.Errorf("%s: call %v is answered as %v", test.base, asked, answered)
		}
		if got := header.Get("X-Session-Id"); (got == "session-1") != strings.Contains(test.base, "openrouter") {
			t.Errorf("%s: X-Session-Id %q", test.base, got)
		}
	}
}

// A conversation that goes on at a provider without tools is told without them, in turns.
func TestAConversationWithToolsGoesOnWithoutThem(t *testing.T) {
	req := &troupe.Request{Tools: offering(t, "f"), Messages: []*troupe.Message{
		{Role: troupe.RoleSystem, Text: "be brief"}, {Role: troupe.RoleUser, Text: "hi"},
		{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{tool("a", "f", "{}")}}, {Role: troupe.RoleTool, CallID: "a", Tool: "f", Text: "rain"},
		{Role: troupe.RoleAssistant, Text: "It rains.", Calls: []troupe.ToolCall{tool("b", "f", "{}")}}, {Role: troupe.RoleTool, CallID: "b", Tool: "f", Text: "sun"},
		{Role: troupe.RoleUser, Text: "and now?"},
	}}
	sent, _ := sentTo(t, "https://api.perplexity.ai", "sonar", req)
	want := []any{
		map[string]any{"role": "system", "content": "be brief"},
		map[string]any{"role": "user", "content": "hi\n\nThe tool f returned:\nrain"},
		map[string]any{"role": "assistant", "content": "It rains."},
		map[string]any{"role": "user", "content": "The tool f returned:\nsun\n\nand now?"},
	}
	if diff := cmp.Diff(want, sent["messages"]); diff != "" || sent["tools"] != nil {
		t.Errorf("(-want +sent)\n%s", diff)
	}
	if req.Messages[1].Text != "hi" {
		t.Error("the request was changed")
	}
}

func TestForeignIDsGetTheFormThatIsInsistedOn(t *testing.T) {
	for _, test := range []struct {
		form provider.IDForm
		id   string
		kept bool
	}{
		{provider.AnyID, "functions.add:0", true}, {provider.ShortID, "call_" + strings.Repeat("a", 35), true}, {provider.ShortID, strings.Repeat("a", 41), false},
		{provider.NineID, "aB3456789", true}, {provider.NineID, "call_1", false}, {provider.NineID, "aB345678_", false}, {provider.NineID, "", false},
		{provider.StrictID, "toolu_01-x", true}, {provider.StrictID, "functions.add:0", false},
	} {
		got := callID(test.id, test.form)
		if (got == test.id) != test.kept || got != callID(test.id, test.form) {
			t.Errorf("%s %q became %q", test.form, test.id, got)
		}
		if test.form != provider.AnyID && callID(got, test.form) != got {
			t.Errorf("%s: %q does not have the form itself", test.form, got)
		}
	}
	seen := map[string]bool{}
	for i := range 1000 {
		seen[callID(strings.Repeat("x", i+10), provider.NineID)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d ids of 1000", len(seen))
	}
}

func TestEffortIsTheNearestThatIsTaken(t *testing.T) {
	for _, test := range []struct {
		wish  string
		taken []string
		want  string
	}{
		{"high", nil, "high"}, {"max", []string{"low", "medium", "high"}, "high"}, {"minimal", []string{"low", "high"}, "low"}, {"medium", []string{"low", "medium"}, "medium"},
		{"whatever", []string{"low"}, "whatever"}, {"none", []string{"minimal", "low"}, "minimal"},
	} {
		if got := wire.Effort(test.wish, test.taken); got != test.want {
			t.Errorf("%s of %v: %s", test.wish, test.taken, got)
		}
	}
}

func TestStrictSchemas(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                                   true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                                    false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{}}}}},"required":["a"],"additionalProperties":false}`:    false,
		`{"type":"object","properties":{"a":{"type":["null","object"],"additionalProperties":{"type":"string"}}},"required":["a"],"additionalProperties":false}`: false,
		`{"type":"array"}`: false, `true`: false, ``: false,
	} {
		if got := wire.IsClosed([]byte(schema), true); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

// What a tool returns beside text follows the results of its turn, as a message of
// the user: chat completions take nothing but text in a tool's message.
func TestPicturesThatToolsReturn(t *testing.T) {
	picture := troupe.Part{MIME: "image/png", Data: []byte("png")}
	req := &troupe.Request{Messages: []*troupe.Message{
		{Role: troupe.RoleUser, Text: "look"},
		{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{ID: "a", Name: "shoot", Arguments: "{}"}, {ID: "b", Name: "read", Arguments: "{}"}}},
		{Role: troupe.RoleTool, CallID: "a", Tool: "shoot", Text: "a picture", Parts: []troupe.Part{picture}},
		{Role: troupe.RoleTool, CallID: "b", Tool: "read", Text: "a file", Parts: []troupe.Part{{MIME: "text/plain", Name: "n.txt", Data: []byte("inside")}}},
		{Role: troupe.RoleUser, Text: "well?"},
	}}
	sent, _ := sentTo(t, "http://model.test/v1", "m", req)
	want := []any{
		map[string]any{"role": "tool", "tool_call_id": "a", "content": "a picture"},
		map[string]any{"role": "tool", "tool_call_id": "b", "content": "a file\n\nn.txt:\ninside"},
		map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": "This was returned by shoot:"},
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64,cG5n"}},
		}},
		map[string]any{"role": "user", "content": "well?"},
	}
	if diff := cmp.Diff(want, sent["messages"].([]any)[2:]); diff != "" {
		t.Error(diff)
	}
}
