package knowledge

import (
	"fmt"
	"log/slog"
)

// A Secret is a password that prints as "[redacted]" wherever values are printed,
// logged or encoded.
type Secret string

const redacted = "[redacted]"

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }

// LogValue is "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON encodes "[redacted]".
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
