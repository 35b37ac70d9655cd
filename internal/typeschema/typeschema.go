// Package typeschema says as a JSON schema what JSON encoding/json reads into a Go type,
// or writes of it.
package typeschema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Direction is what is done with values of a type: a type may write itself in
// another way than it reads itself.
type Direction int

// The directions.
const (
	Read Direction = iota
	Written
)

// Of returns the schema of a type: an object, never true. The error names the field
// and what to do about it.
//
// A type that has a method JSONSchema() json.RawMessage says its schema itself. One that
// encodes itself as text is a string, and one that encodes itself as JSON may be
// anything. A type that holds itself is a $ref to its place in $defs. Types into which
// encoding/json reads nothing are an error where values are read.
func Of(t reflect.Type, direction Direction) (json.RawMessage, error) {
	in := &inference{root: t, isRead: direction == Read, open: map[reflect.Type]bool{}, names: map[reflect.Type]string{}, defs: map[string]*jsonschema.Schema{}}
	in.json, in.text = reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()
	if direction == Written {
		in.json, in.text = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	}
	schema, err := in.of(t, "")
	if err != nil {
		return nil, err
	}
	if len(in.defs) > 0 {
		schema = in.inlined(schema)
		schema.Defs = in.defs
	}
	data, err := json.Marshal(schema)
	if string(data) == "true" {
		data = []byte("{}")
	}
	return data, err
}

// An inference makes the schema of one type.
type inference struct {
	root       reflect.Type
	isRead     bool         // and not written
	json, text reflect.Type // the interfaces of types that encode themselves

	open  map[reflect.Type]bool   // named types whose schemas are being made
	names map[reflect.Type]string // of those that hold themselves, in $defs
	defs  map[string]*jsonschema.Schema
}

// inlined returns a copy of what a reference leads to, for the root of a schema: there
// providers want an object.
func (in *inference) inlined(schema *jsonschema.Schema) *jsonschema.Schema {
	for name, def := range in.defs {
		switch root := *def; {
		case schema.Ref == refTo(name):
			return &root
		case schema.AnyOf != nil && schema.AnyOf[0].Ref == refTo(name):
			return orNull(&root)
		}
	}
	root := *schema
	return &root
}

func refTo(name string) string { return "#/$defs/" + name }

// of returns the schema of a type that is at a path of fields.
func (in *inference) of(t reflect.Type, path string) (*jsonschema.Schema, error) {
	isPointer := false
	for t.Kind() == reflect.Pointer {
		t, isPointer = t.Elem(), true
	}
	schema, err := in.named(t, path)
	if err != nil || !isPointer {
		return schema, err
	}
	return orNull(schema), nil
}

// named returns the schema of a type, which may be a reference.
func (in *inference) named(t reflect.Type, path string) (*jsonschema.Schema, error) {
	if schema, err := in.own(t); schema != nil || err != nil {
		return schema, in.at(path, err)
	}
	if t.Name() == "" {
		return in.plain(t, path)
	}
	if in.open[t] && in.names[t] == "" {
		in.names[t] = in.newName(t)
	}
	if name := in.names[t]; name != "" {
		return &jsonschema.Schema{Ref: refTo(name)}, nil
	}
	in.open[t] = true
	schema, err := in.plain(t, path)
	delete(in.open, t)
	if name := in.names[t]; err == nil && name != "" {
		in.defs[name] = schema
		return &jsonschema.Schema{Ref: refTo(name)}, nil
	}
	return schema, err
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// newName returns a name for a type in $defs, which no other type has.
func (in *inference) newName(t reflect.Type) string {
	name := notInNames.ReplaceAllString(t.Name(), "_")
	for n := 2; slices.Contains(slices.Collect(maps.Values(in.names)), name); n++ {
		name = fmt.Sprintf("%s_%d", notInNames.ReplaceAllString(t.Name(), "_"), n)
	}
	return name
}

// described is implemented by types that say their JSON schema themselves.
type described interface{ JSONSchema() json.RawMessage }

// known are types of the standard library that encode themselves in a known way.
var known = map[reflect.Type]jsonschema.Schema{
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.Number]():     {Type: "number"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[big.Int]():         {Type: "integer"},
	reflect.TypeFor[slog.Level]():      {Type: "string"},
	// It is what url.URL has that is not read.
	reflect.TypeFor[url.Userinfo](): {Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}},
}

