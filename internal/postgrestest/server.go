// Package postgrestest starts a PostgreSQL server for tests, in a temporary directory,
// on a port of its own, as a user of its own. What it needs is Debian's package
// "postgresql", or any other that has initdb and postgres.
package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A Server is a PostgreSQL server that lives as long as a test, or as all tests of a
// package: see [Shared].
type Server struct {
	dir      string // holds everything
	bin      string
	Port     int
	settings []string
	as       *syscall.Credential // nil where the test does not run as root

	mu      sync.Mutex
	process *os.Process
	ended   chan struct{}
}

// errMissing says that there is no PostgreSQL on the machine.
var errMissing = errors.New("PostgreSQL is not installed: run make setup")

// Superuser and password are what tests connect with.
const (
	Superuser = "troupe"
	Password  = "only for tests"
)

// Start starts a server for as long as the test, with settings such as "fsync=on". It
// skips the test, saying so, where there is no PostgreSQL, and fails it where CI is true.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s, err := start(tb.Context(), settings)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(s.Remove)
	return s
}

func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, errMissing) && os.Getenv("CI") != "true" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// A Shared server is started by the first test that needs it. Whoever declares one calls
// its Remove when all tests have ended.
type Shared struct {
	Settings []string

	once   sync.Once
	server *Server
	err    error
}

// Server returns the server.
func (s *Shared) Server(tb testing.TB) *Server {
	tb.Helper()
	s.once.Do(func() { s.server, s.err = start(context.Background(), s.Settings) })
	if s.err != nil {
		giveUp(tb, s.err)
	}
	return s.server
}

// Remove ends the server, if there is one.
func (s *Shared) Remove() {
	if s.server != nil {
		s.server.Remove()
	}
}

