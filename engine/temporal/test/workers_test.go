//go:build unix

package test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/internal/worktest"
	"github.com/troupe-dev/troupe/store/postgres"
	"github.com/troupe-dev/troupe/work"
)

// workVariable says to the test's own program that it is a worker: the address of the
// store, that of the cluster, the place of its work and how long a lease lasts.
const workVariable = "TROUPE_TEST_TEMPORAL_WORK"

const (
	// workLease is after how long the store gives up a worker that is not heard of, and heartbeat
	// after how long Temporal does.
	workLease, heartbeat = 2 * time.Second, 2 * time.Second
	queueName            = "chores"
)

// workIfTold makes this process a worker, if it was started as one.
func workIfTold() {
	told := strings.Split(os.Getenv(workVariable), "\n")
	if len(told) != 4 {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lease, err := time.ParseDuration(told[3])
	if err == nil {
		err = carryOut(ctx, told[0], told[1], worktest.Place(told[2]), lease)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// carryOut does what 'troupe-temporal worker' does, until it is told to end or killed.
func carryOut(ctx context.Context, database, address string, place worktest.Place, lease time.Duration) error {
	store, err := postgres.Open(ctx, database, postgres.Options{Lease: lease})
	if err != nil {
		return err
	}
	defer store.Close()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet{}})
	for ; err != nil; c, err = client.Dial(client.Options{HostPort: address, Logger: quiet{}}) {
		time.Sleep(100 * time.Millisecond) // it came while the cluster was away
	}
	w := &temporal.Worker{Engine: engine, Store: store, Seize: store.Seize, Jobs: store, Queue: queueName, Step: func(_ context.Context, job work.Job) (troupe.Step, error) {
		return stepOf(place, job.Step)
	}}
	made := w.New(c)
	if err := made.Start(); err != nil {
		return err
	}
	w.TakeOver(ctx, c, client.DefaultNamespace, store, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	made.Stop()
	return engine.Close()
}

// A siege is workers, a database and a cluster that are killed while there is work to do.
type siege struct {
	t        *testing.T
	database *postgrestest.Server
	cluster  *temporalServer
	place    worktest.Place
	client   client.Client
	lease    time.Duration
	store    *postgres.Store
	runner   *work.Runner
	sessions []string
	workers  []*exec.Cmd
}

// newSiege starts a database and a cluster, with leases and heartbeats of a length, and hands over
// what is put on record.
func newSiege(t *testing.T, lease, heartbeat time.Duration) *siege {
	t.Helper()
	s := &siege{t: t, database: postgrestest.Start(t), cluster: startTemporal(t), place: worktest.New(t), lease: lease}
	var err error
	if s.store, err = postgres.Open(t.Context(), s.database.Address("postgres"), postgres.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.store.Close() })
	s.client = s.cluster.connect()
	until(t, "the server knows the search attributes", func() bool {
		return temporal.Prepare(t.Context(), s.client, client.DefaultNamespace) == nil
	})
	s.runner = &work.Runner{Recorder: work.Recorder{Store: s.store}, Queue: s.store, QueueOf: func(troupe.Step, troupe.Input) string { return queueName }}
	ctx, cancel := context.WithCancel(t.Context())
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		(&temporal.Dispatcher{Client: s.client, Queue: queueName, Heartbeat: heartbeat}).Relay(ctx, s.store, slogTo(t))
	}()
	t.Cleanup(func() {
		cancel()
		<-relayed
		for _, w := range s.workers {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	})
	return s
}

func (s *siege) hire() *exec.Cmd {
	w := exec.Command(os.Args[0])
	w.Env = append(os.Environ(), workVariable+"="+strings.Join([]string{s.database.Address("postgres"), s.cluster.address(), string(s.place), s.lease.String()}, "\n"))
	w.Stderr = os.Stderr
	if err := w.Start(); err != nil {
		s.t.Fatal(err)
	}
	return w
}

// replace has another worker in the place of one.
func (s *siege) replace(i int) {
	_ = s.workers[i].Process.Kill()
	_ = s.workers[i].Wait()
	s.workers[i] = s.hire()
}

// submit puts the next run on record, as a server does that need not reach the cluster.
func (s *siege) submit() {
	step, err := s.place.Step(worktest.Kind(len(s.sessions)))
	if err != nil {
		s.t.Fatal(err)
	}
	run, err := s.runner.Submit(s.t.Context(), step, troupe.Input{Text: "Write a todo app."})
	if err != nil {
		s.t.Fatal(err)
	}
	s.sessions = append(s.sessions, run.Session)
}

// answer answers the questions of runs, and returns how many have not ended. One that is cancelled is
// between two workers, because the first was too late to say that it lives.
func (s *siege) answer() (left int) {
	step, err := s.place.Step(worktest.Question)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, session := range s.sessions {
		info, _, err := s.store.Ask(s.t.Context(), session, troupe.SessionRequest{})
		if err != nil {
			s.t.Fatal(err)
		}
		switch info.Status {
		case "completed":
			continue
		case "failed":
			s.t.Fatal(worktest.Why(s.t, s.store, session, info.Status))
		case "waiting":
			_, err = s.runner.Submit(s.t.Context(), step, troupe.Input{Session: session, IdempotencyKey: "answer", Answer: &troupe.Answer{Text: "yes"}})
			if err != nil {
				s.t.Logf("session %s: not answered yet: %v", session, err)
			}
		}
		left++
	}
	return left
}

// Three worker processes, killed and frozen again and again, and the database and Temporal's own
// server killed under them: every run ends, those that ask somebody and those that change a repository
// too, and nothing is done twice.
func TestWorkersThatAreKilledAndFrozenLoseAndDoubleNothing(t *testing.T) {
	s := newSiege(t, workLease, heartbeat)
	for range 3 {
		s.workers = append(s.workers, s.hire())
	}
	pace := worktest.Begin(t, 24, 6)
	entries := 0
	for n := range pace.Runs {
		entries += worktest.EntriesOf(worktest.Kind(n))
	}
	var takeovers worktest.Takeovers
	killed, frozen, crashes := 0, 0, 0
	began, last := time.Now(), time.Now()
	for left := pace.Runs; left > 0; left = pace.Runs - len(s.sessions) + s.answer() {
		for len(s.sessions) < pace.Due() {
			s.submit()
		}
		if time.Since(began) > 20*time.Minute {
			t.Fatalf("%d runs have not ended", left)
		}
		n := killed + frozen + crashes
		isEarly := time.Since(last) < pace.Between || pace.Between == 0 && len(s.place.Entries(t)) < entries*(n+1)/(pace.Blows+4)
		if n == pace.Blows+2 || isEarly {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		last = time.Now()
		i := worktest.Busiest(t, s.store, s.workers)
		process := s.workers[i].Process
		switch {
		case n == 2:
			crashes++
			s.cluster.kill()
			s.cluster.run()
			until(t, "the cluster is there again", func() bool { _, err := s.client.CheckHealth(t.Context(), nil); return err == nil })
		case n == 4:
			crashes++
			s.database.Kill()
			if err := s.database.Run(); err != nil {
				t.Fatal(err)
			}
		case n%3 == 2: // it wakes up when its runs are others'
			frozen++
			takeovers.Note(t, s.store, process.Pid, func() { _ = process.Signal(syscall.SIGSTOP) })
			time.Sleep(2 * heartbeat)
			_ = process.Signal(syscall.SIGCONT)
		default:
			killed++
			takeovers.Note(t, s.store, process.Pid, func() { s.replace(i) })
		}
	}
	s.place.Check(t, s.store, s.sessions)
	for fault, err := range s.store.Verify(t.Context()) {
		t.Errorf("%+v, %v", fault, err)
	}
	t.Logf("%d runs, %d entries in %s; %d workers killed, %d frozen, and Temporal and the database killed %d times; a lease and a heartbeat last %s, %s",
		pace.Runs, len(s.place.Entries(t)), time.Since(began).Round(time.Millisecond), killed, frozen, crashes, workLease, takeovers.Report(t, s.store))
}
