package rawjson

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestWholeNumbersAreIntegers(t *testing.T) {
	type inner struct {
		Small int8   `json:"small"`
		Plain uint16 `json:"plain"`
	}
	type all struct {
		N     int      `json:"n"`
		F     float64  `json:"f"`
		Text  string   `json:"text"`
		Many  []int64  `json:"many"`
		Inner inner    `json:"inner"`
		Ptr   *int     `json:"ptr"`
		More  []string `json:"more"`
	}
	for text, want := range map[string]string{
		`{"n":1.0}`:          `{"n":1}`,
		`{"n":-1e2,"f":1.5}`: `{"n":-100,"f":1.5}`,
		`{"n":12.50e1,"f":2.0,"text":"1.0 \" 2.0"}`: `{"n":125,"f":2,"text":"1.0 \" 2.0"}`,
		`{"many":[1.0, 2, 3E0, -0.0, 0.5e1]}`:       `{"many":[1, 2, 3, 0, 5]}`,
		`{"n":9007199254740993.0}`:                  `{"n":9007199254740993}`,
		`{"n":1,"f":1e300}`:                         `{"n":1,"f":1e300}`, // nothing is wrong with it
	} {
		var got, expected all
		as, err := Decode([]byte(text), &got)
		if err != nil || string(as) != want {
			t.Errorf("%s: %s, %v", text, as, err)
			continue
		}
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(expected)
		if string(a) != string(b) {
			t.Errorf("%s: %s, want %s", text, a, b)
		}
	}
	for text, want := range map[string]string{
		`{"n":1.5}`:                  "/n: expected a whole number from -9223372036854775808 to 9223372036854775807, got 1.5",
		`{"n":99999999999999999999}`: "/n: expected a whole number from -9223372036854775808 to",
		`{"inner":{"small":300}}`:    "/inner/small: expected a whole number from -128 to 127, got 300",
		`{"inner":{"plain":-1.0}}`:   "/inner/plain: expected a whole number from 0 to 65535, got -1",
		`{"text":5}`:                 "/text: number does not fit here",
		`{"n":1e999999}`:             "/n: expected a whole number",
		`{"more":"x"}`:               "/more: string does not fit here",
	} {
		var got all
		if _, err := Decode([]byte(text), &got); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzIntegers(f *testing.F) {
	f.Add("1.0")
	f.Add("-12.50e1")
	f.Add("0e-3")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 40 || !json.Valid([]byte(text)) || strings.IndexByte("-0123456789", text[0]) < 0 {
			return
		}
		whole, ok := integer(text)
		want, isNumber := new(big.Rat).SetString(text)
		if !ok || !isNumber {
			return
		}
		got, isNumber := new(big.Rat).SetString(whole)
		if !isNumber || got.Cmp(want) != 0 || !got.IsInt() || !json.Valid([]byte(whole)) {
			t.Errorf("%s became %s", text, whole)
		}
	})
}
