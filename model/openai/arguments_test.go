package openai

import (
	"encoding/json"
	"testing"
)

func TestArgumentsThatAreSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   string // empty where the call must be refused
	}{
		"the same":                      {[]string{`{"n":1}`, `{"n": 1}`}, `{"n":1}`},
		"nothing first":                 {[]string{`{}`, `{"n":1}`}, `{"n":1}`},
		"all there is so far":           {[]string{`{"text":"a"}`, `{"text":"ab"}`, `{"text":"ab","n":[1]}`, `{"text":"ab","n":[1,2]}`}, `{"text":"ab","n":[1,2]}`},
		"the same, and not to the end":  {[]string{`{"n":1}`, `{"n":`}, `{"n":1}`},
		"another value":                 {[]string{`{"n":1}`, `{"n":2}`}, ""},
		"another value, and more of it": {[]string{`{"n":1}`, `{"n":2}`, `{"n":2,"m":3}`}, ""},
		"another field":                 {[]string{`{"path":"a"}`, `{"name":"b"}`}, ""},
		"another value, piece by piece": {[]string{`{"n":1}`, `{"n"`, `:2}`}, ""},
	} {
		var a arguments
		for _, piece := range c.pieces {
			a.add(piece)
		}
		got := a.String()
		if c.want == "" && json.Valid([]byte(got)) || c.want != "" && got != c.want {
			t.Errorf("%s: %q became %s", name, c.pieces, got)
		}
	}
}
