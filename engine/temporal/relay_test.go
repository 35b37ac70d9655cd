package temporal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe/work"
)

// An outbox that is out of reach.
type lostOutbox struct{}

func (lostOutbox) UnhandedJobs(context.Context, string, int, time.Duration) ([]work.Job, error) {
	return nil, errors.New("out of reach")
}
func (lostOutbox) HandJob(context.Context, string) error { return nil }

// Jobs that cannot be handed over are reported once, and not five times a second.
func TestJobsThatAreNotHandedOverAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		(&Dispatcher{}).Relay(ctx, lostOutbox{}, slog.New(slog.NewTextHandler(&told, nil)))
		if lines := strings.Count(told.String(), "\n"); lines != 1 {
			t.Errorf("%d lines: %.300s", lines, &told)
		}
	})
}
