package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/troupe-dev/troupe"
	engine "github.com/troupe-dev/troupe/engine/temporal"
)

// An outage says once that Temporal is away and once that it is back, in the place of every attempt that
// Temporal's library makes meanwhile and logs.
type outage struct {
	log   *slog.Logger
	began chan error // why something was in vain; one is enough
}

func newOutage(log *slog.Logger) *outage { return &outage{log, make(chan error, 1)} }

// logger is for Temporal's library.
func (o *outage) logger() log.Logger {
	return log.NewStructuredLogger(slog.New(attempts{o.log.Handler(), o}))
}

const (
	// backPause is how often it is looked whether Temporal is back, and thereTime how long that may take.
	backPause = time.Second
	thereTime = 5 * time.Second
)

// watch says that Temporal is away and back until ctx is done. What isThere says decides.
func (o *outage) watch(ctx context.Context, isThere func(context.Context) bool) {
	pause := time.NewTicker(backPause)
	defer pause.Stop()
	isAway := false
	for {
		select {
		case err := <-o.began:
			if !isAway && !isThere(ctx) && ctx.Err() == nil {
				isAway = true
				o.log.Warn("Temporal is away: runs that are under way go on, and new ones wait", "err", err)
			}
		case <-pause.C:
			if isAway && isThere(ctx) {
				isAway = false
				o.log.Warn("Temporal is back")
			}
		case <-ctx.Done():
			return
		}
	}
}

// isThere reports whether Temporal answers.
func (p *program) isThere(ctx context.Context) bool {
	ctx, stop := context.WithTimeout(ctx, thereTime)
	defer stop()
	_, err := p.client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err == nil
}

// attempts handles what Temporal's library logs: what says that Temporal is away goes to the outage.
type attempts struct {
	slog.Handler
	outage *outage
}

// Handle implements [slog.Handler].
func (a attempts) Handle(ctx context.Context, r slog.Record) error {
	var logged error
	r.Attrs(func(attr slog.Attr) bool {
		logged, _ = attr.Value.Any().(error)
		return logged == nil
	})
	switch {
	case errors.Is(logged, troupe.ErrClosed): // the worker was told to end, and has left its run to others
	case temporal.IsCanceledError(logged): // somebody wanted that
	case engine.IsAway(logged):
		select {
		case a.outage.began <- logged:
		default: // it is said, or about to be
		}
	default:
		return a.Handler.Handle(ctx, r)
	}
	return nil
}

// WithAttrs implements [slog.Handler].
func (a attempts) WithAttrs(attrs []slog.Attr) slog.Handler {
	return attempts{a.Handler.WithAttrs(attrs), a.outage}
}

// WithGroup implements [slog.Handler].
func (a attempts) WithGroup(name string) slog.Handler {
	return attempts{a.Handler.WithGroup(name), a.outage}
}
