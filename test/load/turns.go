//go:build unix

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// throng is how many conversations there are at a time when turns are counted.
	throng = 50
	// turnsEach is how many turns a conversation has before another one begins.
	turnsEach = 10
)

// countTurns has conversations one after the other, some at a time, with a model
// that answers at once, and counts their turns: those in which it calls a tool and is
// asked again with the result, and those in which it only answers.
func (w *world) countTurns(ctx context.Context) error {
	if err := w.countTurnsOf(ctx, "turns", "turns per second with a tool call, so two model calls", question); err != nil {
		return err
	}
	return w.countTurnsOf(ctx, "answers", "turns per second with one model call", greeting)
}

// countTurnsOf counts the turns that somebody has who always says the same.
func (w *world) countTurnsOf(ctx context.Context, project, what, text string) error {
	dir, err := w.newProject(project)
	if err != nil {
		return err
	}
	child, err := w.serve(ctx, dir)
	if err != nil {
		return err
	}
	defer child.stop()
	var done atomic.Int64
	began := time.Now()
	over := began.Add(time.Duration(w.seconds) * time.Second)
	var talking sync.WaitGroup
	for range throng {
		talking.Go(func() {
			for ctx.Err() == nil && time.Now().Before(over) {
				n, err := child.chat(ctx, text, turnsEach)
				if done.Add(int64(n)); err != nil {
					w.report.fail(err)
				}
			}
		})
	}
	talking.Wait()
	took, memory := time.Since(began), child.memory()
	child.stop()
	w.report.row(fmt.Sprintf("%s, %d conversations at a time", what, throng), "%.0f", float64(done.Load())/took.Seconds())
	w.report.row("- processor time of the server for each", "%v", (child.spent() / time.Duration(max(done.Load(), 1))).Round(time.Microsecond))
	w.report.row("- memory of the server at most", "%s", memory)
	return ctx.Err()
}

// chat has a conversation and returns how many turns it has had.
func (c *child) chat(ctx context.Context, text string, turns int) (done int, err error) {
	v, err := c.converse(ctx)
	if err != nil {
		return 0, err
	}
	defer v.close()
	for done < turns {
		if _, err := v.say(ctx, text); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}
