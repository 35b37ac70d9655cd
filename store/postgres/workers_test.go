//go:build unix

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// workVariable says to the test's own program that it is a worker: the address of the
// store, the ledger and the number of runs.
const workVariable = "TROUPE_TEST_WORK"

// workLease is how long a worker that is not heard of keeps its runs.
const workLease = time.Second

// chore is a run with branches that go on at the same time. Each enters something into a
// ledger, again and again: what must not be done twice.
func chore(ledger string) troupe.Step {
	type entry struct {
		Branch, Round int
	}
	enter := troupe.NewToolWithCall("enter", "Enters something into the ledger.", func(_ context.Context, call *troupe.Invocation, _ entry) (string, error) {
		file, err := os.OpenFile(ledger, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(file, call.ID)
		return "entered " + call.ID, errors.Join(err, file.Close())
	})
	return troupe.NewStep("chore", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		var branches []func(context.Context, *troupe.Run) error
		for branch := range 3 {
			branches = append(branches, func(ctx context.Context, run *troupe.Run) error {
				for round := range 5 {
					_, err := run.Call(ctx, enter, entry{branch, round})
					// Nobody knows what became of a call that was interrupted: it is not made again.
					if failure, ok := errors.AsType[*troupe.ToolError](err); err != nil && (!ok || failure.Class != "interrupted") {
						return err
					}
				}
				return nil
			})
		}
		return troupe.Handoff{Summary: "done"}, errors.Join(run.All(ctx, 3, branches...)...)
	})
}

// doRuns does runs, or goes on with them, until all have ended.
func doRuns(ctx context.Context, address, ledger string, runs int) error {
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
	step := chore(ledger)
	for left := 1; left > 0; {
		left = 0
		for _, n := range rand.Perm(runs) {
			status := ""
			for info, err := range s.Sessions(ctx, troupe.SessionFilter{ID: id(n)}) {
				if err != nil {
					return err
				}
				status = info.Status
			}
			events := engine.Run(ctx, step, troupe.Input{Session: id(n), Text: "go", IdempotencyKey: "once"})
			switch status {
			case "completed":
				continue
			case "running":
				left++
				continue
			case "":
			default:
				events = engine.Resume(ctx, step, id(n))
			}
			left++
			for _, err := range events {
				if err != nil { // whoever comes next goes on with it
					fmt.Fprintf(os.Stderr, "run %d, %s: %v\n", n, status, err)
				}
			}
		}
		wait(ctx, 20*time.Millisecond)
	}
	return nil
}

// workIfTold makes this process a worker, if it was started as one.
func workIfTold() {
	told := strings.Split(os.Getenv(workVariable), "\n")
	if len(told) != 3 {
		return
	}
	runs, _ := strconv.Atoi(told[2])
	if err := doRuns(context.Background(), told[0], told[1], runs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A crew is workers that are killed and replaced.
type crew struct {
	t       *testing.T
	address string
	ledger  string
	runs    int
	workers []*worker
}

type worker struct {
	*exec.Cmd
	said  bytes.Buffer
	ended chan error
}

func (c *crew) hire() *worker {
	w := &worker{Cmd: exec.Command(os.Args[0]), ended: make(chan error, 1)}
	w.Env = append(os.Environ(), workVariable+"="+strings.Join([]string{c.address, c.ledger, strconv.Itoa(c.runs)}, "\n"))
	w.Stderr = &w.said
	if err := w.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { w.ended <- w.Wait() }()
	return w
}

// entries returns what is in the ledger.
func (c *crew) entries() []string {
	data, err := os.ReadFile(c.ledger)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// scaled returns a number of the test, or what an environment variable says instead, for
// the long form of it: make scale.
func scaled(t *testing.T, variable string, usual int) int {
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Three workers on one database, killed and frozen for longer than their leases last, and
// the database killed as well: every run ends, and nothing is done twice.
func TestWorkersThatAreKilledAndFrozenLoseAndDoubleNothing(t *testing.T) {
	server := postgrestest.Start(t)
	c := &crew{t: t, address: server.Address("postgres"), ledger: filepath.Join(t.TempDir(), "ledger"), runs: scaled(t, "TROUPE_RUNS", 12)}
	s := openAt(t, c.address)
	kills := scaled(t, "TROUPE_KILLS", 9)
	for range 3 {
		c.workers = append(c.workers, c.hire())
	}
	defer func() {
		for _, w := range c.workers {
			_ = w.Process.Kill()
			<-w.ended
		}
	}()
	perKill := max(c.runs*15/(kills+1), 1)
	killed, frozen, crashes := 0, 0, 0
	for done := 0; done < len(c.workers); {
		i := rand.IntN(len(c.workers))
		w := c.workers[i]
		if killed < kills && len(c.entries()) >= (killed+1)*perKill {
			killed++
			switch killed % 4 {
			case 0: // it wakes up when its runs are others'
				frozen++
				_ = w.Process.Signal(syscall.SIGSTOP)
				time.Sleep(2 * workLease)
				_ = w.Process.Signal(syscall.SIGCONT)
			case 2:
				if crashes == 0 {
					crashes++
					server.Kill()
					if err := server.Run(); err != nil {
						t.Fatal(err)
					}
				}
				fallthrough
			default:
				_ = w.Process.Kill()
				<-w.ended
				c.workers[i] = c.hire()
			}
		}
		done = 0
		for i, w := range c.workers {
			select {
			case err := <-w.ended:
				if err != nil && !strings.Contains(w.said.String(), ErrUnreachable.Error()) {
					t.Errorf("a worker ended: %v: %s", err, w.said.String())
				}
				if w.ended <- nil; err == nil {
					done++
				} else { // it came while the database was away
					c.workers[i] = c.hire()
				}
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	c.check(s)
	t.Logf("%d runs, %d entries; %d workers killed, %d frozen, and the database killed %d times", c.runs, len(c.entries()), killed-frozen, frozen, crashes)
}

// check compares the ledger with what is on record.
func (c *crew) check(s *Store) {
	entered := map[string]int{}
	for _, call := range c.entries() {
		if entered[call]++; entered[call] > 1 {
			c.t.Errorf("%s was done twice", call)
		}
	}
	for n := range c.runs {
		var last troupe.Event
		returned := 0
		for e, err := range s.Events(c.t.Context(), id(n), 0) {
			if err != nil {
				c.t.Fatalf("run %d: %v", n, err)
			}
			if e.Seq != last.Seq+1 {
				c.t.Errorf("run %d: event %d comes after %d", n, e.Seq, last.Seq)
			}
			last = e
			if b, ok := e.Body.(*troupe.ToolReturned); ok {
				returned++
				call, isEntered := strings.CutPrefix(strings.Trim(b.Content, `"`), "entered ")
				if isEntered && entered[call] != 1 {
					c.t.Errorf("run %d: %s is on record, and in the ledger %d times", n, call, entered[call])
				}
			}
		}
		if last.Kind() != "run_finished" || returned != 15 {
			c.t.Errorf("run %d ended with %s, after %d calls", n, last.Kind(), returned)
		}
	}
	for fault, err := range s.Verify(c.t.Context()) {
		c.t.Errorf("%+v, %v", fault, err)
	}
}