// own returns the schema of a type that says it itself, or encodes itself: nil where
// its kind says what it is.
func (in *inference) own(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Interface {
		if in.isRead && t.NumMethod() > 0 {
			return nil, fmt.Errorf("%s is an interface, and encoding/json cannot know what to make of it; use a type that is none, any for anything, or leave it out with json:\"-\"", t)
		}
		return &jsonschema.Schema{}, nil
	}
	if says, ok := reflect.New(t).Interface().(described); ok {
		var schema jsonschema.Schema
		if err := json.Unmarshal(says.JSONSchema(), &schema); err != nil {
			return nil, fmt.Errorf("%s: its JSONSchema method does not return a schema: %w", t, err)
		}
		return &schema, nil
	}
	if schema, ok := known[t]; ok {
		return &schema, nil
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(in.json):
		return &jsonschema.Schema{}, nil
	case p.Implements(in.text):
		return &jsonschema.Schema{Type: "string"}, nil
	}
	return nil, nil
}

// plain returns the schema of a type that encoding/json encodes by its kind.
func (in *inference) plain(t reflect.Type, path string) (*jsonschema.Schema, error) {
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}, nil
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}, nil
	case reflect.Int, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}, nil
	case reflect.Int8, reflect.Int16, reflect.Int32:
		most := math.Ldexp(1, t.Bits()-1)
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(-most), Maximum: jsonschema.Ptr(most - 1)}, nil
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(math.Ldexp(1, t.Bits()) - 1)}, nil
	case reflect.Map:
		return in.mapping(t, path)
	case reflect.Slice, reflect.Array:
		return in.list(t, path)
	case reflect.Struct:
		return in.object(t, path)
	}
	return nil, in.at(path, fmt.Errorf("%s has no form in JSON; %s", t, remedy))
}

const remedy = `leave it out with json:"-", or give its type a method JSONSchema() json.RawMessage`

// mapping returns the schema of a map, which may be null as a list may.
func (in *inference) mapping(t reflect.Type, path string) (*jsonschema.Schema, error) {
	key := t.Key()
	isKey := key.Kind() == reflect.String || key.Kind() >= reflect.Int && key.Kind() <= reflect.Uintptr
	if !isKey && !reflect.PointerTo(key).Implements(in.text) {
		return nil, in.at(path, fmt.Errorf("a map with keys of type %s has no form in JSON; use keys that are text or whole numbers", key))
	}
	values, err := in.of(t.Elem(), path+"[]")
	if err != nil {
		return nil, err
	}
	schema := &jsonschema.Schema{Type: "object", AdditionalProperties: values}
	if path == "" {
		return schema, nil // a tool takes an object, and an answer is one
	}
	return orNull(schema), nil
}

func (in *inference) list(t reflect.Type, path string) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}, nil
	}
	items, err := in.of(t.Elem(), path+"[]")
	if err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Slice {
		return &jsonschema.Schema{Types: []string{"null", "array"}, Items: items}, nil
	}
	return &jsonschema.Schema{Type: "array", Items: items, MinItems: jsonschema.Ptr(t.Len()), MaxItems: jsonschema.Ptr(t.Len())}, nil
}

// orNull returns a schema that also takes null.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Type != "":
		s.Types, s.Type = []string{"null", s.Type}, ""
	case len(s.Types) > 0:
		if !slices.Contains(s.Types, "null") {
			s.Types = append([]string{"null"}, s.Types...)
		}
	case !reflect.ValueOf(*s).IsZero():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	if s.Enum != nil && !slices.Contains(s.Enum, nil) {
		s.Enum = append(s.Enum, nil)
	}
	return s
}

// at says at which field of the type an error is.
func (in *inference) at(path string, err error) error {
	switch {
	case err == nil || path == "":
		return err
	case in.root.Name() == "":
		return fmt.Errorf("field %s: %w", path, err)
	}
	return fmt.Errorf("field %s of %s: %w", path, in.root, err)
}
