//go:build linux

package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// fillUp appends to a session until that fails, and returns how many events it has
// and why it has no more.
func fillUp(t *testing.T, s *Store, session string) (stored int64, err error) {
	t.Helper()
	for seq := lengthOf(t, s, session) + 1; seq < 1000; seq++ {
		if err := s.Append(t.Context(), session, eventsOf(session, seq, said(strings.Repeat("x", 20_000)))...); err != nil {
			return seq - 1, err
		}
	}
	t.Fatal("the disk has no end")
	return 0, nil
}

// expectLog fails the test unless a session has this many events.
func expectLog(t *testing.T, s *Store, session string, want int64) {
	t.Helper()
	if got := lengthOf(t, s, session); got != want {
		t.Errorf("session %s has %d events; want %d", session, got, want)
	}
}

func TestAFullFileRefusesAndRecovers(t *testing.T) {
	s := openAt(t, file(t))
	do(t, s, "PRAGMA max_page_count = 100")
	stored, err := fillUp(t, s, id(1))
	if !errors.Is(err, ErrFull) || errors.Is(err, ErrStopped) || stored == 0 {
		t.Fatalf("after %d events: %v", stored, err)
	}
	expectLog(t, s, id(1), stored)
	// In one transaction with others, each gets what there is room for.
	errs := together(s, appending(t, eventsOf(id(2), 1, said(strings.Repeat("x", 100_000)))...), appending(t, eventsOf(id(3), 1, said("small"))...))
	if !errors.Is(errs[0], ErrFull) || errs[1] != nil {
		t.Errorf("a large and a small append: %v", errs)
	}
	do(t, s, "PRAGMA max_page_count = 10000")
	mustAppend(t, s, eventsOf(id(1), stored+1, said("there is room again"))...)
	expectLog(t, s, id(1), stored+1)
}

// TestLimitADiskInAChild cannot write beyond a size, as where a quota is reached.
func TestLimitADiskInAChild(t *testing.T) {
	path := inChild(t)
	signal.Ignore(syscall.SIGXFSZ)
	s := openAt(t, path)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 500_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	stored, err := fillUp(t, s, id(1))
	if !errors.Is(err, ErrUnwritable) || errors.Is(err, ErrStopped) || errors.Is(err, ErrFull) || stored == 0 {
		t.Fatalf("after %d events: %v", stored, err)
	}
	if !errors.Is(s.Trouble(), ErrUnwritable) {
		t.Errorf("trouble: %v", s.Trouble())
	}
	if err := s.Append(t.Context(), id(2), eventsOf(id(2), 1, said(strings.Repeat("x", 20_000)))...); !errors.Is(err, ErrUnwritable) {
		t.Errorf("while nothing can be written: %v", err)
	}
	expectLog(t, s, id(1), stored)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	// There is room again. The store notices by itself, and nothing is missing or there twice.
	for end := time.Now().Add(time.Minute); s.Trouble() != nil; expectLog(t, s, id(1), stored) {
		if time.Now().After(end) {
			t.Fatal(s.Trouble())
		}
	}
	mustAppend(t, s, eventsOf(id(1), stored+1, said("there is room again"))...)
	mustAppend(t, s, eventsOf(id(2), 1, said("hi"))...)
	mustClose(t, s)
	s = openAt(t, path)
	expectLog(t, s, id(1), stored+1)
	for fault, err := range s.Verify(t.Context()) {
		t.Error(fault, err)
	}
}

func TestAStoreThatCannotWriteGoesOnWhenItCan(t *testing.T) {
	passes(t, "TestLimitADiskInAChild", file(t), nil)
}

// TestBreakADiskInAChild has a disk that does not take its log file.
func TestBreakADiskInAChild(t *testing.T) {
	path := inChild(t)
	s := openAt(t, path)
	mustAppend(t, s, eventsOf(id(1), 3, said("hello"))...)
	if s.Trouble() != nil {
		t.Errorf("before: %v", s.Trouble())
	}
	failFrom(t, path+"-wal")
	if err := s.Append(t.Context(), id(1), eventsOf(id(1), 4, said("hi"))...); !errors.Is(err, ErrStopped) {
		t.Errorf("what may not be on disk is acknowledged: %v", err)
	}
	<-s.Stopped()
	// The store does not pretend that nothing happened.
	if err := s.Delete(t.Context(), id(1)); !errors.Is(err, ErrStopped) || !errors.Is(s.Trouble(), ErrStopped) {
		t.Errorf("after an error of the disk: %v, %v", err, s.Trouble())
	}
	if note := readNote(s.claim.file); !note.Suspect {
		t.Errorf("the file is not to be checked: %+v", note)
	}
	if ids := sessionsOf(t, s); len(ids) != 20 {
		t.Errorf("%d sessions can be read", len(ids))
	}
	mustClose(t, s)
}

