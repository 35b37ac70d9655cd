package answer_test

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
)

func TestNullForAFieldThatMayBeLeftOut(t *testing.T) {
	check := schemaOf(t, `{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"string"},
		"list":{"type":"array","items":{"type":"object","properties":{"a~/b":{"type":"string"},"c":{"type":"boolean"}}}}}}`)
	for text, want := range map[string]string{
		`{"a":1,"b":null}`:                          `{"a":1}`,
		`{"b":null,"a":1}`:                          `{"a":1}`,
		`{ "b" : null , "c":null,"a":1 }`:           `{"a":1 }`,
		`{"a":"1","c":null,"b":null}`:               `{"a":1}`,
		`{"a":1,"list":[{"c":null},{"a~/b":null}]}`: `{"a":1,"list":[{},{}]}`,
		"Here:\n```json\n{\"a\":1,\"b\":null}\n```": `{"a":1}`,
		`{"a":null}`:                                "",
		`{"a":1,"b":"x","b":null}`:                  "",
		`{"a":1,"b":null,"b":"x"}`:                  "",
		`{"a":1,"list":[null]}`:                     "",
		`null`:                                      "",
	} {
		got, err := answer.Read(text, check)
		if string(got.JSON) != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %s, %v", text, got.JSON, err)
		}
		if meant, ok := answer.Meant([]byte(text), check); text[0] == '{' && (string(meant) != want || ok != (want != "")) {
			t.Errorf("%s: as arguments %s, %v", text, meant, ok)
		}
	}
}
