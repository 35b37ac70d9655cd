package sqlite

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatATextNeedsLeavesNothingOut(t *testing.T) {
	for _, c := range []struct {
		text, event string
		want        bool
	}{
		{"Lamp", `{"text":"the LAMP is lit"}`, true}, {"lamp", `{"text":"the tide is out"}`, false},
		{"lamp tide", `{"text":"the tide is out"}`, false}, {`"the tide"`, `{"text":"The Tide"}`, true},
		{"lamp-post", `{"text":"a post and a lamp"}`, true}, {"lamp*", `{"text":"lamps"}`, true},
		{"café", `{"text":"nothing of it"}`, true}, {"cafe", `{"text":"café"}`, true}, {"cafe", `{"text":"caf\\u00e9"}`, true},
		{"", `{}`, true}, {"a", ``, false}, {"aab", `xaaab`, true},
	} {
		if got := needed(c.text).mayBeIn(c.event); got != c.want {
			t.Errorf("%q in %s: %v", c.text, c.event, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[abAB ]{0,12}`).Draw(t, "text")
		word := rapid.StringMatching(`[ab]{1,4}`).Draw(t, "word")
		if got, want := containsFold(text, word), strings.Contains(strings.ToLower(text), word); got != want {
			t.Errorf("%q in %q: %v", word, text, got)
		}
	})
}