// failFrom has the disk fail from now on for this process, whenever it is to synchronize
// a file.
func failFrom(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command("strace", "-f", "-o", os.DevNull, "-P", name, "-e", "inject=fsync,fdatasync:error=EIO", "-p", fmt.Sprint(os.Getpid()))
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("it takes strace to make a disk fail: ", err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	if line, err := bufio.NewReader(said).ReadString('\n'); !strings.Contains(line, "attached") {
		t.Skipf("strace may not be used: %s%v", line, err)
	}
}

func TestAfterAnErrorOfTheDiskTheStoreStops(t *testing.T) {
	path := sound(t)
	passes(t, "TestBreakADiskInAChild", path, nil)
	// Opened again, all that was acknowledged is there, and the log file begins anew: its
	// header, which all that follows in it hangs on, is another one.
	const header = 32
	before := get(t, path+"-wal")
	s := openAt(t, path)
	if after := get(t, path+"-wal"); len(before) > header && len(after) > header && string(before[:header]) == string(after[:header]) {
		t.Error("the log file goes on after what the disk did not take")
	}
	for n := range 20 {
		if got := lengthOf(t, s, id(n)); got < 2 || n == 1 && got < 3 {
			t.Errorf("session %d has %d events", n, got)
		}
	}
	mustAppend(t, s, eventsOf(id(2), 3, said("hi"))...)
}

// TestOpenWhereNothingCanBeWrittenInAChild may not write where the store is.
func TestOpenWhereNothingCanBeWrittenInAChild(t *testing.T) {
	dir := inChild(t)
	for _, name := range []string{"new.db", "troupe.db", "missing/troupe.db"} {
		_, err := Open(t.Context(), filepath.Join(dir, name), Options{Recover: true})
		if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v; want one line that names the directory", name, err)
		}
	}
}

// TestOpenWhatBelongsToAnotherInAChild may write where the store is, and not open it.
func TestOpenWhatBelongsToAnotherInAChild(t *testing.T) {
	path := inChild(t)
	_, err := Open(t.Context(), path, Options{})
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), path+": permission denied: it belongs to user 0, and this is user 65534; run troupe as its owner") {
		t.Errorf("got %v; want the file, whose it is and what to do", err)
	}
}

func TestAStoreOfAnotherUserIsNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to be another user")
	}
	path := sound(t)
	dir := filepath.Dir(path)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path+lockSuffix, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(dir); strings.HasPrefix(parent, os.TempDir()+"/"); parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	passes(t, "TestOpenWhatBelongsToAnotherInAChild", path, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	})
}

// withoutWriting runs a test in a process of its own that may read a directory and
// what is in it, and write nothing there.
func withoutWriting(t *testing.T, test, dir string) {
	t.Helper()
	mode := os.FileMode(0o500)
	if os.Getuid() == 0 {
		mode = 0o555 // for nobody, which the child is
	}
	for _, name := range filesIn(t, dir) {
		if err := os.Chmod(filepath.Join(dir, name), mode&0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	for parent := filepath.Dir(dir); os.Getuid() == 0 && strings.HasPrefix(parent, os.TempDir()+"/"); parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	passes(t, test, dir, func(cmd *exec.Cmd) {
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
	})
}

func TestAReadOnlyDirectoryIsNamed(t *testing.T) {
	dir := filepath.Dir(sound(t))
	if err := os.Remove(filepath.Join(dir, "troupe.db.lock")); err != nil {
		t.Fatal(err)
	}
	withoutWriting(t, "TestOpenWhereNothingCanBeWrittenInAChild", dir)
}

// TestReadWhereNothingCanBeWrittenInAChild may not write where the store is. The
// session of the store's owner has one event more.
func TestReadWhereNothingCanBeWrittenInAChild(t *testing.T) {
	r := readAt(t, filepath.Join(inChild(t), "troupe.db"))
	readAll(t, r, id(1), lengthOf(t, r, id(1)))
	want := map[int64]string{2: "1 interrupted", 3: "1 interrupted", 4: "1 running"}[lengthOf(t, r, id(1))]
	if got := statuses(t, r, troupe.SessionFilter{Limit: 1}); got != want {
		t.Errorf("the latest session is %s; want %s", got, want)
	}
}

func TestAStoreIsReadWhereNothingCanBeWritten(t *testing.T) {
	const test = "TestReadWhereNothingCanBeWrittenInAChild"
	t.Run("closed", func(t *testing.T) {
		path := sound(t)
		s := openAt(t, path)
		for n := range 20 {
			if n != 1 {
				if err := s.Delete(t.Context(), id(n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		mustClose(t, s)
		withoutWriting(t, test, filepath.Dir(path))
	})
	t.Run("killed", func(t *testing.T) { withoutWriting(t, test, filepath.Dir(killedAt(t))) })
	t.Run("in use", func(t *testing.T) {
		path := sound(t)
		s := openAt(t, path)
		lease := acquire(t, s, id(1))
		mustAppend(t, s, under(lease, eventsOf(id(1), 3, said("the first words"), said("the last words")))...)
		withoutWriting(t, test, filepath.Dir(path))
		mustAppend(t, s, under(lease, eventsOf(id(1), 5, said("the very last words")))...)
	})
}

func TestAReadOnlyFileIsRefused(t *testing.T) {
	s := openAt(t, file(t))
	set := func(value string) {
		if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA query_only = "+value); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	err := s.Append(t.Context(), id(1), eventsOf(id(1), 1, said("hi"))...)
	if !errors.Is(err, ErrReadOnly) || errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
	set("0")
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
}

func TestDamageFoundWhileWritingStopsTheStore(t *testing.T) {
	path := sound(t)
	s := openAt(t, path)
	var page int
	if err := s.readers.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'events_of_session'").Scan(&page); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	data := get(t, path)
	copy(data[(page-1)*4096:], strings.Repeat("?", 4096))
	put(t, path, data)
	s = openAt(t, path)
	err := s.Append(t.Context(), id(1), eventsOf(id(1), 3, said("hi"))...)
	if !errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
	if ids := sessionsOf(t, s); len(ids) != 20 {
		t.Errorf("%d sessions are listed", len(ids))
	}
	mustClose(t, s)
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(fmt.Sprint(err), "set aside") {
		t.Errorf("opening it again: %v", err)
	}
}
