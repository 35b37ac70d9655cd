package answer_test

import (
	"encoding/json"
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
)

const callSchema = `{"type":"object","required":["n"],"additionalProperties":false,"properties":{
	"n":{"type":"integer"},"b":{"type":"boolean"},"e":{"type":"string","enum":["red","blue"]},"s":{"type":"string"},
	"l":{"type":["null","array"],"items":{"type":"string"}},"ll":{"type":"array","items":{"type":"integer"}},
	"sub":{"type":"object","required":["x"],"additionalProperties":false,"properties":{"x":{"type":"integer"},"y":{"type":"array"}}},
	"either":{"type":["array","string"]},"p":{"type":["null","integer"]},"any":{}}}`

// What has one meaning only is taken as meant, in arguments as in answers.
func TestArgumentsAreTakenAsMeant(t *testing.T) {
	check := schemaOf(t, callSchema)
	for text, want := range map[string]string{
		`{"n":"4"}`:                              `{"n":4}`,
		`{"n":4,"b":"True"}`:                     `{"n":4,"b":true}`,
		`{"n":4,"e":"Red"}`:                      `{"n":4,"e":"red"}`,
		`{"n":4,"s":7}`:                          `{"n":4,"s":"7"}`,
		`{"n":4,"p":"5"}`:                        `{"n":4,"p":5}`,
		`{"n":4,"l":"[\"a\"]"}`:                  `{"n":4,"l":["a"]}`,
		`{"n":4,"l":" [\"a\", \"b\"]\n"}`:        `{"n":4,"l":["a", "b"]}`,
		`{"n":4,"ll":"[1,\"2\"]"}`:               `{"n":4,"ll":[1,2]}`,
		`{"n":4,"sub":"{\"x\":1}"}`:              `{"n":4,"sub":{"x":1}}`,
		`{"n":4,"sub":"{\"x\":1,\"y\":\"[]\"}"}`: `{"n":4,"sub":{"x":1,"y":[]}}`,
		`"{\"n\":4}"`:                            `{"n":4}`,
		`{"n":4,}`:                               `{"n":4}`,
		`{"n":4,"l":["a",],}`:                    `{"n":4,"l":["a"]}`,
		"{\"n\":4}\n```":                         `{"n":4}`,
		"```json\n{\"n\":4}\n```":                `{"n":4}`,
		"{\"n\":\"4\",}\n```":                    `{"n":4}`,
		`{'n':4,'s':'it'}`:                       `{"n":4,"s":"it"}`,
		"{\"n\":4,\"s\":\"a\nb\"}":               `{"n":4,"s":"a\nb"}`,

		// These have another meaning, or none.
		`{"n":"four"}`:                      "",
		`{"n":4,"l":"one"}`:                 "",
		`{"n":4,"l":"[one]"}`:               "",
		`{"n":4,"l":"[\"a\"] and more"}`:    "",
		`{"n":4,"l":"{\"a\":1}"}`:           "",
		`{"n":4,"l":"[1]x"}`:                "",
		`{"n":4,"sub":"[1]"}`:               "",
		`{"n":4,"sub":"{\"x\":1,\"z\":2}"}`: "",
		`{"n":4,"e":"[\"red\"]"}`:           "",
		`{"n":4}{"n":5}`:                    "",
		`{"n":4} and {"n":4}`:               "",
		`{"n":4,"s":"cut of`:                "",
		`{"n":4,"s":"say "hi" to"}`:         "",
		`{"n":4`:                            "",
		`{"n":4,"ll":[1,...]}`:              "",
		`Call it with {"n":4}`:              "",
		`[]`:                                "",
	} {
		got, ok := answer.Meant([]byte(text), check)
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: taken for %s, %v; not for %s", text, got, ok, want)
		}
	}
	// A string that the schema takes stays one.
	for _, text := range []string{`{"n":4,"either":"[1]"}`, `{"n":4,"any":"[1]"}`, `{"n":4,"s":"[1]"}`} {
		if err := check.Check([]byte(text)); err != nil {
			t.Error(err)
		}
	}
}

// Whatever arguments are taken for fits the schema, is sound, and is taken for itself.
func FuzzMeant(f *testing.F) {
	check := schemaOf(f, callSchema)
	for _, seed := range []string{`{"n":"4"}`, `{"n":4,"l":"[\"a\"]"}`, `{"n":4,"sub":"{\"x\":1}",}`, "{\"n\":4}\n```", `{'n':4}`, `"{\"n\":4}"`, `{"n":4,"l":"[\"[]\"]"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := answer.Meant(text, check)
		if !ok {
			return
		}
		if !json.Valid(got) || check.Check(got) != nil {
			t.Fatalf("%q is taken for %q, which does not fit", text, got)
		}
		if again, ok := answer.Meant(got, check); !ok || string(again) != string(got) {
			t.Fatalf("%q is taken for %q, and that for %q", text, got, again)
		}
	})
}
