//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// attempt is the argument with which the test program makes an attempt at something
// that a sandbox must refuse.
const attempt = "__attempt"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case HelperArgument:
			os.Exit(Child())
		case attempt:
			os.Exit(try(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// try is the program that is run in the sandbox. It prints REFUSED or DONE.
func try(args []string) int {
	var err error
	switch args[0] {
	case "write":
		err = os.WriteFile(args[1], []byte("x"), 0o644)
	case "read":
		_, err = os.ReadFile(args[1])
	case "list":
		var entries []os.DirEntry
		if entries, err = os.ReadDir(args[1]); err == nil && !strings.Contains(fmt.Sprint(entries), "id_rsa") {
			err = errors.New("the key is not to be seen")
		}
	case "rename":
		err = os.Rename(args[1], args[2])
	case "remove":
		err = os.Remove(args[1])
	case "truncate":
		err = os.Truncate(args[1], 0)
	case "chmod":
		err = os.Chmod(args[1], 0o777)
	case "link":
		err = os.Link(args[1], args[2])
	case "dial":
		var c net.Conn
		if c, err = net.DialTimeout(args[1], args[2], time.Second); err == nil && args[1] == "udp" {
			if _, err = c.Write([]byte("x")); err == nil {
				c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
				_, err = c.Read(make([]byte, 8))
			}
		}
	case "signal":
		var pid int
		fmt.Sscan(args[1], &pid)
		err = syscall.Kill(pid, syscall.Signal(0))
	case "mount":
		err = syscall.Mount("tmpfs", args[1], "tmpfs", 0, "")
	case "unshare":
		if err = syscall.Unshare(syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS); err == nil {
			err = syscall.Mount("", "/", "", syscall.MS_REMOUNT|syscall.MS_BIND, "")
		}
	case "loopback":
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			go l.Accept()
			_, err = net.Dial("tcp", l.Addr().String())
		}
	}
	if err != nil {
		fmt.Println("REFUSED", err)
		return 1
	}
	fmt.Println("DONE")
	return 0
}

func open(t testing.TB, level Level) *Sandbox {
	t.Helper()
	s, err := Open(t.Context(), level, []string{os.Args[0], HelperArgument}, nil)
	if err != nil {
		t.Skipf("the level %s cannot be had here: %v", level, err)
	}
	return s
}

// A place is a worktree and, beside it, what no program may touch.
type place struct {
	worktree, outside, secret, program string
}

func newPlace(t testing.TB) place {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(home, ".troupe-sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := place{filepath.Join(dir, "worktree"), filepath.Join(dir, "outside"), filepath.Join(dir, "id_rsa"), filepath.Join(dir, "worktree", "program")}
	for _, d := range []string{p.worktree, p.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(p.program, data, 0o755)
	}
	for name, content := range map[string]string{p.secret: "key", filepath.Join(p.outside, "file"): "before", filepath.Join(p.worktree, "mine"): "mine"} {
		if err == nil {
			err = os.WriteFile(name, []byte(content), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p place) run(t testing.TB, s *Sandbox, limits Limits, argv ...string) Result {
	t.Helper()
	r, err := s.Run(t.Context(), Command{Argv: argv, Dir: p.worktree, Env: []string{"PATH=" + os.Getenv("PATH")}, Write: []string{p.worktree}, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each row is an attempt by a program that was run as a check.
func TestAttemptsAreRefused(t *testing.T) {
	for _, level := range []Level{Full, Files} {
		t.Run(string(level), func(t *testing.T) {
			s, p := open(t, level), newPlace(t)
			tcp, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer tcp.Close()
			udp, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer udp.Close()
			go func() {
				buffer := make([]byte, 8)
				for {
					_, from, err := udp.ReadFrom(buffer)
					if err != nil {
						return
					}
					udp.WriteTo([]byte("y"), from)
				}
			}()
			socket := filepath.Join(p.outside, "engine.sock")
			named, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer named.Close()
			abstract, err := net.Listen("unix", "@troupe-test-"+filepath.Base(filepath.Dir(p.worktree)))
			if err != nil {
				t.Fatal(err)
			}
			defer abstract.Close()
			file := filepath.Join(p.outside, "file")
			refused := 0
			attempts := [][]string{
				{"write", filepath.Join(p.outside, "new")}, {"write", file}, {"truncate", file}, {"remove", file},
				{"rename", file, filepath.Join(p.worktree, "stolen")}, {"rename", filepath.Join(p.worktree, "mine"), filepath.Join(p.outside, "planted")},
				{"link", p.secret, filepath.Join(p.worktree, "link")}, {"chmod", file},
				{"read", p.secret}, {"list", filepath.Dir(p.secret)}, {"write", "/etc/troupe-test"}, {"read", "/etc/shadow-does-not-matter"},
				{"dial", "tcp", tcp.Addr().String()}, {"dial", "udp", udp.LocalAddr().String()}, {"dial", "unix", socket}, {"dial", "unix", abstract.Addr().String()},
				{"signal", fmt.Sprint(os.Getpid())}, {"mount", p.worktree}, {"unshare"},
			}
			for _, a := range attempts {
				if level == Files && a[0] == "chmod" {
					continue // Landlock cannot refuse it; said in docs/deliver.md
				}
				r := p.run(t, s, Limits{}, append([]string{p.program, attempt}, a...)...)
				if !strings.Contains(r.Output, "REFUSED") {
					t.Errorf("%q was not refused: %d %s %s", a, r.Exit, r.Output, r.Missing)
					continue
				}
				refused++
			}
			if data, _ := os.ReadFile(file); string(data) != "before" {
				t.Errorf("the file outside is now %q", data)
			}
			if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 && level == Full {
				t.Errorf("the mode of the file outside is now %s", info.Mode())
			}
			t.Logf("%s: %d attempts refused", level, refused)
		})
	}
}

func TestWhatProgramsNeedWorks(t *testing.T) {
	for _, level := range []Level{Full, Files} {
		t.Run(string(level), func(t *testing.T) {
			s, p := open(t, level), newPlace(t)
			if r := p.run(t, s, Limits{}, p.program, attempt, "write", filepath.Join(p.worktree, "new")); !strings.Contains(r.Output, "DONE") {
				t.Errorf("write in the worktree: %+v", r)
			}
			r := p.run(t, s, Limits{}, "sh", "-c", `echo x >"$TMPDIR/t" && echo y >"$HOME/h" && cat /dev/null && echo to >/dev/null && test -z "$TROUPE_SANDBOX$SECRET" && ls "$HOME" && id -u`)
			if r.Exit != 0 || r.Output != fmt.Sprintf("h\n%d\n", os.Getuid()) && level == Full {
				t.Errorf("a shell: %+v", r)
			}
			if r := p.run(t, s, Limits{}, p.program, attempt, "loopback"); level == Full && !strings.Contains(r.Output, "DONE") {
				t.Errorf("loopback: %+v", r)
			}
			if r := p.run(t, s, Limits{}, "no-such-program"); r.Exit != 127 || !strings.Contains(r.Missing, "no such program") {
				t.Errorf("a program that is not there: %+v", r)
			}
			if r := p.run(t, s, Limits{}, "sh", "-c", "exit 3"); r.Exit != 3 {
				t.Errorf("exit code: %+v", r)
			}
			if r := p.run(t, s, Limits{}, "sh", "-c", "kill -9 $$"); r.Exit != 137 {
				t.Errorf("signal: %+v", r)
			}
		})
	}
}

func TestNothingOutlivesTheCall(t *testing.T) {
	for _, level := range []Level{Full, Files, Off} {
		t.Run(string(level), func(t *testing.T) {
			s, p := open(t, level), newPlace(t)
			mark := fmt.Sprintf("7%d", time.Now().UnixNano()%1e8)
			begun := time.Now()
			r := p.run(t, s, Limits{Time: 500 * time.Millisecond}, "sh", "-c", "trap '' TERM; (setsid sleep "+mark+" &) ; (trap '' TERM HUP; sleep "+mark+") & sleep "+mark)
			if r.Ended != "time" {
				t.Errorf("%+v", r)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if level != Off {
				if left := processes(t, mark); left != "" {
					t.Errorf("left behind: %s", left)
				}
			}
			r = p.run(t, s, Limits{}, "sh", "-c", "(setsid sleep "+mark+" >/dev/null 2>&1 &); exit 0")
			if r.Exit != 0 {
				t.Errorf("%+v", r)
			}
			if level != Off {
				if left := processes(t, mark); left != "" {
					t.Errorf("left behind after a quick end: %s", left)
				}
			}
			for line := range strings.Lines(processes(t, mark)) { // a plain process can leave others behind
				var pid int
				fmt.Sscan(line, &pid)
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

func processes(t testing.TB, mark string) string {
	t.Helper()
	found := ""
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && strings.HasPrefix(string(data), "sleep\x00") && strings.Contains(string(data), mark) {
			found += e.Name() + " " + strings.ReplaceAll(string(data), "\x00", " ") + "\n"
		}
	}
	return found
}

// A program without a network reaches the hosts that are named, and no others.
func TestHostsThatAreNamedCanBeReached(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	s, p := open(t, Full), newPlace(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from ", r.URL.Path) }))
	defer server.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	const script = `const [, , named, other] = process.argv; const proxy = new URL(process.env.HTTP_PROXY); const http = require('http');
const get = (path) => new Promise((done) => http.get({ host: proxy.hostname, port: proxy.port, path }, (r) => { let t = ''; r.on('data', (d) => t += d).on('end', () => done(r.statusCode + ' ' + t)); }));
const tunnel = (path) => new Promise((done) => http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path }).on('connect', (r, s) => {
  if (r.statusCode !== 200) return done(r.statusCode);
  s.write('GET /tunnel HTTP/1.0\r\n\r\n'); let t = ''; s.on('data', (d) => t += d).on('end', () => done(t.split('\r\n').pop())); }).end());
(async () => { console.log(await get('http://' + named + '/plain')); console.log(await tunnel(named)); console.log(await get('http://' + other + '/')); console.log(await tunnel(other));
  require('net').connect(+named.split(':')[1], '127.0.0.1').on('error', (e) => { console.log(e.code); process.exit(0); }).on('connect', () => { console.log('REACHED'); process.exit(0); }); })();
`
	if err := os.WriteFile(filepath.Join(p.worktree, "get.js"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(server.URL, "http://")
	r, err := s.Run(t.Context(), Command{
		Argv: []string{node, "get.js", address, strings.TrimPrefix(other.URL, "http://")}, Dir: p.worktree, Env: []string{"PATH=" + os.Getenv("PATH")},
		Write: []string{p.worktree}, Hosts: []string{"*.example.org", address}, Limits: Limits{Time: time.Minute},
	})
	want := "200 hello from /plain\nhello from /tunnel\n403 troupe: checks may not reach"
	if err != nil || !strings.HasPrefix(r.Output, want) || !strings.HasSuffix(r.Output, "\n403\nECONNREFUSED\n") {
		t.Errorf("%+v %v", r, err)
	}
	g := &gate{hosts: []string{"*.example.org", "one.example.com:443"}}
	for host, want := range map[string]bool{"a.example.org:80": true, "A.B.example.org.": true, "example.org": false, "evilexample.org": false, "one.example.com:443": true, "one.example.com:80": false, "": false} {
		if g.admits(host) != want {
			t.Errorf("%q is admitted: %t", host, !want)
		}
	}
}

// Where the kernel has a control group for us, it ends what holds too much, on both
// levels, and at once: nothing is to be watched.
func TestMemoryIsBoundedByTheKernel(t *testing.T) {
	if !MemoryIsBounded() {
		t.Skip("no control group can be made here")
	}
	for _, level := range []Level{Full, Files} {
		s, p := open(t, level), newPlace(t)
		r := p.run(t, s, Limits{Memory: 64 << 20, Time: time.Minute}, "sh", "-c", "tail -n 1 /dev/zero; exit 3")
		if r.Ended != "memory" {
			t.Errorf("%s: %d %s %.300s", level, r.Exit, r.Ended, r.Output)
		}
		if r := p.run(t, s, Limits{Memory: 256 << 20, Time: time.Minute}, "sh", "-c", "echo fine"); r.Exit != 0 || r.Ended != "" {
			t.Errorf("%s: %+v", level, r)
		}
	}
}

func TestLimits(t *testing.T) {
	s, p := open(t, Full), newPlace(t)
	t.Run("output", func(t *testing.T) {
		r := p.run(t, s, Limits{Output: 64 << 10}, "sh", "-c", "echo first; head -c 104857600 /dev/zero | tr '\\0' x; echo; echo last")
		if len(r.Output) > 65<<10 || !strings.HasPrefix(r.Output, "first") || !strings.HasSuffix(r.Output, "last\n") || r.Dropped < 100<<20-64<<10 {
			t.Errorf("%d bytes, %d dropped", len(r.Output), r.Dropped)
		}
	})
	t.Run("processes", func(t *testing.T) {
		r := p.run(t, s, Limits{Processes: 60, Time: 30 * time.Second}, "sh", "-c", "f() { sleep 20 & f; }; f")
		if r.Ended != "processes" && r.Exit == 0 {
			t.Errorf("%d %s %.300s", r.Exit, r.Ended, r.Output)
		}
	})
	t.Run("memory", func(t *testing.T) {
		// tail keeps a line that does not end.
		r := p.run(t, s, Limits{Memory: 64 << 20, Time: 30 * time.Second}, "sh", "-c", "tail -n 1 /dev/zero")
		if r.Ended != "memory" {
			t.Errorf("%d %s %.300s", r.Exit, r.Ended, r.Output)
		}
	})
	t.Run("written", func(t *testing.T) {
		r := p.run(t, s, Limits{Written: 8 << 20}, "sh", "-c", "head -c 20000000 /dev/zero >big; ls -l big")
		if info, err := os.Stat(filepath.Join(p.worktree, "big")); err == nil && info.Size() > 9<<20 {
			t.Errorf("%d bytes were written: %+v", info.Size(), r)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := s.Run(ctx, Command{Argv: []string{"sleep", "60"}, Dir: p.worktree, Env: []string{"PATH=/bin:/usr/bin"}, Write: []string{p.worktree}}); err == nil {
			t.Error("it came to its end")
		}
	})
}

// What holds for one user holds for another.
func TestAsAnUnprivilegedUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; what the other tests did was unprivileged")
	}
	home, err := os.MkdirTemp("", "troupe-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "program"), data, 0o755)
	}
	if err == nil {
		err = os.Chown(home, 65534, 65534)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(home, "program"), "-test.run", "Attempts|WhatPrograms", "-test.v")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=/usr/bin:/bin", "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "refused") || strings.Contains(line, "SKIP") || strings.Contains(line, "cannot be had") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func TestAWordForEveryLevel(t *testing.T) {
	if _, err := Open(t.Context(), "strong", []string{"x"}, nil); err == nil || !strings.Contains(err.Error(), "none of auto") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), "", nil, nil); err == nil || !strings.Contains(err.Error(), "no sandbox") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Full, []string{"/bin/false"}, nil); err == nil || !strings.Contains(err.Error(), "no sandbox") {
		t.Error(err)
	}
	s, err := Open(t.Context(), Wrapped, nil, []string{"env", "IN={worktree}"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := s.Run(t.Context(), Command{Argv: []string{"sh", "-c", "echo $IN"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil || r.Output != dir+"\n" {
		t.Errorf("%+v %v", r, err)
	}
}

func BenchmarkStart(b *testing.B) {
	s, p := open(b, Full), newPlace(b)
	for b.Loop() {
		p.run(b, s, Limits{}, "/bin/true")
	}
}

// What is in a hidden place and shown can be used; nothing else of that place can be seen.
func TestAHiddenPlaceShowsOnlyWhatIsGranted(t *testing.T) {
	s, err := Open(t.Context(), Full, []string{os.Args[0], HelperArgument}, nil)
	if err != nil {
		t.Skip(err)
	}
	base := t.TempDir()
	for name, content := range map[string]string{".env": "hidden", "data/troupe.db": "hidden", "data/work/tree/a.txt": "mine", "data/work/other/b.txt": "hidden", "repo/c.txt": "theirs"} {
		file := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	tree := filepath.Join(base, "data", "work", "tree")
	r, err := s.Run(t.Context(), Command{
		Argv: []string{"/bin/sh", "-c", "cat ../../../.env ../../troupe.db ../other/b.txt ../../../repo/c.txt a.txt; echo new > a.txt; echo evil > ../../evil; ls ../.. ../../.."},
		Dir:  tree, Env: []string{"PATH=/usr/bin:/bin"}, Write: []string{tree}, Read: []string{base}, Hide: []string{filepath.Join(base, "data"), filepath.Join(base, ".env")},
	})
	if err != nil || strings.Contains(r.Output, "hidden") || !strings.Contains(r.Output, "theirsmine") {
		t.Errorf("%+v, %v", r, err)
	}
	if got, _ := os.ReadFile(filepath.Join(tree, "a.txt")); string(got) != "new\n" {
		t.Errorf("the file is %q", got)
	}
	if _, err := os.Stat(filepath.Join(base, "data", "evil")); err == nil {
		t.Error("something was written beside it")
	}
}
