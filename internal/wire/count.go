package wire

import (
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A Count is a number, or a text that is one. Anything else is 0.
type Count float64

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(data []byte) error {
	if n, err := strconv.ParseFloat(strings.Trim(string(data), `" `), 64); err == nil && n > 0 {
		*c = Count(n)
	}
	return nil
}

// Tokens is a count that can be added up without overflow.
func (c Count) Tokens() int { return int(min(c, 1e12)) }

// Usage is a usage whose parts are no larger than what they are parts of.
func Usage(input, cached, written, output, reasoning Count) troupe.Usage {
	u := troupe.Usage{Input: input.Tokens(), Output: output.Tokens()}
	u.CachedInput = min(cached.Tokens(), u.Input)
	u.CacheWrite = min(written.Tokens(), u.Input-u.CachedInput)
	u.Reasoning = min(reasoning.Tokens(), u.Output)
	return u
}
