package work

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Why a job is left to others is one line that says each thing once, and nothing of what was asked.
func TestTheReasonOfAJobThatIsLeftIsOneLine(t *testing.T) {
	away := errors.New("session 1: store: the database is away")
	for want, err := range map[string]error{
		"":                          fmt.Errorf("session 1: %w", troupe.ErrBusy),
		away.Error():                &troupe.RunError{Agent: "mira", Task: "a secret", Err: errors.Join(away, away)},
		away.Error() + "; and more": errors.Join(away, errors.New("and more"), away),
		"another process has taken the session over": errors.Join(fmt.Errorf("session 1: %w", troupe.ErrConflict), away),
		ErrDefinition.Error():                        ErrDefinition,
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
