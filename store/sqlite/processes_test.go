package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// patient says a word and then waits to be told another on a channel.
type patient struct{ next <-chan string }

func (m patient) Generate(ctx context.Context, _ *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if !yield(troupe.Chunk{Text: "one"}, nil) {
			return
		}
		select {
		case word := <-m.next:
			if yield(troupe.Chunk{Text: word}, nil) {
				yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
			}
		case <-ctx.Done():
			yield(troupe.Chunk{}, ctx.Err())
		}
	}
}

func talker(t *testing.T, model troupe.Model) *troupe.Agent {
	t.Helper()
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "talker", Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

const childLease = "TROUPE_SQLITE_CHILD_LEASE"

// TestTalkInAChild has a run in session 1 that goes on when the process is told to.
func TestTalkInAChild(t *testing.T) {
	path := inChild(t)
	lease, _ := time.ParseDuration(os.Getenv(childLease))
	s, err := Open(t.Context(), path, Options{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	next := make(chan string, 1)
	run, err := engineOn(t, s).Start(t.Context(), talker(t, patient{next}), troupe.Input{Session: id(1), Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range run.Events(t.Context()) { // the first is stored
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	fmt.Println("\nrunning")
	var wg sync.WaitGroup
	wg.Go(func() {
		outcome, err := run.Wait(context.Background())
		fmt.Printf("\nended: %q, %v\n", outcome.Text, err)
	})
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	next <- strings.TrimRight(line, "\n")
	wg.Wait()
}

// A talking process has a run in session 1.
type talking struct {
	t     *testing.T
	pid   int
	lines *bufio.Scanner
	stdin io.Writer
}

// startTalking starts a process that has a run in session 1, under a lease: 0 is one as
// usual. A short one
// may be lost on a busy machine: it is for tests in which it is to be lost.
func startTalking(t *testing.T, path string, lease time.Duration) *talking {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close(); writer.Close() })
	short := func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, childLease+"="+lease.String()) }
	cmd, output := child(t, "TestTalkInAChild", path, short, reader)
	p := &talking{t, cmd.Process.Pid, bufio.NewScanner(output), writer}
	p.wait("running")
	return p
}

// wait reads what the process says until a line begins so.
func (p *talking) wait(beginning string) string {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.HasPrefix(p.lines.Text(), beginning) {
			return p.lines.Text()
		}
	}
	p.t.Fatalf("the process ended without saying %q", beginning)
	return ""
}

func TestASessionThatAnotherProcessHas(t *testing.T) {
	path := file(t)
	other := startTalking(t, path, 0)
	s := openAt(t, path)
	engine := engineOn(t, s)
	ended := make(chan string)
	close(ended)
	agent := talker(t, patient{ended}) // a session that it gets is a failure, not an endless run
	for what, err := range map[string]error{
		"a message": last(engine.Run(t.Context(), agent, troupe.Input{Session: id(1), Text: "and?"})),
		"a resume":  last(engine.Resume(t.Context(), agent, id(1))),
		"a delete":  engine.Delete(t.Context(), id(1)),
	} {
		if owned, ok := errors.AsType[*troupe.Owner](err); !ok || owned.PID != other.pid || owned.Host == "" {
			t.Errorf("%s: %v; want an error that names process %d", what, err, other.pid)
		}
	}
	if err := engine.Rename(t.Context(), id(1), "renamed from elsewhere"); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for e, err := range engine.Tail(t.Context(), id(1), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *troupe.TextDelta:
			if seen = append(seen, b.Text); len(seen) == 1 {
				fmt.Fprintln(other.stdin, " two")
			}
		case *troupe.RunFinished:
			seen = append(seen, "finished with "+b.Output.Summary)
		}
		if len(seen) > 0 && strings.HasPrefix(seen[len(seen)-1], "finished") {
			break
		}
	}
	if got := strings.Join(seen, "|"); got != "one| two|finished with one two" {
		t.Errorf("from elsewhere %s was seen", got)
	}
	other.wait("ended: \"one two\", <nil>")
	for info, err := range s.Sessions(t.Context(), troupe.SessionFilter{}) {
		if err != nil || info.Title != "renamed from elsewhere" || info.Status != "completed" {
			t.Errorf("it stands %+v, %v", info, err)
		}
	}
	if err := engine.Delete(t.Context(), id(1)); err != nil {
		t.Error(err)
	}
}

func last(events iter.Seq2[troupe.Event, error]) (failure error) {
	for _, err := range events {
		failure = err
	}
	return failure
}

func TestARunInAnotherProcessIsCancelled(t *testing.T) {
	path := file(t)
	other := startTalking(t, path, 0)
	s := openAt(t, path)
	if err := engineOn(t, s).Cancel(t.Context(), id(1)); err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, s, troupe.SessionFilter{}); got != "1 cancelled" {
		t.Errorf("when Cancel has returned, there is %s", got)
	}
	other.wait(`ended: "", the run was cancelled`)
}

// A process that is frozen past its lease loses its session to another, and when it
// goes on it writes nothing.
func TestAFrozenProcessLosesItsSession(t *testing.T) {
	path := file(t)
	other := startTalking(t, path, 500*time.Millisecond)
	s := openAt(t, path)
	if err := syscall.Kill(other.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	engine := engineOn(t, s)
	var err error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		next := make(chan string, 1)
		next <- " from another process"
		if err = last(engine.Resume(t.Context(), talker(t, patient{next}), id(1))); !errors.Is(err, troupe.ErrBusy) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	before := lengthOf(t, s, id(1))
	if err := syscall.Kill(other.pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(other.stdin, " too late")
	if line := other.wait("ended: "); !strings.Contains(line, "another process has taken the session over") && !strings.Contains(line, "lease") {
		t.Errorf("the frozen process says %s", line)
	}
	if after := lengthOf(t, s, id(1)); after != before {
		t.Errorf("the frozen process wrote %d events", after-before)
	}
	if got := statuses(t, s, troupe.SessionFilter{}); got != "1 completed" {
		t.Errorf("there is %s", got)
	}
	if got := faults(t, s.Reader); len(got) != 0 {
		t.Error(got)
	}
}

// TestWriteMuchInAChild adds events to sessions that other processes add to as well,
// each whenever it gets the session.
func TestWriteMuchInAChild(t *testing.T) {
	s := openAt(t, inChild(t))
	for n := range 60 {
		session := id(n % 3)
		lease, err := s.Acquire(t.Context(), session)
		if errors.Is(err, troupe.ErrBusy) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), session, under(lease, eventsOf(session, lease.Last()+1, said(fmt.Sprintf("by %d", os.Getpid()))))...); err != nil {
			t.Fatal(err)
		}
		fmt.Println("\nwrote", n%3)
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcessesThatWriteAtTheSameTimeLoseNothing(t *testing.T) {
	path := file(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	wrote := map[string]int64{}
	for range 4 {
		cmd, output := child(t, "TestWriteMuchInAChild", path, nil)
		wg.Go(func() {
			for lines := bufio.NewScanner(output); lines.Scan(); {
				if n, ok := strings.CutPrefix(lines.Text(), "wrote "); ok {
					mu.Lock()
					wrote[n]++
					mu.Unlock()
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := openAt(t, path)
	for n := range 3 {
		if got, want := lengthOf(t, s, id(n)), wrote[fmt.Sprint(n)]; got != want || got == 0 {
			t.Errorf("session %d has %d events, %d were acknowledged", n, got, want)
		}
	}
	if got := faults(t, s.Reader); len(got) != 0 {
		t.Error(got)
	}
}
