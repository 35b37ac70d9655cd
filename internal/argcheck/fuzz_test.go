package argcheck

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

var fuzzSchemas = []string{
	`{}`,
	paintSchema,
	`{"type":"array","items":{"type":["integer","null"],"minimum":-5,"maximum":1e3}}`,
	`{"properties":{"a":{"type":"string","maxLength":3},"é":{"const":0.5}},"additionalProperties":{"type":"boolean"}}`,
	`{"enum":["","a",1,null,false]}`,
	`{"required":["a","b"],"properties":{"a":{"properties":{"a":{"type":"object"}}}}}`,
}

// stricter lists how sound JSON may be refused.
var stricter = []string{"invalid UTF-8", "nested more than", "a number's exponent", "a number has more than"}

func FuzzCheck(f *testing.F) {
	var schemas, full []*Schema
	for _, schema := range fuzzSchemas {
		schemas = append(schemas, mustCompile(f, schema))
		full = append(full, fullOf(f, []byte(schema)))
	}
	for _, doc := range []string{
		``, `{}`, `{"a":2,"b":3}`, `{"a":"\u00e9\ud83d\ude00\n","b":1.0e+0,"kind":"paint"}`, `[1,-0.5e-3,null,[{}]]`, `{"a":"cut`,
		`{"a":{"a":{}},"b":tru`, "\"\xff\"", `{"é":5E-1,"x":true,"x":false}`, `[1e400,1e401]`, `"\ud800\u0061"`,
	} {
		for i := range schemas {
			f.Add(uint8(i), []byte(doc))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, doc []byte) {
		i := int(which) % len(schemas)
		err := schemas[i].Check(doc)
		isJSON := json.Valid(doc)
		if err == nil && !isJSON {
			t.Fatalf("%q was accepted and is not JSON", doc)
		}
		if malformed, ok := errors.AsType[*Malformed](err); ok && isJSON && !startsWithAny(malformed.Reason, stricter) {
			t.Fatalf("%q was refused and is JSON: %v", doc, err)
		}
		if again := full[i].Check(doc); (again == nil) != (err == nil) {
			t.Fatalf("%q: nodes say %v, jsonschema says %v", doc, err, again)
		}
		if err != nil && (!utf8.ValidString(err.Error()) || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("%q: the message is not one line of text: %q", doc, err)
		}
	})
}

func startsWithAny(text string, beginnings []string) bool {
	for _, beginning := range beginnings {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}

func FuzzCompile(f *testing.F) {
	for _, schema := range fuzzSchemas {
		f.Add([]byte(schema))
	}
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"$id":"x","$anchor":"b","anyOf":[{"type":"null"}],"not":{}}}}`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true,"items":[{}],"dependencies":{"a":["b"]}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		s, err := Compile(schema)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "schema: ") {
				t.Fatalf("%q: %v", schema, err)
			}
			return
		}
		for _, doc := range []string{`{"a":[1,"x",{"b":null}],"b":0.5}`, `null`, `["a"]`} {
			if _, isMalformed := errors.AsType[*Malformed](s.Check([]byte(doc))); isMalformed {
				t.Fatalf("%q: %s was not read", schema, doc)
			}
		}
	})
}
