// Package words writes what several parts of the program say in the same way.
package words

import "strconv"

// Counted is a number of things, as people write it.
func Counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
