package rehearsal

import (
	"encoding/json"
	"maps"
	"strings"
)

const (
	maxNesting = 16      // how deep a minimal value goes before its schema is taken to be circular
	maxItems   = 1000    // how long a list or a text gets, whatever the schema asks for
	maxValues  = 1 << 14 // how many values there are in all
)

// A draft is a JSON value in the making that fits a schema.
type draft struct {
	root   any // the whole schema
	values int
}

// minimalJSON returns a small JSON value that fits a schema: the required properties, and the first of what is allowed.
func minimalJSON(schema json.RawMessage) string {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return "{}"
	}
	d := draft{root: root}
	return encode(d.value(root, "value", maxNesting))
}

func (d *draft) value(schema any, name string, nesting int) any {
	s, ok := schema.(map[string]any)
	if d.values++; !ok || nesting == 0 || d.values > maxValues {
		return map[string]any{}
	}
	if ref, ok := s["$ref"].(string); ok {
		return d.value(lookUp(d.root, ref), name, nesting-1)
	}
	for _, key := range []string{"const", "default"} {
		if value, ok := s[key]; ok {
			return value
		}
	}
	if values, ok := s["enum"].([]any); ok && len(values) > 0 {
		return values[0]
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if choices, ok := s[key].([]any); ok && len(choices) > 0 && s["properties"] == nil {
			return d.value(choices[0], name, nesting-1)
		}
	}
	switch typeOf(s) {
	case "object":
		return d.object(s, nesting)
	case "array":
		items := []any{}
		for range min(int(number(s, "minItems", 0)), maxItems) {
			items = append(items, d.value(s["items"], name, nesting-1))
		}
		return items
	case "integer", "number":
		least := number(s, "exclusiveMinimum", -1) + 1
		return min(number(s, "minimum", least), number(s, "maximum", max(least, number(s, "minimum", least))))
	case "boolean":
		return false
	case "null":
		return nil
	}
	return minimalText(s, name)
}

// object has what the schema requires, and what each of those requires that it puts together.
func (d *draft) object(s map[string]any, nesting int) any {
	object := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, key := range required {
		if key, ok := key.(string); ok {
			object[key] = d.value(properties[key], key, nesting-1)
		}
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		if more, ok := d.value(part, "", nesting-1).(map[string]any); ok {
			maps.Copy(object, more)
		}
	}
	return object
}

func minimalText(s map[string]any, name string) string {
	switch s["format"] {
	case "date":
		return "2000-01-01"
	case "date-time":
		return "2000-01-01T00:00:00Z"
	case "uri":
		return "https://example.com/"
	case "email":
		return "nobody@example.com"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	text := standInFor(name)
	if most := int(number(s, "maxLength", maxItems)); len(text) > most {
		text = strings.ToValidUTF8(text[:max(most, 0)], "")
	}
	least := min(int(number(s, "minLength", 0)), maxItems)
	return text + strings.Repeat(".", max(least-len(text), 0))
}

// lookUp finds what a reference within the schema names.
func lookUp(root any, ref string) any {
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		object, _ := root.(map[string]any)
		root = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return root
}

func typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			first, _ := t[0].(string)
			return first
		}
	}
	if s["properties"] != nil || s["required"] != nil || s["allOf"] != nil {
		return "object"
	}
	return "string"
}

func number(s map[string]any, key string, otherwise float64) float64 {
	if value, ok := s[key].(float64); ok {
		return value
	}
	return otherwise
}
