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

const want = `invoice 2026-17: 99.00 EUR
the model was asked 2 times, because its first answer did not fit
`
