package config

import (
	_ "embed"
	"encoding/json"
	"reflect"
)

//go:generate go test -run TestTheSchemaSaysWhatTheTypesSay -update .

// Schema is the JSON schema of troupe.yaml, for editors.
//
//go:embed troupe.schema.json
var Schema string

// makeSchema derives the schema from the types that troupe.yaml is read into.
func makeSchema() ([]byte, error) {
	root := schemaOf(reflect.TypeFor[Config](), field{doc: "The configuration of a Troupe project."})
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = Name
	root["$defs"] = map[string]any{"flow": structSchema(reflect.TypeFor[Flow]())}
	data, err := json.MarshalIndent(root, "", "  ")
	return append(data, '\n'), err
}

// variable lets a value that is not text come from the environment.
var variable = map[string]any{"type": "string", "pattern": `^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`}

func schemaOf(t reflect.Type, f field) map[string]any {
	s := map[string]any{}
	orVariable := func(kind map[string]any) { s["anyOf"] = []any{kind, variable} }
	switch {
	case t == reflect.TypeFor[Flow]():
		s["anyOf"] = []any{aFlow}
	case t == partType:
		s["anyOf"] = []any{map[string]any{"type": "string"}, aFlow}
	case t == durationType:
		s["type"], s["examples"] = "string", []string{"90s", "5m"}
	case t.Kind() == reflect.String && f.enum != nil:
		orVariable(map[string]any{"enum": f.enum})
	case t.Kind() == reflect.String:
		s["type"] = []string{"string", "number", "boolean"}
	case t.Kind() == reflect.Int:
		orVariable(map[string]any{"type": "integer"})
	case t.Kind() == reflect.Float64:
		orVariable(map[string]any{"type": "number"})
	case t.Kind() == reflect.Bool:
		orVariable(map[string]any{"type": "boolean"})
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), f)
	case t.Kind() == reflect.Slice:
		item := schemaOf(t.Elem(), field{})
		s["anyOf"] = []any{map[string]any{"type": "array", "items": item}, item}
	case t.Kind() == reflect.Map:
		s["type"], s["additionalProperties"] = "object", orNothing(schemaOf(t.Elem(), field{}))
	default:
		s = structSchema(t)
	}
	if f.doc != "" {
		s["description"] = f.doc
	}
	return s
}

// aFlow stands for a flow, which may hold others.
var aFlow = map[string]any{"$ref": "#/$defs/flow"}

func structSchema(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, inner := range fieldsOf(t) {
		properties[inner.key] = orNothing(schemaOf(t.Field(inner.index).Type, inner))
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// orNothing admits a key with nothing behind it.
func orNothing(s map[string]any) map[string]any {
	switch kind := s["type"].(type) {
	case string:
		s["type"] = []string{kind, "null"}
	case []string:
		s["type"] = append(kind, "null")
	default:
		s["anyOf"] = append(s["anyOf"].([]any), map[string]any{"type": "null"})
	}
	return s
}
