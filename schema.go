package troupe

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// typeSchema is what is known of a Go type.
type typeSchema struct {
	schema   json.RawMessage
	check    *argumentCheck
	isObject bool
	err      error
}

// schemas remembers what schemaOf found, by type. It is a memory of a pure
// function: inferring a schema takes a hundred times as long as making a tool.
var schemas sync.Map // reflect.Type to *typeSchema

func schemaOf[T any]() *typeSchema {
	t := reflect.TypeFor[T]()
	if known, ok := schemas.Load(t); ok {
		return known.(*typeSchema)
	}
	known, _ := schemas.LoadOrStore(t, inferSchema(t))
	return known.(*typeSchema)
}

// described is implemented by types that say their JSON schema themselves.
type described interface{ JSONSchema() json.RawMessage }

func inferSchema(t reflect.Type) *typeSchema {
	own := map[reflect.Type]*jsonschema.Schema{}
	if err := findDescribed(t, own, map[reflect.Type]bool{}); err != nil {
		return &typeSchema{err: err}
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: own})
	if err != nil {
		return &typeSchema{err: err}
	}
	if err := applyTags(t, schema, own); err != nil {
		return &typeSchema{err: err}
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return &typeSchema{err: err}
	}
	check, err := argcheck.Compile(data)
	return &typeSchema{schema: data, check: &argumentCheck{data, check}, isObject: schema.Type == "object", err: err}
}

// notAnObject is the error of a type that a tool cannot take.
func notAnObject(t reflect.Type) error {
	return fmt.Errorf("%s is not an object in JSON; use a struct", t)
}

// findDescribed collects the schemas of types that say their own.
func findDescribed(t reflect.Type, own map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if t == reflect.TypeFor[json.RawMessage]() {
		own[t] = &jsonschema.Schema{} // any JSON
		return nil
	}
	if says, ok := reflect.New(t).Interface().(described); ok && t.Kind() != reflect.Pointer {
		var schema jsonschema.Schema
		if err := json.Unmarshal(says.JSONSchema(), &schema); err != nil {
			return fmt.Errorf("%s: its JSONSchema method does not return a schema: %w", t, err)
		}
		own[t] = &schema
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return findDescribed(t.Elem(), own, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if err := findDescribed(t.Field(i).Type, own, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyTags adds to a type's schema what the tags of its fields say.
func applyTags(t reflect.Type, schema *jsonschema.Schema, own map[reflect.Type]*jsonschema.Schema) error {
	switch t.Kind() {
	case reflect.Pointer:
		return applyTags(t.Elem(), schema, own)
	case reflect.Slice, reflect.Array:
		if schema.Items != nil {
			return applyTags(t.Elem(), schema.Items, own)
		}
	case reflect.Map:
		if schema.AdditionalProperties != nil {
			return applyTags(t.Elem(), schema.AdditionalProperties, own)
		}
	case reflect.Struct:
		if own[t] != nil {
			return nil
		}
		for i := range t.NumField() {
			if err := applyFieldTags(t, t.Field(i), schema, own); err != nil {
				return err
			}
		}
	}
	return nil
}

func applyFieldTags(t reflect.Type, field reflect.StructField, schema *jsonschema.Schema, own map[reflect.Type]*jsonschema.Schema) error {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if field.Anonymous && name == "" {
		return applyTags(field.Type, schema, own)
	}
	property := schema.Properties[orElse(name, field.Name)]
	if property == nil {
		return nil
	}
	for _, tag := range schemaTags {
		text, ok := field.Tag.Lookup(tag.name)
		if !ok {
			continue
		}
		if err := tag.apply(property, text); err != nil {
			return fmt.Errorf("field %s of %s: tag %s:%q: %w", field.Name, t, tag.name, text, err)
		}
	}
	return applyTags(field.Type, property, own)
}

// schemaTags are the tags, beside jsonschema for the description, that say what
// values a field takes.
var schemaTags = []struct {
	name  string
	apply func(*jsonschema.Schema, string) error
}{
	{"enum", applyEnum},
	{"minimum", func(s *jsonschema.Schema, text string) error { return setNumber(&s.Minimum, s, text) }},
	{"maximum", func(s *jsonschema.Schema, text string) error { return setNumber(&s.Maximum, s, text) }},
	{"minLength", func(s *jsonschema.Schema, text string) error { return setCount(&s.MinLength, s, "string", text) }},
	{"maxLength", func(s *jsonschema.Schema, text string) error { return setCount(&s.MaxLength, s, "string", text) }},
	{"minItems", func(s *jsonschema.Schema, text string) error { return setCount(&s.MinItems, s, "array", text) }},
	{"maxItems", func(s *jsonschema.Schema, text string) error { return setCount(&s.MaxItems, s, "array", text) }},
	{"pattern", func(s *jsonschema.Schema, text string) error { s.Pattern = text; return mustBe(s, "string") }},
	{"format", func(s *jsonschema.Schema, text string) error { s.Format = text; return mustBe(s, "string") }},
}

// isA reports whether a schema is of a type, or of that or null.
func isA(s *jsonschema.Schema, name string) bool {
	if s.Type == name {
		return true
	}
	for _, t := range s.Types {
		if t == name {
			return true
		}
	}
	return false
}

func mustBe(s *jsonschema.Schema, name string) error {
	if !isA(s, name) {
		return fmt.Errorf("it is for a field that is a JSON %s", name)
	}
	return nil
}

// applyEnum takes the values that a field may have, separated by commas.
func applyEnum(s *jsonschema.Schema, text string) error {
	target := s
	if isA(s, "array") && s.Items != nil {
		target = s.Items
	}
	for value := range strings.SplitSeq(text, ",") {
		switch value = strings.TrimSpace(value); {
		case value == "":
			return errors.New("a value is empty")
		case isA(target, "string"):
			target.Enum = append(target.Enum, value)
		case isA(target, "integer"), isA(target, "number"):
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return fmt.Errorf("%q is not a number", value)
			}
			target.Enum = append(target.Enum, number)
		default:
			return errors.New("it is for a field that is a JSON string or number")
		}
	}
	if isA(target, "null") {
		target.Enum = append(target.Enum, nil)
	}
	return nil
}

func setNumber(to **float64, s *jsonschema.Schema, text string) error {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errors.New("it is not a number")
	}
	if !isA(s, "integer") && !isA(s, "number") {
		return errors.New("it is for a field that is a JSON number")
	}
	*to = &number
	return nil
}

func setCount(to **int, s *jsonschema.Schema, of, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("it is not a whole number")
	}
	*to = &n
	if err := mustBe(s, of); err != nil {
		return err
	}
	if of == "array" && to == &s.MinItems && n > 0 {
		s.Type, s.Types = of, nil // a list that must have something in it is not null
	}
	return nil
}
