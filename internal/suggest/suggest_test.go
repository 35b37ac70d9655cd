package suggest_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/suggest"
)

func TestClosestFindsWhatWasMeant(t *testing.T) {
	names := []string{"model", "providers", "bundles", "alex", "casey-analyst"}
	for written, want := range map[string]string{
		"modle":         "model",
		"Model":         "model",
		"provider":      "providers",
		"bundels":       "bundles",
		"alx":           "alex",
		"casey-analist": "casey-analyst",
		"":              "",
		"zebra":         "",
		"al":            "",
	} {
		got, ok := suggest.Closest(written, names)
		if got != want || ok != (want != "") {
			t.Errorf("Closest(%q) = %q, %v; want %q", written, got, ok, want)
		}
	}
}

func TestLongWordsAreNotCompared(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	if got, ok := suggest.Closest(long, []string{long + "b"}); ok {
		t.Errorf("a word of %d bytes has a suggestion of %d", len(long), len(got))
	}
	if got, ok := suggest.Closest("aaa", []string{long}); ok {
		t.Errorf("a name of %d bytes was suggested", len(got))
	}
}

func TestHintIsEmptyWhereNothingIsClose(t *testing.T) {
	if got := suggest.Hint("zebra", []string{"alex"}); got != "" {
		t.Errorf("hint %q", got)
	}
	if got := suggest.Hint("alexx", []string{"alex"}); got != "; did you mean alex?" {
		t.Errorf("hint %q", got)
	}
}
