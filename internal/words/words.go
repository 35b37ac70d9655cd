// Package words writes what several parts of the program say in the same way.
package words

import (
	"strconv"
	"strings"
)

// Counted is a number of things, as people write it.
func Counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// Dollars is an amount that somebody chose or asks for, as the page writes it: whole where it is
// whole, otherwise with both cents, and with more digits where it has more. What a call has cost
// was measured, and has as many digits as there is room for.
func Dollars(amount float64) string {
	whole, cents, _ := strings.Cut(strings.TrimRight(strconv.FormatFloat(amount, 'f', 9, 64), "0"), ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	switch len(cents) {
	case 0:
		return "$" + whole
	case 1:
		cents += "0"
	}
	return "$" + whole + "." + cents
}

// ModelName names a model by its provider, as people write it where they choose one. The
// provider may not be known.
func ModelName(provider, model string) string {
	if provider == "" || model == "" || strings.HasPrefix(model, provider+"/") {
		return model
	}
	return provider + "/" + model
}

// Person names somebody who did something. Whoever runs the program alone has no name.
func Person(name string) string {
	if name == "" {
		return "a person"
	}
	return name
}
