package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "rewrite generated files")

func TestTheSchemaSaysWhatTheTypesSay(t *testing.T) {
	made, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("troupe.schema.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(made) != Schema {
		t.Error("troupe.schema.json is not what the types say; run go generate")
	}
}

// What the reader takes the schema takes, and what the one refuses the other does.
// The schema cannot say all: such files are only given to the reader.
func TestSchemaAndReaderAgree(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("troupe.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("troupe.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		"model: a/b":                            true,
		"model:":                                true,
		"bundles: one":                          true,
		"bundles: [one, two]":                   true,
		"limits: {turns: 3, time: 5m}":          true,
		"limits: {turns: '${TURNS}'}":           true,
		"agents: {alex: {temperature: 0.5}}":    true,
		"agents: {alex: }":                      true,
		"log: {level: debug}":                   true,
		"pipeline: {phases: [{name: x}]}":       true,
		"mcp: {x: {command: a, env: {B: '1'}}}": true,
		"modle: a":                              false,
		"limits: {turn: 1}":                     false,
		"limits: {turns: many}":                 false,
		"limits: 3":                             false,
		"bundles: {a: b}":                       false,
		"log: {level: loud}":                    false,
		"flows: [a]":                            false,
		"providers: {x: {models: 3}}":           false,
		"agents: {alex: {tools: {a: b}}}":       false,
	} {
		_, err := Parse(Name, []byte(text), func(string) (string, bool) { return "7", true })
		if (err == nil) != valid {
			t.Errorf("%q: reader: %v", text, err)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != valid {
			t.Errorf("%q: schema: %v", text, err)
		}
	}
}
