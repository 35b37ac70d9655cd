package pipeline

import (
	"encoding/json"
	"reflect"
	"strings"
)

//go:generate go test -run TestThePublishedSchemasAreThoseOfTheContracts -update .

// envelopeSchema returns the schema of a phase's whole answer, around that of its outputs.
// All fields of the envelope are asked for; what is missing is critical only where
// the contract says so.
func envelopeSchema(phase string, outputs any) map[string]any {
	root := structSchema(reflect.TypeFor[Output]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "The answer of the phase " + phase
	properties := root["properties"].(map[string]any)
	properties["phase"] = map[string]any{"const": phase}
	properties["outputs"] = outputs
	return root
}

// schemaOf returns the schema of a type that answers are decoded into.
func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[Item]():
		return map[string]any{"type": []string{"string", "number", "boolean", "object"}}
	case reflect.TypeFor[Status]():
		return map[string]any{"enum": []Status{"success", "partial", "failed"}}
	}
	switch t.Kind() {
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "string"}
}

// structSchema asks for all fields but those with omitempty, and admits others. The
// tag doc is a description, the tag enum lists what is allowed.
func structSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		schema := schemaOf(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			schema["description"] = doc
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			schema["enum"] = strings.Split(enum, "|")
		}
		properties[name] = schema
		if option != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// criticalSchema returns the schema of what every answer must have, whatever its phase.
func criticalSchema(phase string) map[string]any {
	return map[string]any{
		"type":     "object",
		"required": []string{"status", "phase", "outputs", "next_phase"},
		"properties": map[string]any{
			"status":  schemaOf(reflect.TypeFor[Status]()),
			"phase":   map[string]any{"const": phase},
			"outputs": map[string]any{"type": "object"},
			"next_phase": map[string]any{
				"type":       "object",
				"required":   []string{"ready"},
				"properties": map[string]any{"ready": map[string]any{"type": "boolean"}},
			},
		},
	}
}

// failedSchema returns the schema of an answer that says that the phase failed: there
// may be nothing to hand on.
func failedSchema(phase string) map[string]any {
	return map[string]any{
		"type":     "object",
		"required": []string{"status", "phase"},
		"properties": map[string]any{
			"status": map[string]any{"const": "failed"},
			"phase":  map[string]any{"const": phase},
		},
	}
}

// encodeSchema returns a schema as it is published. Schemas of this package hold
// nothing that cannot be encoded.
func encodeSchema(schema any) json.RawMessage {
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic("pipeline: encode schema: " + err.Error())
	}
	return append(data, '\n')
}
