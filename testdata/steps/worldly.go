// Package steps holds a step that does everything a step must not do.
package steps

import (
	"context"
	"math/rand/v2"
	"os"
	"time"

	"github.com/troupe-dev/troupe"
)

type worldly struct{}

func (worldly) Name() string { return "worldly" }

func (worldly) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	done := make(chan string)
	go func() { done <- os.Getenv("HOME") }()
	select {
	case in.Task = <-done:
	case <-ctx.Done():
	}
	time.Sleep(time.Duration(rand.Int64N(10)))
	in.Summary = time.Now().String()
	return in, nil
}
