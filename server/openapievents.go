package server

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe"
)

// schemas is where the document has the shapes that have names.
const schemas = "#/components/schemas/"

// parts are the shapes in events that have names of their own.
var parts = []reflect.Type{reflect.TypeFor[troupe.Handoff](), reflect.TypeFor[troupe.Definition]()}

// eventSchemas are the shapes of events: Event is any, and each of the others one of a kind,
// with the name of its body's Go type.
var eventSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	shapes, kinds, mapping := map[string]*jsonschema.Schema{}, []*jsonschema.Schema{}, map[string]string{}
	for _, body := range troupe.Bodies() {
		t := reflect.TypeOf(body).Elem()
		shapes[t.Name()] = eventOf(body.Kind(), t)
		kinds = append(kinds, &jsonschema.Schema{Ref: schemas + t.Name()})
		mapping[body.Kind()] = schemas + t.Name()
	}
	for _, part := range parts {
		shapes[part.Name()] = recorded(part)
	}
	shapes["Event"] = &jsonschema.Schema{OneOf: kinds, Extra: object{"discriminator": object{"propertyName": "kind", "mapping": mapping}}}
	return shapes
})

// eventOf is the shape of an event of a kind.
func eventOf(kind string, body reflect.Type) *jsonschema.Schema {
	text, of := &jsonschema.Schema{Type: "string"}, any(kind)
	return &jsonschema.Schema{
		Type:     "object",
		Required: []string{"seq", "time", "session", "run", "step", "kind", "body"},
		Properties: map[string]*jsonschema.Schema{
			"seq": {Type: "integer"}, "time": {Type: "string", Format: "date-time"}, "session": text, "run": text,
			"parent": text, "step": text, "agent": text, "kind": {Type: "string", Const: &of}, "body": recorded(body),
		},
	}
}

// recorded is the shape of what is on record of a Go type. Later versions may add fields.
func recorded(t reflect.Type) *jsonschema.Schema {
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():      {},
		reflect.TypeFor[[]byte]():               {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[troupe.Arguments]():     {Types: []string{"object", "string"}},
		reflect.TypeFor[troupe.Millis]():        {Type: "number"},
		reflect.TypeFor[time.Duration]():        {Type: "integer", Description: "nanoseconds"},
		reflect.TypeFor[[]*troupe.Definition](): {Type: "array", Items: &jsonschema.Schema{Ref: schemas + "Definition"}},
	}
	for _, part := range parts {
		if part != t {
			types[part] = &jsonschema.Schema{Ref: schemas + part.Name()}
		}
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		panic("server: " + err.Error())
	}
	extensible(schema)
	return schema
}

// extensible has the schema of a Go type accept fields that the type does not have yet. A
// pointer to what has a name is left out where it is nil.
func extensible(s *jsonschema.Schema) {
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	if s.Ref != "" {
		s.Types = nil
	}
	for _, property := range s.Properties {
		extensible(property)
	}
	for _, inner := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if inner != nil {
			extensible(inner)
		}
	}
}
