package script_test

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/script"
)

func TestCharactersBecomeWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain words": "plain words", "日本": " 日  本 ", "a日b": "a 日 b", "Übung": "Übung", "カ": " カ ",
	} {
		if got := script.Spread(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
