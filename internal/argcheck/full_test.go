package argcheck

import (
	"errors"
	"testing"
)

func TestTheFullPathSpeaksTheSameWords(t *testing.T) {
	tests := []struct{ schema, doc, want string }{
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `5`, `the arguments: expected string or null, got number 5`},
		{`{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"null"}]}},"$defs":{"b":{"type":"string"}}}`, `{"a":[1]}`,
			`field /a: expected string or null, got array [1]`},
		{`{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"null"}]}},"$defs":{"b":{"properties":{"c":{"type":"integer"}},"required":["d"]}}}`, `{"a":{"c":"x"}}`,
			`field /a/c: expected integer, got string "x"; field /a/d: required, but missing`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`,
			`the arguments: fits none of 2 alternatives (1) field /a: required, but missing (2) field /b: required, but missing`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, `the arguments: fits alternatives 1 and 2, but must fit only one`},
		{`{"$ref":"#/$defs/p","$defs":{"p":{"properties":{"color":{"enum":["red",{"r":1}]}},"additionalProperties":false}}}`, `{"colour":1,"color":"blue"}`,
			`field /color: expected one of "red", {"r":1}, got string "blue"; field /colour: not a known field (known: color); did you mean color?`},
		{`{"$defs":{"a/b c":{"properties":{"x":true},"additionalProperties":false}},"$ref":"#/$defs/a~1b%20c"}`, `{"y":1}`, `field /y: not a known field (known: x)`},
		{`{"const":{"a":[1]}}`, `{"a":[2]}`, `the arguments: expected {"a":[1]}, got object {"a":[2]}`},
		{`{"not":{"type":"string"}}`, `"x"`, `the arguments: expected anything but what the schema rules out here, got string "x"`},
		{`{"multipleOf":0.5}`, `1.2`, `the arguments: expected a multiple of 0.5, got number 1.2`},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, `the arguments: expected items that differ from each other, got the same at 0 and 2`},
		{`{"contains":{"type":"string"}}`, `[1]`, `the arguments: expected an array with at least 1 item of a certain form, got array [1]`},
		{`{"contains":{"type":"string"},"minContains":2}`, `["a"]`, `the arguments: expected at least 2 items of a certain form, got 1`},
		{`{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`, `the arguments: expected at most 1 item of a certain form, got 2`},
		{`{"minProperties":2}`, `{"a":1}`, `the arguments: expected at least 2 fields, got 1`},
		{`{"maxProperties":0}`, `{"a":1}`, `the arguments: expected at most 0 fields, got 1`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `field /b: required, but missing`},
		{`{"dependencies":{"a":["b"]},"$schema":"http://json-schema.org/draft-07/schema"}`, `{"a":1}`, `field /b: required, but missing`},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1,"bb":{"cc":1}}`, `the arguments: a field must not be named "bb"`},
		{`{"properties":{"a":true},"unevaluatedProperties":false}`, `{"b":1}`, `field /b: not allowed here`},
		{`{"prefixItems":[{"minimum":1},{"maximum":1},{"exclusiveMinimum":1},{"exclusiveMaximum":1}]}`, `[0,2,1,1]`,
			`field /0: expected at least 1, got number 0; field /1: expected at most 1, got number 2; field /2: expected more than 1, got number 1; field /3: expected less than 1, got number 1`},
		{`{"prefixItems":[{"minLength":2},{"maxLength":1},{"pattern":"^a$"},{"minItems":1},{"maxItems":0}]}`, `["a","bb","b",[],[1]]`,
			`field /0: expected at least 2 characters, got 1; field /1: expected at most 1 character, got 2; field /2: expected a string that matches ^a$, got string "b"; field /3: expected at least 1 item, got 0; field /4: expected at most 0 items, got 1`},
		{`{"items":[true],"additionalItems":false,"$schema":"http://json-schema.org/draft-07/schema"}`, `[1,2]`, `the arguments: expected 1 item fewer, got array [1,2]`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `field /b: required, but missing`},
		{`{"allOf":[{"required":["a"]},{"properties":{"b":false}}]}`, `{"b":1}`, `field /a: required, but missing; field /b: not allowed here`},
		{`{"exclusiveMinimum":true,"minimum":5,"$schema":"http://json-schema.org/draft-04/schema#"}`, `5`, `the arguments: expected more than 5, got number 5`},
	}
	for _, test := range tests {
		schema := mustCompile(t, test.schema)
		if schema.rest == nil {
			t.Errorf("%s: was not left to jsonschema", test.schema)
		}
		err := schema.Check([]byte(test.doc))
		if _, ok := errors.AsType[*Mismatch](err); !ok || err.Error() != test.want {
			t.Errorf("%s %s:\n got %v\nwant %v", test.schema, test.doc, err, test.want)
		}
	}
}

func TestFormatsAreNotAssertedInAnyDraft(t *testing.T) {
	for _, draft := range []string{"", `"$schema":"http://json-schema.org/draft-07/schema#",`} {
		for _, more := range []string{"", `"anyOf":[{"format":"regex"}],`} {
			schema := mustCompile(t, `{`+draft+more+`"format":"date-time"}`)
			if err := schema.Check([]byte(`"(yesterday"`)); err != nil {
				t.Errorf("%s%s: %v", draft, more, err)
			}
		}
	}
}

func TestARefCycleIsAProblemAndNotAnEndlessLoop(t *testing.T) {
	schema := mustCompile(t, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`)
	if err := schema.Check([]byte(`1`)); err == nil {
		t.Error("a schema that never ends was fitted")
	}
}
