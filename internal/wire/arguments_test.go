package wire

import "testing"

func TestArgumentsAreFitToBeSentBack(t *testing.T) {
	for given, want := range map[string]string{
		"": "{}", `{"a":1}`: `{"a":1}`, `{"a":`: `{"invalid_json":"{\"a\":"}`, `"{\"a\":1}"`: `{"a":1}`, `"a"`: `{"invalid_json":"\"a\""}`, `"{\"a\":"`: `{"invalid_json":"\"{\\\"a\\\":\""}`,
	} {
		if got := Arguments(given); got != want {
			t.Errorf("%s goes back as %s, want %s", given, got, want)
		}
	}
}
