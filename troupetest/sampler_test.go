package troupetest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/troupetest"
)

// validator compiles a schema with a library that shares nothing with the sampler.
func validator(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return compiled
}

// fits samples a schema with several seeds and validates each value.
func fits(t *testing.T, schema []byte) (samples []string) {
	t.Helper()
	valid := validator(t, schema)
	for seed := range uint64(20) {
		data, err := troupetest.Sample(seed, schema)
		if err != nil {
			t.Errorf("%s: seed %d: %v", schema, seed, err)
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid.Validate(value); err != nil {
			t.Errorf("%s: seed %d: %s: %v", schema, seed, data, err)
		}
		samples = append(samples, string(data))
	}
	return samples
}

func TestSamplesFitTheirSchema(t *testing.T) {
	for name, schema := range map[string]string{
		"nothing":       `{"type":"object","properties":{},"additionalProperties":false}`,
		"true":          `true`,
		"scalars":       `{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"z":{"type":"null"}},"required":["s","i","n","b","z"]}`,
		"required only": `{"type":"object","required":["x"],"additionalProperties":{"type":"integer"}}`,
		"enum":          `{"enum":["a",1,null,{"x":[1]}]}`,
		"const":         `{"const":{"a":[true,null]}}`,
		"integers":      `{"type":"integer","minimum":-7,"maximum":-3}`,
		"even":          `{"type":"integer","exclusiveMinimum":10,"exclusiveMaximum":14,"multipleOf":2}`,
		"below":         `{"type":"integer","maximum":-1000}`,
		"above":         `{"type":"number","exclusiveMinimum":0}`,
		"narrow":        `{"type":"number","minimum":0.1,"maximum":0.101}`,
		"cents":         `{"type":"number","minimum":0,"multipleOf":0.25}`,
		"strings":       `{"type":"string","minLength":30,"maxLength":31}`,
		"short":         `{"type":"string","maxLength":1}`,
		"pattern":       `{"type":"string","pattern":"^[A-Z]{2,3}-(\\d+|x)?(foo|bar)\\.txt$"}`,
		"any character": `{"type":"string","pattern":"^a.b+[^a-z]*$","minLength":4}`,
		"no plain":      `{"type":"string","pattern":"^[\\x{4e00}-\\x{4e05}]$"}`,
		"format":        `{"type":"string","format":"date-time"}`,
		"array":         `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3,"uniqueItems":true}`,
		"tuple":         `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`,
		"nullable":      `{"type":["null","string"]}`,
		"untyped":       `{"properties":{"a":{"items":{"minimum":3}},"b":{"pattern":"^x$"}},"required":["a","b"]}`,
		"any of":        `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
		"one of":        `{"oneOf":[{"type":"number"},{"type":"integer"}]}`,
		"variants":      `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"oneOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"properties":{"k":{"const":2}},"required":["k"]}]}`,
		"all of":        `{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"b":{"type":"boolean"}},"required":["b"]}],"$defs":{"a":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}}`,
		"reference":     `{"type":"object","properties":{"x":{"$ref":"#/definitions/a~1b"}},"required":["x"],"definitions":{"a/b":{"type":"integer"}}}`,
		"tree":          `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["v","kids"]}}}`,
		"many":          `{"type":"object","minProperties":3,"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
		"not":           `{"type":"integer","minimum":0,"maximum":3,"not":{"const":2}}`,
	} {
		t.Run(name, func(t *testing.T) { fits(t, []byte(schema)) })
	}
}

func TestSampleSaysWhatIsBeyondIt(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"integer","minimum":3,"maximum":2}`: "none of 50 values fits",
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}}}`: "without end",
		`{"type":"string","minLength":10000000}`: "minLength is 1e+07",
		`{"type":"strin"}`:                       "strin",
		`{`:                                      "schema",
	} {
		if data, err := troupetest.Sample(1, []byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s and %v", schema, data, err)
		}
	}
}

func TestSamplesDependOnTheSeedAlone(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"array","items":{"type":"number"}}}}`)
	one, two := fits(t, schema), fits(t, schema)
	different := map[string]bool{}
	for i := range one {
		if one[i] != two[i] {
			t.Errorf("seed %d gave %s, then %s", i, one[i], two[i])
		}
		different[one[i]] = true
	}
	if len(different) < len(one)/2 {
		t.Errorf("%d seeds gave only %d values", len(one), len(different))
	}
}

func TestSamplesFitTheSchemasOfRealTools(t *testing.T) {
	file := corpus.Path(t, "tool-calls/real-calls.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("no real tool calls: %v", err)
	}
	schemas := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var call struct {
			Origin, Tool string
			Schema       json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			t.Fatal(err)
		}
		if string(call.Schema) == "null" || schemas[string(call.Schema)] {
			continue
		}
		schemas[string(call.Schema)] = true
		t.Run(call.Tool, func(t *testing.T) { fits(t, call.Schema) })
	}
	t.Logf("%d schemas, 20 samples each", len(schemas))
	if len(schemas) < 50 {
		t.Errorf("only %d schemas were read", len(schemas))
	}
}

func TestSamplerCallsEveryToolAndAnswers(t *testing.T) {
	var calls []string
	tool := func(name, schema string) troupe.Tool {
		tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: name, Input: json.RawMessage(schema)}, func(_ context.Context, in *troupe.Invocation) (troupe.Result, error) {
			return troupe.Result{Content: "ok"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "a", Model: troupetest.NewSampler(7, 2), Tools: []troupe.Tool{
		tool("one", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), tool("two", `{"type":"object"}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	arguments := map[string]bool{}
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *troupe.ToolCalled:
			calls = append(calls, b.Tool)
			if b.Tool == "one" {
				arguments[string(b.Arguments)] = true
			}
		case *troupe.ToolReturned:
			if b.Class != "" {
				t.Errorf("%s: %s %s", b.Tool, b.Class, b.Error)
			}
		case *troupe.RunFinished:
			if b.Output.Summary != "Tools called: one, two." {
				t.Errorf("the answer is %q", b.Output.Summary)
			}
		}
	}
	if got := strings.Join(calls, " "); got != "one two one two" || len(arguments) != 2 {
		t.Errorf("calls %s with %v", got, arguments)
	}
}

func TestSamplerAnswersWithASchema(t *testing.T) {
	req := ask("go")
	req.Params = &troupe.Params{Schema: json.RawMessage(`{"const":{"ok":true}}`)}
	if got := told(t.Context(), troupetest.NewSampler(1, 1), req); got != `text({"ok":true}) end(stop 0)` {
		t.Errorf("got %s", got)
	}
	req.Params.Schema = json.RawMessage(`{"type":"integer","minimum":3,"maximum":2}`)
	if got := told(t.Context(), troupetest.NewSampler(1, 1), req); !strings.HasPrefix(got, "error(sample: ") {
		t.Errorf("got %s", got)
	}
}
