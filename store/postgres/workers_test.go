//go:build unix

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/internal/worktest"
	"github.com/troupe-dev/troupe/work"
)

// workVariable says to the test's own program that it is a worker: the address of the
// store and the place of its work.
const workVariable = "TROUPE_TEST_WORK"

// workLease is how long a worker that is not heard of keeps its runs.
const workLease = time.Second

// workIfTold makes this process a worker, if it was started as one.
func workIfTold() {
	told := strings.Split(os.Getenv(workVariable), "\n")
	if len(told) != 2 {
		return
	}
	if err := carryOut(context.Background(), told[0], worktest.Place(told[1])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// carryOut does what 'troupe worker' does, until it is killed.
func carryOut(ctx context.Context, address string, place worktest.Place) error {
	s, err := Open(ctx, address, Options{Lease: workLease})
	if err != nil {
		return err
	}
	defer s.Close()
	engine, err := troupe.New(troupe.Config{Store: s})
	if err != nil {
		return err
	}
	defer engine.Close()
	w := &work.Worker{Engine: engine, Queue: s, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Step: func(_ context.Context, job work.Job) (troupe.Step, error) {
		return place.Step(job.Step)
	}}
	return w.Work(ctx)
}

// A crew is workers that are killed and replaced.
type crew struct {
	t       *testing.T
	address string
	place   worktest.Place
	workers []*worker
}

type worker struct {
	*exec.Cmd
	said  bytes.Buffer
	ended chan error
}

func (c *crew) hire() *worker {
	w := &worker{Cmd: exec.Command(os.Args[0]), ended: make(chan error, 1)}
	w.Env = append(os.Environ(), workVariable+"="+c.address+"\n"+string(c.place))
	w.Stderr = &w.said
	if err := w.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { w.ended <- w.Wait() }()
	return w
}

// replace has another worker in the place of one that has ended.
func (c *crew) replace(i int) {
	_ = c.workers[i].Process.Kill()
	<-c.workers[i].ended
	c.workers[i] = c.hire()
}

// lookAfter replaces workers that came while the database was away.
func (c *crew) lookAfter() {
	for i, w := range c.workers {
		select {
		case err := <-w.ended:
			if !strings.Contains(w.said.String(), ErrUnreachable.Error()) {
				c.t.Errorf("a worker ended: %v: %s", err, w.said.String())
			}
			c.workers[i] = c.hire()
		default:
		}
	}
}

// Three workers on one database, killed and frozen for longer than their leases last, and
// the database killed as well: every run ends, those that ask somebody and those that change a
// repository too, and nothing is done twice.
func TestWorkersThatAreKilledAndFrozenLoseAndDoubleNothing(t *testing.T) {
	server := postgrestest.Start(t)
	c := &crew{t: t, address: server.Address("postgres"), place: worktest.New(t)}
	s := openAt(t, c.address, Options{Lease: workLease})
	for range 3 {
		c.workers = append(c.workers, c.hire())
	}
	defer func() {
		for _, w := range c.workers {
			_ = w.Process.Kill()
			<-w.ended
		}
	}()
	pace := worktest.Begin(t, 12, 9)
	total := 0
	for n := range pace.Runs {
		total += worktest.EntriesOf(worktest.Kind(n))
	}
	var sessions []string
	var takeovers worktest.Takeovers
	killed, frozen, crashes := 0, 0, 0
	last := time.Now()
	for left := pace.Runs; left > 0; left = pace.Runs - len(sessions) + c.answer(s, sessions) {
		for len(sessions) < pace.Due() {
			sessions = append(sessions, c.submit(s, worktest.Kind(len(sessions))))
		}
		c.lookAfter()
		blows := killed + frozen
		isEarly := time.Since(last) < pace.Between || pace.Between == 0 && len(c.place.Entries(t)) < total*(blows+1)/(pace.Blows+2)
		if blows == pace.Blows || isEarly {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		var all []*exec.Cmd
		for _, w := range c.workers {
			all = append(all, w.Cmd)
		}
		last = time.Now()
		i := worktest.Busiest(t, s, all)
		process := c.workers[i].Process
		switch {
		case blows%4 == 3: // it wakes up when its runs are others'
			frozen++
			takeovers.Note(t, s, process.Pid, func() { _ = process.Signal(syscall.SIGSTOP) })
			time.Sleep(2 * workLease)
			_ = process.Signal(syscall.SIGCONT)
		case blows == 1:
			crashes++
			server.Kill()
			if err := server.Run(); err != nil {
				t.Fatal(err)
			}
			killed++
			c.replace(i)
		default:
			killed++
			takeovers.Note(t, s, process.Pid, func() { c.replace(i) })
		}
	}
	c.place.Check(t, s, sessions)
	for fault, err := range s.Verify(t.Context()) {
		t.Errorf("%+v, %v", fault, err)
	}
	t.Logf("%d runs, %d entries; %d workers killed, %d frozen, and the database killed %d times; a lease lasts %s, %s",
		pace.Runs, len(c.place.Entries(t)), killed, frozen, crashes, workLease, takeovers.Report(t, s))
}

func (c *crew) runner(s *Store) *work.Runner {
	return &work.Runner{Recorder: work.Recorder{Store: s}, Queue: s}
}

// submit puts a run on record and returns its session.
func (c *crew) submit(s *Store, kind string) string {
	step, err := c.place.Step(kind)
	if err != nil {
		c.t.Fatal(err)
	}
	run, err := c.runner(s).Submit(c.t.Context(), step, troupe.Input{Text: "Write a todo app."})
	if err != nil {
		c.t.Fatal(err)
	}
	return run.Session
}

// answer answers the questions of runs, and returns how many have not ended.
func (c *crew) answer(s *Store, sessions []string) (left int) {
	step, err := c.place.Step(worktest.Question)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, session := range sessions {
		info, _, err := s.Ask(c.t.Context(), session, troupe.SessionRequest{})
		if err != nil {
			c.t.Fatal(err)
		}
		switch info.Status {
		case "completed":
			continue
		case "failed", "cancelled", "interrupted": // nobody would go on with it
			c.t.Fatal(worktest.Why(c.t, s, session, info.Status))
		case "waiting":
			_, err = c.runner(s).Submit(c.t.Context(), step, troupe.Input{Session: session, IdempotencyKey: "answer", Answer: &troupe.Answer{Text: "yes"}})
			if err != nil && !errors.Is(err, troupe.ErrBusy) {
				c.t.Fatal(err)
			}
		}
		left++
	}
	return left
}
