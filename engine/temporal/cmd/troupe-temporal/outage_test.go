package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/troupe-dev/troupe"
)

// However often Temporal's library tries, there is one line when Temporal is away and one when it is back.
func TestAnOutageIsTwoLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		away := newOutage(slog.New(slog.NewTextHandler(&told, nil)))
		ctx, stop := context.WithCancel(t.Context())
		var isThere atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			away.watch(ctx, func(context.Context) bool { return isThere.Load() })
		}()
		library := log.With(away.logger(), "TaskQueue", "troupe")
		poll := func() {
			for range 20 {
				library.Warn("Failed to poll for task.", "Error", serviceerror.NewUnavailable("connection refused"))
				time.Sleep(time.Second)
			}
		}
		poll()
		isThere.Store(true)
		time.Sleep(2 * backPause)
		poll() // what was under way when it came back
		library.Warn("Something else.", "Error", errors.New("of another kind"))
		library.Error("Activity error.", "Error", temporal.NewApplicationErrorWithCause("to be tried again", "try_again", troupe.ErrClosed)) // as the worker was told
		library.Error("Activity error.", "Error", temporal.NewCanceledError())                                                               // as somebody wanted
		stop()
		<-done
		lines := strings.Split(strings.TrimSpace(told.String()), "\n")
		if len(lines) != 3 || !strings.Contains(lines[0], "Temporal is away") || !strings.Contains(lines[1], "Temporal is back") || !strings.Contains(lines[2], "of another kind") {
			t.Errorf("%q", lines)
		}
	})
}

// The program says which variable is not set.
func TestAnAddressThatIsNotSetIsNamed(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "")
	t.Setenv("TEMPORAL_CONFIG_FILE", t.TempDir()+"/none")
	ctx, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	_, _, err := connect(ctx, newOutage(slog.New(slog.DiscardHandler)).logger())
	if err == nil || !strings.HasPrefix(err.Error(), "TEMPORAL_ADDRESS is not set, and no Temporal answers at localhost:7233, which is the default") {
		t.Errorf("%v", err)
	}
}

// Whoever started the program is gone when its standard input ends.
func TestTheProgramEndsWithItsStandardInput(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	endWith(strings.NewReader("x"), end)
	if ctx.Err() == nil {
		t.Error("it goes on")
	}
}
