package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file returns the path of a store that is not there yet.
func file(tb testing.TB) string { return filepath.Join(tb.TempDir(), "data", "troupe.db") }

// openAt opens the store at path for as long as the test.
func openAt(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), path, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// readAt opens the store at path for reading, for as long as the test.
func readAt(tb testing.TB, path string) *Reader {
	tb.Helper()
	r, err := OpenReadOnly(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r
}

func mustClose(tb testing.TB, s io.Closer) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
}

// id returns the id of the nth session of a test.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// eventsOf makes events of a session, numbered from a number, of bodies.
func eventsOf(session string, from int64, bodies ...troupe.Body) []troupe.Event {
	var events []troupe.Event
	for i, body := range bodies {
		seq := from + int64(i)
		when := time.Date(2024, 2, 29, 12, 0, 0, int(seq), time.UTC)
		events = append(events, troupe.Event{Seq: seq, Time: when, Session: session, Run: "r", Step: fmt.Sprint(seq), Agent: "alex", Body: body})
	}
	return events
}

// under returns events as the holder of a lease writes them.
func under(lease troupe.Lease, events []troupe.Event) []troupe.Event {
	for i := range events {
		events[i].Epoch = lease.Epoch()
	}
	return events
}

// acquire takes a session for as long as the test.
func acquire(tb testing.TB, s troupe.Store, session string) troupe.Lease {
	tb.Helper()
	lease, err := s.Acquire(tb.Context(), session)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

func said(text string) troupe.Body { return &troupe.UserSaid{Text: text} }

func mustAppend(tb testing.TB, s *Store, events ...troupe.Event) {
	tb.Helper()
	if err := s.Append(tb.Context(), events[0].Session, events...); err != nil {
		tb.Fatal(err)
	}
}

// lengthOf returns how many events a session has, and fails the test if their
// numbers have gaps.
func lengthOf(tb testing.TB, s troupe.Store, session string) (n int64) {
	tb.Helper()
	for e, err := range s.Events(tb.Context(), session, 0) {
		if errors.Is(err, troupe.ErrNotFound) {
			return 0
		}
		if err != nil {
			tb.Fatal(err)
		}
		if n++; e.Seq != n {
			tb.Fatalf("session %s: event %d comes as the %dth", session, e.Seq, n)
		}
	}
	return n
}

// sessionsOf lists the sessions' ids.
func sessionsOf(tb testing.TB, s troupe.Store) (ids []string) {
	tb.Helper()
	for info, err := range s.Sessions(tb.Context(), troupe.SessionFilter{}) {
		if err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}

// do runs statements on the writer's connection.
func do(tb testing.TB, s *Store, statements ...string) {
	tb.Helper()
	err := s.writer.write(tb.Context(), 0, func(w *writer) error {
		for _, statement := range statements {
			if _, err := w.exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// filesIn lists a directory.
func filesIn(tb testing.TB, dir string) (names []string) {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

const childFile = "TROUPE_SQLITE_CHILD"

// inChild returns the path that the process was given to play a part in another
// test, and skips the test if it was not.
func inChild(t *testing.T) string {
	path := os.Getenv(childFile)
	if path == "" {
		t.Skip("it is run by other tests, in processes of their own")
	}
	return path
}

// child runs one test of this binary in a process of its own, which ends with the
// test.
func child(t *testing.T, test, path string, change func(*exec.Cmd)) (cmd *exec.Cmd, output io.Reader) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe", "-test.run=^"+test+"$", "-test.v")
	if _, err := os.Stat(cmd.Path); err != nil {
		cmd.Path = os.Args[0]
	}
	cmd.Env = append(os.Environ(), childFile+"="+path)
	if change != nil {
		change(cmd)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	if _, err := cmd.StdinPipe(); err != nil { // it stays open until the process has ended
		t.Fatal(err)
	}
	err = cmd.Start()
	writer.Close()
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("no such process may be started here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		reader.Close()
	})
	return cmd, reader
}

// passes runs one test of this binary in a process of its own, and fails if that
// does.
func passes(t *testing.T, test, path string, change func(*exec.Cmd)) {
	t.Helper()
	cmd, output := child(t, test, path, change)
	text, err := io.ReadAll(output)
	if err != nil {
		t.Fatal(err)
	}
	switch err := cmd.Wait(); {
	case err != nil:
		t.Errorf("%v\n%s", err, text)
	case strings.Contains(string(text), "--- SKIP"):
		t.Skipf("%s", text)
	case !strings.Contains(string(text), "--- PASS"):
		t.Errorf("it did not run:\n%s", text)
	}
}
