package main

import (
	"strings"
	"testing"
)

func TestItPrintsWhatItSays(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != want {
		t.Errorf("it prints:\n%s\nwant:\n%s", got, want)
	}
}

const want = `you: I want my money back.
(front hands over to billing)
billing: Which order is it?
you: It is order 17.
billing: Order 17 is refunded.
`
