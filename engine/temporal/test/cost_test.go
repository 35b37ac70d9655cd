//go:build unix

package test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/internal/worktest"
	"github.com/troupe-dev/troupe/store/postgres"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/work"
)

// prompt is a model that takes no time: it calls a tool, and answers when it has the result.
type prompt struct{}

func (prompt) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		chunk, finish := troupe.Chunk{Text: "It is noon."}, troupe.FinishStop
		if req.Messages[len(req.Messages)-1].Role != troupe.RoleTool {
			chunk, finish = troupe.Chunk{Call: &troupe.ToolCall{ID: "c1", Name: "clock", Arguments: "{}"}}, troupe.FinishCalls
		}
		if yield(chunk, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: finish, Usage: troupe.Usage{Input: 100, Output: 10}}}, nil)
		}
	}
}

func newClerk(t *testing.T) troupe.Step {
	t.Helper()
	clock := troupe.NewTool("clock", "Says what time it is.", func(context.Context, struct{}) (string, error) { return "noon", nil })
	clerk, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: "You answer.", Model: prompt{}, Tools: []troupe.Tool{clock}})
	if err != nil {
		t.Fatal(err)
	}
	return clerk
}

// A way is one of the ways to carry out runs.
type way struct {
	name  string
	store troupe.Store
	run   func(context.Context, troupe.Step, troupe.Input) iter.Seq2[troupe.Event, error]
}

const atOnce = 8

// each does something so many times, some at the same time, and says how often in a second, how long
// it took and what it cost this process.
func each(t *testing.T, times int, do func(worker int) error) string {
	t.Helper()
	var left atomic.Int64
	left.Store(int64(times))
	took := make([][]time.Duration, atOnce)
	var wg sync.WaitGroup
	began, used := time.Now(), processorTime()
	for worker := range atOnce {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				if err := do(worker); err != nil {
					t.Error(err)
					return
				}
				took[worker] = append(took[worker], time.Since(began))
			}
		})
	}
	wg.Wait()
	elapsed, cost := time.Since(began), processorTime()-used
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		t.Fatal("nothing was done")
	}
	return fmt.Sprintf("%7.0f/s, median %s, p99 %s, %s of this process's time", float64(len(all))/elapsed.Seconds(),
		all[len(all)/2].Round(10*time.Microsecond), all[len(all)*99/100].Round(10*time.Microsecond), (cost / time.Duration(len(all))).Round(time.Microsecond))
}

// processorTime is what this process has used of the processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// appends measures how fast events are stored, each waited for until it is on disk.
func (w way) appends(t *testing.T, times int) string {
	t.Helper()
	text := &troupe.UserSaid{Text: strings.Repeat("a message of some length. ", 20)}
	var leases [atOnce]troupe.Lease
	var next [atOnce]int64
	id := func(worker int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", worker) }
	for worker := range leases {
		var err error
		if leases[worker], err = w.store.Acquire(t.Context(), id(worker)); err != nil {
			t.Fatal(err)
		}
		defer leases[worker].Release(t.Context())
	}
	return each(t, times, func(worker int) error {
		next[worker]++
		return w.store.Append(t.Context(), id(worker), troupe.Event{
			Seq: next[worker], Time: time.Now().UTC(), Session: id(worker), Run: "r", Step: fmt.Sprint(next[worker]), Agent: "clerk", Epoch: leases[worker].Epoch(), Body: text,
		})
	})
}

// turns measures turns with a tool call, each in a session of its own.
func (w way) turns(t *testing.T, times int) string {
	t.Helper()
	clerk := newClerk(t)
	return each(t, times, func(int) error {
		for _, err := range w.run(t.Context(), clerk, troupe.Input{Text: "What time is it?"}) {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func newTestEngine(t *testing.T, store troupe.Store) *troupe.Engine {
	t.Helper()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// ways makes the three ways, on disks that are waited for.
func ways(t *testing.T) []way {
	t.Helper()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "troupe.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	database := postgrestest.Start(t, "fsync=on")
	open := func(address string) *postgres.Store {
		s, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	address := database.Schema()
	// The server and the worker are processes of their own elsewhere.
	alone, serving, dispatched := open(database.Schema()), open(address), open(address)
	clerk := newClerk(t)
	runner := &work.Runner{Engine: newTestEngine(t, serving), Recorder: work.Recorder{Store: serving}, Queue: serving}
	c := connect(t)
	worker := (&temporal.Worker{Engine: newTestEngine(t, dispatched), Store: dispatched, Jobs: dispatched, Seize: dispatched.Seize, Step: func(context.Context, work.Job) (troupe.Step, error) {
		return clerk, nil
	}}).New(c)
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Stop)
	ctx, cancel := context.WithCancel(t.Context())
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		(&temporal.Dispatcher{Client: c}).Relay(ctx, dispatched, slogTo(t))
	}()
	t.Cleanup(func() { cancel(); <-relayed })
	return []way{
		{"SQLite", file, newTestEngine(t, file).Run},
		{"PostgreSQL", alone, newTestEngine(t, alone).Run},
		{"PostgreSQL with Temporal", dispatched, runner.Run},
	}
}

// What an append and a turn cost in each of the ways, in one run: in few turns here, in many by
// make scale.
func TestWhatATurnCosts(t *testing.T) {
	turns := worktest.Scaled(t, "TROUPE_TURNS", 8)
	for _, w := range ways(t) {
		t.Logf("%-24s appends %s", w.name, w.appends(t, 4*turns))
		t.Logf("%-24s turns   %s", w.name, w.turns(t, turns))
	}
}
