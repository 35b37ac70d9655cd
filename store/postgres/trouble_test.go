package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// refusal opens a store that cannot be opened, and returns why, in one line.
func refusal(t *testing.T, address string, options Options) error {
	t.Helper()
	s, err := Open(t.Context(), address, options)
	if err == nil {
		s.Close()
		t.Fatalf("%s was opened", Redact(address))
	}
	if text := err.Error(); strings.Contains(text, "\n") || strings.Contains(text, postgrestest.Password) || strings.Contains(text, "hunter2") {
		t.Errorf("more than a line, or the password: %s", text)
	}
	return err
}

func TestBadAddressesGetOneLineThatSaysWhatToDo(t *testing.T) {
	server := shared.Server(t)
	good := server.Schema()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := fmt.Sprintf("postgres://u:hunter2@%s/d", nobody.Addr())
	nobody.Close()
	for _, statement := range []string{
		"CREATE ROLE guest LOGIN PASSWORD 'hunter2'", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
		"CREATE DATABASE frozen", "ALTER DATABASE frozen SET default_transaction_read_only = on",
	} {
		server.SQL(t, "postgres", statement)
	}
	for address, want := range map[string]string{
		strings.Replace(good, "only%20for%20tests", "hunter2", 1): "password",
		strings.Replace(good, "/postgres?", "/nowhere?", 1):       "createdb",
		silent:                                 "is it running",
		"postgres://u:hunter2@host:notaport/d": "not one of PostgreSQL",
		"postgres://u:hunter2@host/d?sslmode=sometimes":                        "not one of PostgreSQL",
		strings.Replace(good, "/postgres?", "/latin?", 1):                      "ENCODING 'UTF8'",
		strings.Replace(good, "/postgres?", "/frozen?", 1):                     "name the primary",
		strings.Replace(good, "troupe:only%20for%20tests", "guest:hunter2", 1): "GRANT CREATE",
	} {
		if err := refusal(t, address, Options{}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want a word on %q", Redact(address), err, want)
		}
	}
	if err := refusal(t, good, Options{ReadOnly: true}); !errors.Is(err, ErrNoStore) {
		t.Errorf("to read where nothing is: %v", err)
	}
}

func TestAStoreOfAnotherVersionIsLeftAlone(t *testing.T) {
	server := shared.Server(t)
	address := server.Schema()
	s := openAt(t, address)
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	s.Close()
	server.SQL(t, "postgres", "UPDATE "+s.schema+".troupe_version SET version = 999")
	for _, options := range []Options{{}, {ReadOnly: true}} {
		newer, ok := errors.AsType[*VersionError](refusal(t, address, options))
		if !ok || newer.Version != 999 {
			t.Errorf("got %v", newer)
		}
	}
	scripts, err := known()
	if err != nil {
		t.Fatal(err)
	}
	server.SQL(t, "postgres", fmt.Sprintf("UPDATE %s.troupe_version SET version = %d", s.schema, len(scripts)))
	if n := lengthOf(t, openAt(t, address), id(1)); n != 1 {
		t.Errorf("there are %d events", n)
	}
}

