package rawjson

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoNumberIsChanged(t *testing.T) {
	var got struct{ Values Values }
	text := `{"Values":{"id":9007199254740993,"small":42,"half":0.5,"round":9007199254740992,"list":[{"deep":-9223372036854775808},18446744073709551615,1e3],"none":null,"huge":1e999}}`
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := Values{
		"id": json.Number("9007199254740993"), "small": 42.0, "half": 0.5, "round": 9007199254740992.0,
		"list": []any{map[string]any{"deep": json.Number("-9223372036854775808")}, json.Number("18446744073709551615"), 1000.0}, "none": nil, "huge": json.Number("1e999"),
	}
	if diff := cmp.Diff(want, got.Values); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"Values":[1]}`), &got); err == nil {
		t.Error("a list is taken for an object")
	}
	if err := json.Unmarshal([]byte(`{"Values":null}`), &got); err != nil || got.Values != nil {
		t.Errorf("null: %v, %v", got.Values, err)
	}
}
