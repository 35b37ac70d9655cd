package argcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func mustCompile(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Compile([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const paintSchema = `{
	"type": "object",
	"properties": {
		"a": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-zé]+$"},
		"b": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
		"c": {"type": ["array", "null"], "items": {"type": "number"}, "minItems": 1, "maxItems": 2},
		"color": {"enum": ["red", "green", 3, null, true]},
		"kind": {"const": "paint"},
		"gone": false
	},
	"required": ["b", "kind"],
	"additionalProperties": false
}`

func TestEveryProblemIsReportedWithItsPlace(t *testing.T) {
	schema := mustCompile(t, paintSchema)
	if schema.rest != nil {
		t.Fatal("the schema was left to jsonschema")
	}
	tests := []struct{ doc, want string }{
		{`{"b":"five","kind":"paint"}`, `field /b: expected integer, got string "five"`},
		{`{"b":2}`, `field /kind: required, but missing`},
		{`{}`, `field /b: required, but missing; field /kind: required, but missing`},
		{`{"b":2,"kind":"paint","colour":1}`, `field /colour: not a known field (known: a, b, c, color, gone, kind); did you mean color?`},
		{`{"b":2,"kind":"paint","COLOR":1}`, `field /COLOR: not a known field (known: a, b, c, color, gone, kind); did you mean color?`},
		{`{"b":2,"kind":"paint","pony":1}`, `field /pony: not a known field (known: a, b, c, color, gone, kind)`},
		{`{"b":2,"kind":"paint","zzzzzz":1}`, `field /zzzzzz: not a known field (known: a, b, c, color, gone, kind)`},
		{`{"b":2.5,"kind":"paint"}`, `field /b: expected integer, got number 2.5`},
		{`{"b":0,"kind":"paint"}`, `field /b: expected at least 1, got number 0`},
		{`{"b":10,"kind":"paint"}`, `field /b: expected less than 10, got number 10`},
		{`{"b":1,"kind":"painting"}`, `field /kind: expected "paint", got string "painting"`},
		{`{"b":1,"kind":"paint","color":"blue"}`, `field /color: expected one of "red", "green", 3, null, true, got string "blue"`},
		{`{"b":1,"kind":"paint","color":[1, 2]}`, `field /color: expected one of "red", "green", 3, null, true, got array [1, 2]`},
		{`{"b":1,"kind":"paint","a":"x"}`, `field /a: expected at least 2 characters, got 1`},
		{`{"b":1,"kind":"paint","a":"ééééé"}`, `field /a: expected at most 4 characters, got 5`},
		{`{"b":1,"kind":"paint","a":"AB"}`, `field /a: expected a string that matches ^[a-zé]+$, got string "AB"`},
		{`{"b":1,"kind":"paint","c":[]}`, `field /c: expected at least 1 item, got 0`},
		{`{"b":1,"kind":"paint","c":[1,"2",3]}`, `field /c/1: expected number, got string "2"; field /c: expected at most 2 items, got 3`},
		{`{"b":1,"kind":"paint","c":{}}`, `field /c: expected array or null, got object {}`},
		{`{"b":1,"kind":"paint","gone":0}`, `field /gone: not allowed here`},
		{`{"b":1,"kind":"paint","b":2}`, `field /b: given twice`},
		{`[1]`, `the arguments: expected object, got array [1]`},
		{`null`, `the arguments: expected object, got null`},
		{`true`, `the arguments: expected object, got boolean true`},
	}
	for _, test := range tests {
		err := schema.Check([]byte(test.doc))
		if _, ok := errors.AsType[*Mismatch](err); !ok || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %v", test.doc, err, test.want)
		}
	}
}

func TestWhatFitsIsAccepted(t *testing.T) {
	schema := mustCompile(t, paintSchema)
	for _, doc := range []string{
		`{"b":1,"kind":"paint"}`,
		` { "b" : 9.0e0 , "kind" : "p\u0061int" , "\u0061":"\u00e9\u00e9" } `,
		`{"b":1,"kind":"paint","color":3.0,"c":null}`,
		`{"b":1,"kind":"paint","color":null,"c":[1e3,-0.5]}`,
	} {
		if err := schema.Check([]byte(doc)); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func TestUnreadableTextIsExplainedWithItsPlace(t *testing.T) {
	schema := mustCompile(t, `true`)
	tests := []struct{ doc, want string }{
		{``, `byte 0: the text is empty where a JSON value was expected`},
		{"  \n", `byte 3: the text is empty where a JSON value was expected, near:    `},
		{`{"a": "five`, `byte 11: the text ends in the middle of a string that began at byte 6, near: {"a": "five`},
		{`{"a": "five\`, `byte 12: the text ends in the middle of a string that began at byte 6, near: {"a": "five\`},
		{`{"a": "\u12`, `byte 11: the text ends in the middle of a string that began at byte 6, near: {"a": "\u12`},
		{`{"a": tr`, `byte 8: the text ends in the middle of the word true, near: {"a": tr`},
		{`{"a": -`, `byte 7: the text ends in the middle of a number, where a digit was expected, near: {"a": -`},
		{`{"a": 1e`, `byte 8: the text ends in the middle of a number, where a digit of an exponent was expected, near: {"a": 1e`},
		{`{"a": 1`, `byte 7: the text ends in the middle of an object, where a comma or } was expected, near: {"a": 1`},
		{`{"a":`, `byte 5: the text ends in the middle of an object, where a value was expected, near: {"a":`},
		{`{"a"`, `byte 4: the text ends in the middle of an object, where a colon after the field name was expected, near: {"a"`},
		{`{"a": 1,`, `byte 8: the text ends in the middle of an object, where a field name in double quotes was expected, near: {"a": 1,`},
		{`[1`, `byte 2: the text ends in the middle of an array, where a comma or ] was expected, near: [1`},
		{`[1,`, `byte 3: the text ends in the middle of an array, where a value was expected, near: [1,`},
		{`{"a": True}`, `byte 6: expected a value, found 'T', near: {"a": True}`},
		{`{"a": tRue}`, `byte 6: expected a value, found 't', near: {"a": tRue}`},
		{`{'a': 1}`, `byte 1: expected a field name in double quotes, found '\'', near: {'a': 1}`},
		{`{"a": 1,}`, `byte 8: expected a field name in double quotes, found '}', near: {"a": 1,}`},
		{`{"a" 1}`, `byte 5: expected a colon after the field name, found '1', near: {"a" 1}`},
		{`[1 2]`, `byte 3: expected a comma or ], found '2', near: [1 2]`},
		{`{"a": 1} {}`, `byte 9: there is more text after the end of the JSON value, near: {"a": 1} {}`},
		{`01`, `byte 0: a number must not begin with 0, near: 01`},
		{`1.x`, `byte 2: expected a digit, found 'x', near: 1.x`},
		{`"\x"`, `byte 1: a string has an escape that JSON does not know, near: "\x"`},
		{`"\v"`, `byte 1: a string has an escape that JSON does not know, near: "\v"`},
		{`"\u123x"`, `byte 1: a string has an escape that JSON does not know, near: "\u123x"`},
		{"\"\x1f\"", `byte 1: a string has the raw control character '\x1f', which must be escaped, near: " "`},
		{"\"a\nb\"", `byte 2: a string has the raw control character '\n', which must be escaped, near: "a b"`},
		{"[\"\xff\"]", "byte 2: invalid UTF-8, near: [\"\"]"},
		{"\x00", `byte 0: expected a value, found '\x00', near:  `},
		{`1e401`, `byte 0: a number's exponent is beyond 400, near: 1e401`},
		{`1e-99999999999999999999`, `byte 0: a number's exponent is beyond 400, near: 1e-99999999999999999999`},
		{strings.Repeat("9", 401), `byte 0: a number has more than 400 characters, near: 999999999999999999999999999999…`},
		{strings.Repeat("[", 65), `byte 64: nested more than 64 levels deep, near: …[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`},
		{strings.Repeat("é", 40) + `"`, `byte 0: expected a value, found 'é', near: ééééééééééééééé…`},
	}
	for _, test := range tests {
		err := schema.Check([]byte(test.doc))
		want := "cannot read the JSON at " + test.want
		if _, ok := errors.AsType[*Malformed](err); !ok || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %v", test.doc, err, want)
		}
	}
}

func TestSixtyFourLevelsAreAllowed(t *testing.T) {
	doc := strings.Repeat(`{"a":`, 63) + "[]" + strings.Repeat("}", 63)
	if err := mustCompile(t, `{}`).Check([]byte(doc)); err != nil {
		t.Error(err)
	}
}

func TestRepeatedNamesAreFoundHoweverTheyAreWritten(t *testing.T) {
	var names strings.Builder
	for i := range 40 {
		fmt.Fprintf(&names, `"k%d":%d,`, i, i)
	}
	many := names.String()
	for _, schema := range []string{`{}`, `{"properties":{"a":{}}}`, `{"anyOf":[true]}`} {
		s := mustCompile(t, schema)
		for doc, path := range map[string]string{
			`{"a":1,"a":2}`:                        "/a",
			`{"a":1,"\u0061":2}`:                   "/a",
			`{"b":1,"c":{},"\u0062":2}`:            "/b",
			`{"x":[{"b":1},{"~/":1,"~/":1}]}`:      "/x/1/~0~1",
			`{` + many + `"k3":0}`:                 "/k3",
			`{` + many + `"k39":0}`:                "/k39",
			`{"\ud800":1,"\udc00":1,"\u00e9":"é"}`: "/\uFFFD",
		} {
			mismatch, ok := errors.AsType[*Mismatch](s.Check([]byte(doc)))
			if !ok || len(mismatch.Problems) != 1 || mismatch.Problems[0] != (Problem{Path: path, Expected: "given twice", IsRepeated: true}) {
				t.Errorf("%s %s: got %v", schema, doc, mismatch)
			}
		}
		if err := s.Check([]byte(`{` + many + `"k40":{"k1":1},"\u0041":1,"B":1}`)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestOnlyTenProblemsAreListed(t *testing.T) {
	doc := "[" + strings.Repeat(`"x",`, 99) + `"x"]`
	for _, schema := range []string{`{"items":{"type":"integer"}}`, `{"items":{"type":"integer"},"allOf":[true]}`} {
		mismatch, _ := errors.AsType[*Mismatch](mustCompile(t, schema).Check([]byte(doc)))
		if mismatch == nil || len(mismatch.Problems) != 10 || mismatch.More != 90 || !strings.HasSuffix(mismatch.Error(), "; and 90 more") {
			t.Errorf("%s: got %v", schema, mismatch)
		}
	}
}

func TestLongValuesAndNamesAreShortened(t *testing.T) {
	long := strings.Repeat("é", 500)
	doc := fmt.Sprintf(`{%q: %q}`, long, long)
	for _, schema := range []string{`{"additionalProperties":{"type":"null"}}`, `{"patternProperties":{"":{"type":"null"}}}`} {
		err := mustCompile(t, schema).Check([]byte(doc))
		want := fmt.Sprintf(`field /%s…: expected null, got string "%s…`, long[:120], long[:118])
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %v", schema, err, want)
		}
	}
}

func TestNumbersAreComparedExactly(t *testing.T) {
	tests := []struct {
		schema, doc string
		fits        bool
	}{
		{`{"maximum":9007199254740992}`, `9007199254740992`, true},
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"maximum":0.1}`, `0.1000000000000000000000000001`, false},
		{`{"minimum":-0.0}`, `-0`, true},
		{`{"exclusiveMinimum":0}`, `1e-400`, true},
		{`{"exclusiveMinimum":0}`, `-0.0e5`, false},
		{`{"minimum":-2}`, `-19e-1`, true},
		{`{"minimum":-2}`, `-21e-1`, false},
		{`{"minimum":-3}`, `-20`, false},
		{`{"maximum":-3}`, `-20`, true},
		{`{"minimum":12.5}`, `1.25e1`, true},
		{`{"type":"integer"}`, `12.50e1`, true},
		{`{"type":"integer"}`, `12.5e0`, false},
		{`{"type":"integer"}`, `0.000`, true},
		{`{"const":100}`, `1.00e+2`, true},
		{`{"const":100}`, `1.01e+2`, false},
		{`{"enum":[1,0.5]}`, `5E-1`, true},
	}
	for _, test := range tests {
		if err := mustCompile(t, test.schema).Check([]byte(test.doc)); (err == nil) != test.fits {
			t.Errorf("%s %s: got %v", test.schema, test.doc, err)
		}
		if err := fullOf(t, []byte(test.schema)).Check([]byte(test.doc)); (err == nil) != test.fits {
			t.Errorf("jsonschema: %s %s: got %v", test.schema, test.doc, err)
		}
	}
}

func TestOptionsMustHaveTheTypeThatTheSchemaNames(t *testing.T) {
	for _, test := range []struct{ schema, doc, want string }{
		{`{"type":"string","enum":["a",null]}`, `null`, `the arguments: expected "a", got null`},
		{`{"type":"integer","enum":[1,1.5,"1"]}`, `1.5`, `the arguments: expected 1, got number 1.5`},
		{`{"enum":["null","true","3"]}`, `null`, `the arguments: expected one of "null", "true", "3", got null`},
		{`{"enum":["null","true","3"]}`, `true`, `the arguments: expected one of "null", "true", "3", got boolean true`},
		{`{"enum":["null","true","3"]}`, `3`, `the arguments: expected one of "null", "true", "3", got number 3`},
		{`{"type":"string","enum":[1]}`, `1`, `the arguments: not allowed here`},
		{`{"enum":["a","b"],"const":"a"}`, `"b"`, `the arguments: expected "a", got string "b"`},
		{`{"enum":["b"],"const":"a"}`, `"a"`, `the arguments: expected "b", got string "a"`},
	} {
		if err := mustCompile(t, test.schema).Check([]byte(test.doc)); err == nil || err.Error() != test.want {
			t.Errorf("%s %s:\n got %v\nwant %v", test.schema, test.doc, err, test.want)
		}
	}
	long := `{"enum":[` + strings.Repeat(`"x",`, 24) + `"y"]}`
	if err := mustCompile(t, long).Check([]byte(`1`)); err == nil || !strings.Contains(err.Error(), `"x" and 5 more, got`) {
		t.Errorf("got %v", err)
	}
}

func TestAFieldMayBeRequiredWithoutBeingDeclared(t *testing.T) {
	schema := mustCompile(t, `{"required":["x"],"additionalProperties":{"type":"integer"}}`)
	for doc, want := range map[string]string{
		`{"x":1}`:   "<nil>",
		`{"x":"1"}`: `field /x: expected integer, got string "1"`,
		`{"y":1}`:   `field /x: required, but missing`,
	} {
		if got := fmt.Sprint(schema.Check([]byte(doc))); got != want {
			t.Errorf("%s: got %s", doc, got)
		}
	}
	if mustCompile(t, `{"required":["x"],"additionalProperties":false}`).Check([]byte(`{"x":1}`)) == nil {
		t.Error("a field was accepted that must not be there")
	}
}

func TestAFittingTextCostsNoAllocation(t *testing.T) {
	for name, test := range map[string][2]string{
		"small":   {`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`, `{"a":2,"b":3}`},
		"all":     {paintSchema, `{"a":"éé","b":1,"c":[1,2],"color":"green","kind":"paint"}`},
		"escapes": {`{"properties":{"text":{"type":"string"}}}`, `{"text":"\u00e9 \"quoted\"\n"}`},
		"unknown": {`{}`, `{"a":{"b":[{"c":1,"d":"é","e":null}]},"f":1e5,"g":-0.1}`},
	} {
		schema, doc := mustCompile(t, test[0]), []byte(test[1])
		if got := testing.AllocsPerRun(100, func() {
			if err := schema.Check(doc); err != nil {
				t.Fatal(err)
			}
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

func TestASchemaMayBeUsedConcurrently(t *testing.T) {
	for _, more := range []string{"", `,"minProperties":1`} {
		schema := mustCompile(t, `{"properties":{"a":{"type":"string","pattern":"^x"}},"required":["b"]`+more+`}`)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if err := schema.Check([]byte(`{"a":"y"}`)); err == nil || len(err.(*Mismatch).Problems) != 2 {
						t.Errorf("got %v", err)
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestSchemaErrorsNameThePlace(t *testing.T) {
	tests := []struct{ schema, want string }{
		{`{"properties":{"a":{"type":"dict"}}}`, `/properties/a/type: "dict" is not a JSON Schema type`},
		{`{"type":["string","any"]}`, `/type/1: "any" is not a JSON Schema type`},
		{`{"$defs":{"x":{"anyOf":[{"type":"float"}]}}}`, `/$defs/x/anyOf/0/type: "float" is not a JSON Schema type`},
		{`{"patternProperties":{"a/b":{"items":[{"type":"tuple"}]}}}`, `/patternProperties/a~1b/items/0/type: "tuple" is not a JSON Schema type`},
		{`{"dependencies":{"a":["b"],"b":{"type":"list"}}}`, `/dependencies/b/type: "list" is not a JSON Schema type`},
		{`{"not":{"type":3}}`, `/not/type: expected the name of a type, got number 3`},
		{`{"type":[]}`, `/type: names no type`},
		{`{"properties":[]}`, `/properties: expected an object, got array []`},
		{`{"properties":{"a":"string"}}`, `/properties/a: expected an object or a boolean, got string "string"`},
		{`{"required":"a"}`, `/required: expected an array of names, got string "a"`},
		{`{"required":[1]}`, `/required/0: expected a name, got number 1`},
		{`{"enum":"a"}`, `/enum: expected an array, got string "a"`},
		{`{"minimum":"1"}`, `/minimum: expected a number, got string "1"`},
		{`{"minLength":-1}`, `/minLength: expected a whole number from 0 up, got number -1`},
		{`{"maxItems":1.5}`, `/maxItems: expected a whole number from 0 up, got number 1.5`},
		{`{"pattern":"(?=a)"}`, "/pattern: not a regular expression that Go (RE2) knows: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`{"patternProperties":{"(?!a)":true}}`, "/patternProperties/(?!a): not a regular expression that Go (RE2) knows: error parsing regexp: invalid or unsupported Perl syntax: `(?!`"},
		{`{"pattern":1}`, `/pattern: expected a regular expression, got number 1`},
		{`[]`, `the root: expected an object or a boolean, got array []`},
		{`{"uniqueItems":"yes"}`, `/uniqueItems: expected boolean, got string "yes"`},
		{`{"minimum":true}`, `/minimum: expected number, got boolean true`},
		{`{"$ref":"#/$defs/no"}`, `$ref #/$defs/no: leads nowhere`},
		{`{"$ref":"#no"}`, `$ref #no: leads nowhere`},
		{`{"$ref":"http://127.0.0.1:1/x.json"}`, `http://127.0.0.1:1/x.json is outside the schema, and nothing is fetched`},
		{`{"$ref":"file:///etc/passwd"}`, `file:///etc/passwd is outside the schema, and nothing is fetched`},
		{`{"$ref":"other.json"}`, `memory:///other.json is outside the schema, and nothing is fetched`},
		{`{"$schema":"http://127.0.0.1:1/x.json"}`, `http://127.0.0.1:1/x.json is outside the schema, and nothing is fetched`},
		{`{"properties":{"a":{"$id":"x","$schema":"http://127.0.0.1:1/x.json"}}}`, `http://127.0.0.1:1/x.json is outside the schema, and nothing is fetched`},
		{`{"a":1,"a":2}`, `field /a: given twice`},
		{`{"a":`, `cannot read the JSON at byte 5: the text ends in the middle of an object, where a value was expected, near: {"a":`},
		{`"` + strings.Repeat("x", maxSchemaSize) + `"`, `262146 bytes are more than the 262144 allowed`},
	}
	for _, test := range tests {
		_, err := Compile([]byte(test.schema))
		if err == nil || err.Error() != "schema: "+test.want {
			t.Errorf("%.200s:\n got %v\nwant schema: %s", test.schema, err, test.want)
		}
	}
}

func TestAFileIsNotReadForASchema(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "file://" + filepath.ToSlash(file)
	if _, err := Compile([]byte(`{"$ref":"` + url + `"}`)); !errors.Is(err, errOutside) {
		t.Errorf("got %v", err)
	}
}

func TestASchemaMayHaveManyProperties(t *testing.T) {
	for _, count := range []int{64, 65, 256, 257, 300} {
		properties := map[string]any{}
		for i := range count {
			properties[fmt.Sprintf("%03d", i)] = map[string]any{"type": "integer"}
		}
		last := fmt.Sprintf("%03d", count-1)
		schema, err := json.Marshal(map[string]any{"properties": properties, "required": []string{last}})
		if err != nil {
			t.Fatal(err)
		}
		s := mustCompile(t, string(schema))
		if byNodes := s.rest == nil; byNodes != (count <= 256) {
			t.Errorf("%d properties: checked by nodes: %v", count, byNodes)
		}
		optional, err := json.Marshal(map[string]any{"properties": properties})
		if err != nil {
			t.Fatal(err)
		}
		if mustCompile(t, string(optional)).Check([]byte(`{"`+last+`":"1"}`)) == nil {
			t.Errorf("%d properties: the last one was not checked", count)
		}
		for doc, want := range map[string]string{
			`{}`:                   "field /" + last + ": required, but missing",
			`{"` + last + `":1}`:   "<nil>",
			`{"` + last + `":"1"}`: "field /" + last + `: expected integer, got string "1"`,
		} {
			if got := fmt.Sprint(s.Check([]byte(doc))); got != want {
				t.Errorf("%d properties, %s: got %s", count, doc, got)
			}
		}
	}
}
