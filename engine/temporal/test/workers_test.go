//go:build unix

package test

import (
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

	"go.temporal.io/sdk/client"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/store/postgres"
	"github.com/troupe-dev/troupe/work"
)

// workVariable says to the test's own program that it is a worker: the address of the
// store, that of the cluster, the namespace and the ledger.
const workVariable = "TROUPE_TEST_TEMPORAL_WORK"

const (
	// heartbeat is after how long a worker that is not heard of is given up.
	heartbeat = 2 * time.Second
	// workLease is longer, so that taking over does not depend on it.
	workLease = 30 * time.Second
	entries   = 9 // of a run
)

// chore is a run with branches that enter something into a ledger, which must not be done
// twice.
func chore(ledger string) troupe.Step {
	enter := troupe.NewToolWithCall("enter", "Enters something into the ledger.", func(_ context.Context, call *troupe.Invocation, _ struct{ Branch, Round int }) (string, error) {
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
				for round := range entries / 3 {
					_, err := run.Call(ctx, enter, struct{ Branch, Round int }{branch, round})
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

// workIfTold makes this process a worker, if it was started as one.
func workIfTold() {
	told := strings.Split(os.Getenv(workVariable), "\n")
	if len(told) != 4 {
		return
	}
	if err := doRuns(context.Background(), told[0], told[1], told[2], told[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func doRuns(ctx context.Context, database, address, namespace, ledger string) error {
	store, err := postgres.Open(ctx, database, postgres.Options{Lease: workLease})
	if err != nil {
		return err
	}
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		return err
	}
	w := &temporal.Worker{Engine: engine, Store: store, Seize: store.Seize, Queue: "chores", MaxParallel: 4, Step: func(context.Context, work.Job) (troupe.Step, error) {
		return chore(ledger), nil
	}}
	if err := w.New(c).Start(); err != nil {
		return err
	}
	select {} // until it is killed
}

func scaled(t *testing.T, variable string, usual int) int {
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return usual
}

// Three worker processes, killed and frozen again and again: every run ends, and nothing is
// done twice.
func TestWorkersThatAreKilledAndFrozenLoseAndDoubleNothing(t *testing.T) {
	c := connect(t)
	database := postgrestest.Start(t).Address("postgres")
	store, err := postgres.Open(t.Context(), database, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ledger := filepath.Join(t.TempDir(), "ledger")
	runs, kills := scaled(t, "TROUPE_RUNS", 24), scaled(t, "TROUPE_KILLS", 6)
	hire := func() *exec.Cmd {
		w := exec.Command(os.Args[0])
		w.Env = append(os.Environ(), workVariable+"="+strings.Join([]string{database, cluster.server.GetFrontendHostPort(), cluster.server.GetDefaultNamespace(), ledger}, "\n"))
		w.Stderr = os.Stderr
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	var workers []*exec.Cmd
	for range 3 {
		workers = append(workers, hire())
	}
	defer func() {
		for _, w := range workers {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	}()
	d := &temporal.Dispatcher{Client: c, Recorder: work.Recorder{Store: store}, Queue: "chores", Heartbeat: heartbeat}
	var sessions []string
	began := time.Now()
	for range runs {
		run, err := d.Start(t.Context(), chore(ledger), troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, run.Session)
	}
	entered := func() []string {
		data, err := os.ReadFile(ledger)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Fields(string(data))
	}
	for n := range kills {
		until(t, "runs go on", func() bool { return len(entered()) >= runs*entries*n/(kills+1) })
		i := rand.IntN(len(workers))
		if n%3 == 2 { // it wakes up when its runs are others'
			_ = workers[i].Process.Signal(syscall.SIGSTOP)
			time.Sleep(2 * heartbeat)
			_ = workers[i].Process.Signal(syscall.SIGCONT)
			continue
		}
		_ = workers[i].Process.Kill()
		_ = workers[i].Wait()
		workers[i] = hire()
	}
	for _, session := range sessions {
		if result, err := d.Wait(t.Context(), session); err != nil || result.Status != "completed" {
			t.Errorf("session %s: %+v, %v", session, result, err)
		}
	}
	times := map[string]int{}
	for _, call := range entered() {
		if times[call]++; times[call] > 1 {
			t.Errorf("%s was done twice", call)
		}
	}
	for _, session := range sessions {
		returned := 0
		for e, err := range store.Events(t.Context(), session, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*troupe.ToolReturned); ok {
				returned++
				if call, ok := strings.CutPrefix(strings.Trim(b.Content, `"`), "entered "); ok && times[call] != 1 {
					t.Errorf("%s is on record, and in the ledger %d times", call, times[call])
				}
			}
		}
		if returned != entries {
			t.Errorf("session %s: %d calls", session, returned)
		}
	}
	t.Logf("%d runs, %d entries, %d kills and freezes, in %s", runs, len(entered()), kills, time.Since(began).Round(time.Millisecond))
}