// find returns the directory of PostgreSQL's programs.
func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errMissing
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func start(ctx context.Context, settings []string) (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, settings: settings}
	if os.Getuid() == 0 { // which PostgreSQL refuses to run as
		if s.as, err = postgresUser(); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp("", "troupe-postgres-"); err != nil {
		return nil, err
	}
	if err := s.initialize(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.Run(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func postgresUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("%w (there is no user postgres to run it as)", errMissing)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command is a program of PostgreSQL's, run as the server's user.
func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=" + s.dir}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return c
}

func (s *Server) own(path string) error {
	if s.as == nil {
		return nil
	}
	return os.Chown(path, int(s.as.Uid), int(s.as.Gid))
}

func (s *Server) initialize(ctx context.Context) error {
	secret := filepath.Join(s.dir, "secret")
	if err := os.WriteFile(secret, []byte(Password+"\n"), 0o600); err != nil {
		return err
	}
	if err := errors.Join(s.own(secret), s.own(s.dir)); err != nil {
		return err
	}
	out, err := s.command(ctx, "initdb", "--pgdata", s.data(), "--username", Superuser, "--pwfile", secret, "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--no-instructions").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// freePort returns one that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Run starts the server that was stopped or killed, on the port that it had.
func (s *Server) Run() (err error) {
	for range 5 { // somebody may take the port
		if s.Port == 0 {
			if s.Port, err = freePort(); err != nil {
				return err
			}
		}
		if err = s.run(); err == nil {
			return nil
		}
		s.Port = 0
	}
	return err
}

func (s *Server) run() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.Port), "-k", s.dir, "-c", "listen_addresses=127.0.0.1"}
	for _, setting := range append([]string{"fsync=off", "max_connections=200", "shared_buffers=64MB", "log_statement=none", "timezone=UTC"}, s.settings...) {
		args = append(args, "-c", setting)
	}
	c := s.command(context.Background(), "postgres", args...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		// The signal comes when the thread ends that started the process.
		runtime.LockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.mu.Lock()
	s.process, s.ended = c.Process, ended
	s.mu.Unlock()
	for {
		if s.isReady(c.Process.Pid) {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("postgres ended: %s", strings.TrimSpace(said.String()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// isReady reports whether the server takes connections: then it says so in a file.
func (s *Server) isReady(pid int) bool {
	data, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	lines := strings.Split(string(data), "\n")
	return err == nil && len(lines) > 7 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready"
}

// Kill ends the server as a crash would, and waits for its end.
func (s *Server) Kill() { s.signal(syscall.SIGQUIT) }

// Stop ends the server as an upgrade would: connections are ended, and work is not.
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

func (s *Server) signal(signal syscall.Signal) {
	s.mu.Lock()
	process, ended := s.process, s.ended
	s.mu.Unlock()
	if process == nil {
		return
	}
	_ = process.Signal(signal)
	<-ended
}

// Remove ends the server and removes what it had.
func (s *Server) Remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// Address returns that of a database.
func (s *Server) Address(database string) string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", Superuser, strings.ReplaceAll(Password, " ", "%20"), s.Port, database)
}

// SQL runs statements in a database, and returns the last row's values as a text.
func (s *Server) SQL(tb testing.TB, database, statements string) string {
	tb.Helper()
	config, err := pgconn.ParseConfig(s.Address(database))
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := pgconn.ConnectConfig(context.WithoutCancel(tb.Context()), config)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.Background())
	results, err := conn.Exec(context.WithoutCancel(tb.Context()), statements).ReadAll()
	if err != nil {
		tb.Fatalf("%s: %v", statements, err)
	}
	var last string
	for _, result := range results {
		for _, row := range result.Rows {
			last = string(bytes.Join(row, []byte("|")))
		}
	}
	return last
}

// places counts the databases and schemas that tests were given.
var places atomic.Int64

// Database makes an empty database for the test, and returns its address.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test%d", places.Add(1))
	s.SQL(tb, "postgres", "CREATE DATABASE "+name)
	return s.Address(name)
}

// Schema returns the address of a schema of its own for the test, which takes less time
// than a database.
func (s *Server) Schema() string {
	return fmt.Sprintf("%s&schema=test%d", s.Address("postgres"), places.Add(1))
}

// Standby makes a copy of the server that follows it, and takes no writes, for as long as
// the test.
func (s *Server) Standby(tb testing.TB) *Server {
	tb.Helper()
	standby := &Server{bin: s.bin, as: s.as}
	var err error
	if standby.dir, err = os.MkdirTemp("", "troupe-postgres-"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(standby.Remove)
	if err := standby.own(standby.dir); err != nil {
		tb.Fatal(err)
	}
	// pg_basebackup need not be beside initdb: what it does is little.
	s.Stop()
	copying := exec.CommandContext(tb.Context(), "cp", "-a", s.data(), standby.data())
	if out, err := copying.CombinedOutput(); err != nil {
		tb.Fatalf("copy the server: %v: %s", err, out)
	}
	if err := s.Run(); err != nil {
		tb.Fatal(err)
	}
	signal := filepath.Join(standby.data(), "standby.signal")
	if err := errors.Join(os.WriteFile(signal, nil, 0o600), standby.own(signal)); err != nil {
		tb.Fatal(err)
	}
	standby.settings = []string{fmt.Sprintf("primary_conninfo=host=127.0.0.1 port=%d user=%s password='%s' application_name=standby", s.Port, Superuser, Password)}
	if err := standby.Run(); err != nil {
		tb.Fatal(err)
	}
	return standby
}

// Multiply makes a store in a schema of the database postgres have a session many times
// over, under other ids, each with all its events, as if they had come in over two months.
func (s *Server) Multiply(tb testing.TB, schema, session string, times int) {
	tb.Helper()
	s.SQL(tb, "postgres", fmt.Sprintf(`SET search_path TO %[1]s; SET synchronous_commit = off;
INSERT INTO sessions (id, month, person, agent, title, status, started, updated, events, chain)
SELECT lpad(to_hex(n), 8, '0') || substr(id, 9), month, 'user' || n %% 1000, agent, title || ' ' || n, status, started - n * 5000000000, updated - n * 5000000000, events, chain
FROM sessions, generate_series(1::bigint, %[3]d) n WHERE id = '%[2]s';
INSERT INTO events (month, session, seq, key, time, run, agent, kind, tool, class, sum, event)
SELECT month, lpad(to_hex(n), 8, '0') || substr(session, 9), seq, key - n * 1000, time - n * 5000000000, run, agent, kind, tool, class, sum,
	replace(event, session, lpad(to_hex(n), 8, '0') || substr(session, 9))
FROM events, generate_series(1::bigint, %[3]d) n WHERE session = '%[2]s';`, schema, session, times))
	s.SQL(tb, "postgres", "VACUUM ANALYZE "+schema+".sessions")
}
