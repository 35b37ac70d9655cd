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

const want = `look_up_order {"number":"seventeen"}
  field /number: expected integer, got string "seventeen"
look_up_order {"number":71}
  ann has no order 71; the latest is 17
look_up_order {"number":17}
  order 17 of ann: 2 shelves at 49.50
calculator {"expression":"2 * 49.50"}
  {"result":"99","exact":true}
You paid 99 euros.
`
