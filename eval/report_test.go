package eval

import (
	"math"
	"testing"
)

// The values are those of Wilson's interval in the literature.
func TestIntervalsAreWilsons(t *testing.T) {
	for _, c := range []struct {
		passes, runs int
		low, high    float64
	}{
		{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {1, 1, 0.2065, 1}, {81, 100, 0.7222, 0.8749},
	} {
		low, high := interval(c.passes, c.runs)
		if math.Abs(low-c.low) > 0.0005 || math.Abs(high-c.high) > 0.0005 {
			t.Errorf("%d of %d: %.4f to %.4f, not %.4f to %.4f", c.passes, c.runs, low, high, c.low, c.high)
		}
	}
}

func TestToolsAreLookedForInOrder(t *testing.T) {
	called := []string{"read_file", "execute_workflow", "read_file", "save_output"}
	for _, c := range []struct {
		wanted []string
		fits   bool
	}{
		{[]string{"execute_workflow", "save_output"}, true}, {[]string{"read_file", "read_file"}, true},
		{[]string{"save_output", "execute_workflow"}, false}, {[]string{"read_file", "read_file", "read_file"}, false},
	} {
		if got := inOrder(c.wanted, called); (got == "") != c.fits {
			t.Errorf("%v: %q", c.wanted, got)
		}
	}
}