func TestProcessesThatOpenANewStoreTogetherAllSucceed(t *testing.T) {
	address := shared.Server(t).Schema()
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			s, err := Open(t.Context(), address, Options{})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestAStandbyIsReadAndNotWritten(t *testing.T) {
	server := postgrestest.Start(t)
	s := openAt(t, server.Address("postgres"))
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	s.Close()
	standby := server.Standby(t)
	if err := refusal(t, standby.Address("postgres"), Options{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("to write: %v", err)
	}
	reader := openAt(t, standby.Address("postgres"), Options{ReadOnly: true})
	if n := lengthOf(t, reader, id(1)); n != 1 {
		t.Errorf("it has %d events", n)
	}
	if err := reader.Append(t.Context(), id(1), eventsOf(id(1), 2, said("hi"))...); !errors.Is(err, ErrReadOnly) {
		t.Errorf("to append: %v", err)
	}
	d, err := Examine(t.Context(), server.Address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(d.Problems()); !strings.Contains(text, "no standby is synchronous: standby (") || !strings.Contains(text, "fsync is off") {
		t.Errorf("the problems are %s", text)
	}
	if _, err := Examine(t.Context(), standby.Address("postgres")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a standby is no place for a store: %v", err)
	}
	if n := len((&Durability{FSync: true, FullPageWrites: true, SynchronousCommit: "on", Standbys: []Standby{{Name: "a", Synchronous: true}, {Name: "b", Behind: 7}}}).Problems()); n != 0 {
		t.Errorf("a synchronous standby is no problem, and there are %d", n)
	}
}

// A pooler that gives each transaction another connection loses notifications.
func TestAPoolerThatBreaksListenIsRefused(t *testing.T) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("pgbouncer is not installed: run make setup")
		}
		t.Skip("pgbouncer is not installed: run make setup")
	}
	server := shared.Server(t)
	for mode, works := range map[string]bool{"transaction": false, "session": true} {
		address := startPooler(t, program, mode, server)
		if works {
			mustAppend(t, openAt(t, address), eventsOf(id(1), 1, said("hi"))...)
		} else if err := refusal(t, address, Options{}); !errors.Is(err, ErrPooler) || !strings.Contains(err.Error(), "pool_mode = session") {
			t.Errorf("got %v", err)
		}
	}
}

// startPooler starts pgbouncer before a server for as long as the test.
func startPooler(t *testing.T, program, mode string, server *postgrestest.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir, err := os.MkdirTemp("", "troupe-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	users := filepath.Join(dir, "users")
	config := filepath.Join(dir, "pgbouncer.ini")
	settings := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nauth_type = plain\nauth_file = %s\npool_mode = %s\nunix_socket_dir =\n",
		server.Port, port, users, mode)
	if err := errors.Join(os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", postgrestest.Superuser, postgrestest.Password), 0o644), os.WriteFile(config, []byte(settings), 0o644), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	args := []string{config}
	if os.Getuid() == 0 {
		args = append([]string{"-u", "postgres"}, args...)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, program, args...)
	if err := c.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = c.Wait() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	return strings.Replace(server.Schema(), fmt.Sprintf(":%d/", server.Port), fmt.Sprintf(":%d/", port), 1)
}

func TestDamageIsFound(t *testing.T) {
	server := shared.Server(t)
	s := openAt(t, server.Schema())
	for n := range 8 {
		mustAppend(t, s, eventsOf(id(n), 1, said("one"), said("two\x00"), said("three"))...)
	}
	for fault, err := range s.Verify(t.Context()) {
		t.Errorf("nothing was changed, and %+v, %v", fault, err)
	}
	change := func(sql, n string) {
		server.SQL(t, "postgres", "SET search_path TO "+s.schema+"; "+fmt.Sprintf(sql, id(0)[:35]+n))
	}
	change("UPDATE events SET event = replace(event, 'two', 'TWO') WHERE session = '%s' AND seq = 2", "1")
	change("DELETE FROM events WHERE session = '%s' AND seq = 2", "2")
	change("DELETE FROM events WHERE session = '%s' AND seq = 3; UPDATE sessions SET events = 2 WHERE id = '%[1]s'", "3")
	change("UPDATE events SET kind = 'noted' WHERE session = '%s' AND seq = 2", "4")
	change("UPDATE events SET time = time + 1 WHERE session = '%s' AND seq = 3", "5")
	change("UPDATE sessions SET title = 'another' WHERE id = '%s'", "6")
	change("DELETE FROM sessions WHERE id = '%s'", "7")
	var faults []string
	for fault, err := range s.Verify(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, fmt.Sprintf("%s/%d: %s", fault.Session[35:], fault.Seq, fault.Problem))
	}
	want := "1/2: it was changed, or one before it was; 2/2: it is missing; 3/2: it is not the one that was stored last; " +
		`4/2: the store has it with the kind "noted", and the event itself has "user_said"; 5/3: the store has it at another time than it says itself; ` +
		`6/0: it is listed with the title "another", and by its events it is "one"; 7/0: its events are there, and it is in no list: its own row was deleted`
	if got := strings.Join(faults, "; "); got != want {
		t.Errorf("found is %s; want %s", got, want)
	}
	for _, err := range s.Events(t.Context(), id(2), 0) {
		if err != nil && !strings.Contains(err.Error(), "event 2 is missing or damaged") {
			t.Error(err)
		}
	}
}

