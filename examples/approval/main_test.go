package main

import (
	"strings"
	"testing"
)

func TestMoneyMovesOnlyWhenAPersonSaysYes(t *testing.T) {
	for answer, want := range map[string]string{
		"yes\n":          "120 euros go to Ann\nI did what you decided.\n",
		"too much now\n": "I did what you decided.\n",
	} {
		var out strings.Builder
		if err := run(strings.NewReader(answer), &out); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "May I call pay with these arguments? (yes or no)\n\n    to: Ann\n    amount: 120\n"+want; got != want {
			t.Errorf("answered %q, it prints:\n%s\nwant:\n%s", answer, got, want)
		}
	}
}
