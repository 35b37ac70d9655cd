//go:build !failpoint

package failpoint

// Here is where p is.
func Here(Point) {}
