package ask

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Each choice is on a line of its own, whatever the model put into it, so that it can be offered.
func TestWhatIsAsked(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"question": " Do we keep personal data? "}`:                                  "Do we keep personal data?",
		`{"question": "Which price?", "choices": ["per seat", "flat:\n one for all"]}`: "Which price?\n\n1. per seat\n2. flat: one for all",
	} {
		_, err := New().Call(t.Context(), &troupe.Invocation{Arguments: []byte(arguments)})
		if needed, ok := errors.AsType[*troupe.InputNeeded](err); !ok || needed.Question != want || needed.Approval || needed.CallAgain {
			t.Errorf("%s asks %v, want %q", arguments, err, want)
		}
	}
	if _, err := New().Call(t.Context(), &troupe.Invocation{Arguments: fmt.Append(nil, `{"question": ""}`)}); errors.As(err, new(*troupe.InputNeeded)) {
		t.Error("nothing is asked")
	}
}
