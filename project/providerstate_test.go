package project

import "testing"

func TestAProviderIsNotAboutItsKeyBecauseOfItsName(t *testing.T) {
	for message, want := range map[string]string{
		"monkey.example is not known":                           "provider_down",
		"nothing listens at keys.example:8000":                  "provider_down",
		"monkey.example answers with an error of its own (500)": "provider_down",
		"api.example refuses the key in API_KEY (401)":          "key_refused",
		"api.example wants a key (401)":                         "key_refused",
	} {
		if got := stateOf(message); got != want {
			t.Errorf("%s: %s", message, got)
		}
	}
}
