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
