package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe"
)

func quickStartTools() []troupe.Tool {
	type sum struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	type place struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty"`
	}
	type note struct {
		FilePath string   `json:"file_path"`
		Tags     []string `json:"tags,omitempty"`
	}
	type formula struct {
		Expression string `json:"expression"`
	}
	type query struct {
		Query string `json:"query"`
	}
	return []troupe.Tool{
		troupe.NewTool("add", "Adds two numbers.", func(_ context.Context, in sum) (float64, error) { return in.A + in.B, nil }),
		troupe.NewTool("get_weather", "The weather in a city.", func(_ context.Context, in place) (map[string]any, error) {
			return map[string]any{"city": in.City, "days": in.Days, "sky": "clear"}, nil
		}),
		troupe.NewTool("read_note", "Opens a note.", func(_ context.Context, in note) (string, error) {
			return "", errors.New("no such note: " + in.FilePath)
		}),
		troupe.NewTool("calculator", "Evaluates formulas.", func(_ context.Context, in formula) (string, error) { return "= " + in.Expression, nil }),
		troupe.NewTool("lookup", "Searches the encyclopedia.", func(_ context.Context, in query) (string, error) { return "about " + in.Query, nil }),
	}
}

func TestAPlainAgentCallsTheToolsThatAreMentioned(t *testing.T) {
	for said, want := range map[string]string{
		"Please add 2 and 3.5":                          "add says: 5.5",
		"What's the weather in New York?":               "get_weather says: city: New York, days: 0, sky: clear",
		"weather in Rome for 3 days":                    "get_weather says: city: Rome, days: 3, sky: clear",
		"Read the note docs/todo.md":                    "read_note could not be used: no such note: docs/todo.md",
		"Use the calculator for (2+3)*4":                "calculator says: = (2+3)*4",
		"search the encyclopedia for the moon":          "lookup says: about the moon",
		"search the encyclopedia for \"blue whales\" ":  "lookup says: about blue whales",
		"add 1 and 2, and tell me the weather in Paris": "add says: 3\nget_weather says: city: Paris, days: 0, sky: clear",
		"How are you?":                                  "I understood: \"How are you?\".\nMention one of my tools and I will call it: add, get_weather, read_note, calculator, lookup.",
		"hello":                                         "Hello! I am Robo.\nMention one of my tools",
	} {
		mustContain(t, open(t, "You are Robo, an assistant.", quickStartTools()...).say(said), want)
	}
	mustContain(t, open(t, "", quickStartTools()[:1]...).say("What is 2+3?"), "add says: 5")
}

func TestAPlainAgentAsksForWhatIsMissing(t *testing.T) {
	d := open(t, "", quickStartTools()...)
	mustContain(t, d.say("What is the weather?"), "get_weather needs city. What shall I use?")
	mustContain(t, d.say("paris"), "get_weather says: city: paris")
	mustContain(t, d.say("add 4"), "add needs b")
	mustContain(t, d.say("5"), "add says: 9")
	mustContain(t, d.say("thank you"), "I understood")
}

func TestAPlainAgentWithoutToolsSaysWhatItUnderstood(t *testing.T) {
	mustContain(t, open(t, "").say("Write a poem"), "[rehearsal] No model is asked", `I understood: "Write a poem".`, "set a model")
}

func TestALimitEndsWithWhatThereIs(t *testing.T) {
	d := open(t, "", quickStartTools()...)
	d.limits.ToolCalls = 1
	mustContain(t, d.say("add 1 and 2"), "add says: 3")
	d.limits.Turns = 1
	mustContain(t, d.say("add 1 and 5"), "add says: 6")
}

func TestArgumentsFollowTheSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"unit":{"enum":["celsius","fahrenheit"]}, "count":{"type":"integer"}, "ratio":{"type":["number","null"]},
		"verbose":{"type":"boolean"}, "values":{"type":"array","items":{"type":"number"}}, "cities":{"type":"array","items":{"type":"string"}},
		"url":{"type":"string"}, "email":{"type":"string"}, "date":{"type":"string","format":"date"}, "extra":{"type":"object"}, "free":{}
	},"required":[%s]}`
	for _, c := range []struct{ required, request, want, missing string }{
		{`"unit"`, "in Fahrenheit please", `{"unit":"fahrenheit"}`, ""},
		{`"unit"`, "in kelvin", `{}`, "unit"},
		{`"count","ratio"`, "2.5 and 7", `{"count":7,"ratio":2.5}`, ""},
		{`"count"`, "on 2025-01-02", `{}`, "count"},
		{`"verbose"`, "be verbose", `{"verbose":true}`, ""},
		{`"verbose"`, "be quiet", `{"verbose":false}`, ""},
		{`"values"`, "1, -2 and 3.5", `{"values":[1,-2,3.5]}`, ""},
		{`"cities"`, "from Rome to 'New Delhi'", `{"cities":["New Delhi","Rome"]}`, ""},
		{`"url","email","date"`, "tell bo@example.com about https://example.com/x on 2025-01-02", `{"date":"2025-01-02","email":"bo@example.com","url":"https://example.com/x"}`, ""},
		{`"extra"`, "anything", `{"extra":{}}`, ""},
		{`"free"`, `say "hi"`, `{"free":"hi"}`, ""},
		{`"unheard"`, `nothing`, `{}`, "unheard"},
	} {
		arguments, missing := findArguments(fmt.Appendf(nil, schema, c.required), c.request)
		if got := mustJSON(t, arguments); got != c.want || strings.Join(missing, " ") != c.missing {
			t.Errorf("%s in %q: %s, missing %q", c.required, c.request, got, missing)
		}
	}
}

func TestASchemaIsAnsweredWithJSONThatFits(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"status":{"enum":["success","partial"]},"n":{"type":"integer","minimum":3},"list":{"type":"array","minItems":2,"items":{"type":"string","minLength":50}},"ready":{"type":"boolean"},"when":{"type":"string","format":"date-time"},"skipped":{"type":"string"}},"required":["status","n","list","ready","when"],"additionalProperties":false}`,
		`{"$defs":{"leaf":{"type":"object","properties":{"v":{"type":"number","exclusiveMinimum":4}},"required":["v"]}},"type":"object","properties":{"leaf":{"$ref":"#/$defs/leaf"},"any":{"anyOf":[{"type":"null"},{"type":"string"}]}},"required":["leaf","any"]}`,
		`{"allOf":[{"type":"object","properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"type":"string","maxLength":3}},"required":["b"]}]}`,
		`{"type":["object","null"],"required":["free"]}`,
		`{"type":"number","maximum":-5}`,
		`{"type":"number","minimum":-5,"maximum":-2}`,
	} {
		text, calls := (&model{}).reply(&troupe.Request{Params: &troupe.Params{Schema: []byte(schema)}})
		var s jsonschema.Schema
		if err := s.UnmarshalJSON([]byte(schema)); err != nil {
			t.Fatal(err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(decoded(t, text)); err != nil || calls != nil {
			t.Errorf("%s does not fit %s: %v", text, schema, err)
		}
	}
	for _, broken := range []string{`{`, `{"$ref":"#"}`, `{"type":"object","required":["a","b","c"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}}}`} {
		decoded(t, minimalJSON([]byte(broken)))
	}
}