func TestPruningDropsWholeMonths(t *testing.T) {
	server := shared.Server(t)
	s := openAt(t, server.Schema())
	at := func(n int, when time.Time) {
		events := eventsOf(id(n), 1, said("hi"))
		events[0].Time = when
		mustAppend(t, s, events...)
	}
	now := time.Now()
	begun := now.AddDate(0, -3, 0)
	at(1, begun)
	at(2, begun)
	at(3, now.AddDate(0, -6, 0))
	at(4, now)
	going := eventsOf(id(2), 2, said("still going on"))
	going[0].Time = now
	mustAppend(t, s, going...)
	lease := mustAcquire(t, s, id(5))
	held := under(lease, eventsOf(id(5), 1, &troupe.RunStarted{}))
	held[0].Time = begun
	mustAppend(t, s, held...)
	deleted, err := s.Prune(t.Context(), now.AddDate(0, -1, 0))
	if err != nil || deleted != 2 {
		t.Errorf("%d sessions were deleted, %v", deleted, err)
	}
	for n, want := range []bool{1: false, 2: true, 3: false, 4: true, 5: true} {
		if n == 0 {
			continue
		}
		var err error
		for _, err = range s.Events(t.Context(), id(n), 0) {
		}
		if got := !errors.Is(err, troupe.ErrNotFound); got != want {
			t.Errorf("session %d is there: %v; %v", n, got, err)
		}
	}
	tables := server.SQL(t, "postgres", "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'events_2%' AND relnamespace = '"+s.schema+"'::regnamespace")
	want := fmt.Sprintf("%s %s %s", monthOf(begun).table("events"), monthOf(now).table("events"), monthOf(now).next().table("events"))
	if tables != want {
		t.Errorf("the partitions are %s; want %s", tables, want)
	}
	at(6, now.AddDate(0, -6, 0)) // whose partition is made again
	if n := lengthOf(t, s, id(6)); n != 1 {
		t.Errorf("it has %d events", n)
	}
}

func TestMonthsFollowEachOther(t *testing.T) {
	if m := month(202611).next(); m != 202612 {
		t.Error(m)
	}
	if m := month(202612).next(); m != 202701 {
		t.Error(m)
	}
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	for when, want := range map[time.Time]month{now: 202611, {}: 202611, now.AddDate(5, 0, 0): 202611, now.AddDate(-1, 0, 0): 202511, now.AddDate(-300, 0, 0): 202611} {
		if got := monthFor(when, now); got != want {
			t.Errorf("%s is kept under %d; want %d", when, got, want)
		}
	}
}

// A machine whose clock is wrong does no harm to leases, and is told all the same.
func TestAClockThatIsWrongIsTold(t *testing.T) {
	s := openNew(t)
	for name, c := range map[string]struct {
		off  time.Duration
		want string
	}{
		"right": {0, ""}, "a little off": {2 * time.Second, ""},
		"ahead": {3 * time.Minute, "this machine's clock is 3m0s ahead of the database's"}, "behind": {-2 * time.Hour, "this machine's clock is 2h0m0s behind the database's"},
	} {
		off, err := ahead(t.Context(), s.pool, func() time.Time { return time.Now().Add(c.off) })
		if err != nil {
			t.Fatal(err)
		}
		d := &Durability{FSync: true, FullPageWrites: true, SynchronousCommit: "on", Ahead: off.Round(time.Second)}
		problems := d.Problems()
		if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) != 1 || !strings.HasPrefix(problems[0].What, c.want)) {
			t.Errorf("%s: %+v", name, problems)
		}
	}
	if problem, err := s.ClockProblem(t.Context()); problem != "" || err != nil {
		t.Errorf("of one machine's own clock: %q, %v", problem, err)
	}
}
