//go:build unix

package workspace

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests in this file hold, one by one, what os.Root does and what it does not.

func TestNamesThatLeaveTheirRootAreRefused(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	link(t, "../../../../../outside", w.bundle, "relative")
	link(t, w.outside, w.bundle, "absolute")
	link(t, w.core, w.bundle, "absolute-inside-project")
	link(t, filepath.Join(w.bundle, "config.yaml"), w.bundle, "absolute-inside")
	for _, name := range []string{
		"..", "../", "/", "//", "/outside/canary.txt", "../../../../../../outside/canary.txt",
		"{bundle-root}/..", "{bundle-root}/../", "{bundle-root}/../demo-evil/canary.txt", "{bundle-root}-evil/canary.txt",
		"{bundle-root}../x", "{bundle-root}/a/../../x", "{bundle-root}/config.yaml\x00", "\x00",
		"{bundle-root}/relative/canary.txt", "{bundle-root}/relative", "{bundle-root}/relative/", "{bundle-root}/relative/.",
		"{bundle-root}/absolute/canary.txt", "{bundle-root}/absolute", "{bundle-root}/absolute/",
		"{bundle-root}/absolute-inside-project/tasks/workflow.md", "{bundle-root}/absolute-inside",
		"x/{bundle-root}/config.yaml", "{bundle-root}/{core-root}/tasks/workflow.md",
	} {
		content, err := read(ws, name)
		if content != "" {
			t.Errorf("read %q gives %q", name, content)
		}
		wantRefusal(t, err, ErrDenied, w.dir)
		if loc, err := ws.Resolve(name); err == nil {
			_, err = ws.List(loc, 2)
			if !errors.Is(err, ErrDenied) && !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("list %q: %v", name, err)
			}
		}
	}
	if _, err := read(ws, filepath.Join(w.bundle, "config.yaml")); !errors.Is(err, ErrDenied) {
		t.Errorf("a path of the host: %v", err)
	}
	if _, err := read(ws, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("the empty name: %v", err)
	}
}

func TestLinksInsideARootAreFollowed(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t, Root{Name: ProjectRoot, Dir: w.project, Access: ReadOnly})
	link(t, "config.yaml", w.bundle, "link-0")
	for i := 1; i < 9; i++ {
		link(t, "link-"+strconv.Itoa(i-1), w.bundle, "link-"+strconv.Itoa(i))
	}
	link(t, "loop-b", w.bundle, "loop-a")
	link(t, "loop-a", w.bundle, "loop-b")
	link(t, "../config.yaml", filepath.Join(w.bundle, "workflows"), "up")
	link(t, "../docs/plan.md", filepath.Join(w.project, "deploy"), "plan")

	wantRead(t, ws, "{bundle-root}/link-7", "user_name: Ada\n")
	wantRead(t, ws, "{bundle-root}/workflows/up", "user_name: Ada\n")
	wantRead(t, ws, "{project-root}/deploy/plan", "the plan")
	for _, name := range []string{"{bundle-root}/link-8", "{bundle-root}/loop-a"} {
		_, err := read(ws, name)
		wantRefusal(t, err, syscall.ELOOP, w.dir)
	}
}

func TestAHardLinkIsNeitherReadNorWrittenThrough(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	outside := filepath.Join(w.outside, "canary.txt")
	for _, dir := range []string{w.bundle, w.session} {
		if err := os.Link(outside, filepath.Join(dir, "hard")); err != nil {
			t.Skip("hard links are not possible here:", err)
		}
	}
	_, err := read(ws, "{bundle-root}/hard")
	wantRefusal(t, err, ErrDenied, w.dir)
	if _, err := write(ws, "hard", "mine"); err != nil {
		t.Fatal(err)
	}
	wantRead(t, ws, "{session-folder}/hard", "mine")
	if content, _ := os.ReadFile(outside); string(content) != canary {
		t.Errorf("the other name of the file now holds %q", content)
	}

	trusting := openWith(t, Config{Roots: []Root{{Name: BundleRoot, Dir: w.bundle, Access: ReadOnly, Trusted: true}}})
	wantRead(t, trusting, "{bundle-root}/hard", canary)
}

// within fails the test if f waits for something that will not happen.
func within(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatal("still waiting")
	}
}

func TestPipesSocketsAndDevicesAreRefusedWithoutWaiting(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	if err := syscall.Mkfifo(filepath.Join(w.bundle, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(w.session, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.bundle) // the name of a socket is limited to 108 bytes
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	link(t, "pipe", w.bundle, "link-to-pipe")
	link(t, "/dev/zero", w.bundle, "link-to-device")
	link(t, "/dev/stdin", w.bundle, "link-to-stdin")

	within(t, 10*time.Second, func() {
		for name, want := range map[string]error{
			"pipe": ErrNotRegular, "link-to-pipe": ErrNotRegular, "socket": ErrNotRegular, "workflows": ErrNotRegular,
			"link-to-device": ErrDenied, "link-to-stdin": ErrDenied,
		} {
			_, err := read(ws, "{bundle-root}/"+name)
			wantRefusal(t, err, want, w.dir)
		}
		for _, name := range []string{"pipe", "link-to-pipe", "socket", "pipe/below"} {
			loc, _ := ws.Resolve("{bundle-root}/" + name)
			_, err := ws.List(loc, 2)
			wantRefusal(t, err, syscall.ENOTDIR, w.dir)
		}
		if _, err := write(ws, "pipe", "content"); err != nil {
			t.Error(err)
		}
		if _, err := write(ws, "pipe/below", "content"); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("write below a file: %v", err)
		}
		wantRead(t, ws, "{session-folder}/pipe", "content")
	})
}

func TestADeviceIsRefused(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	const zero = 1<<8 | 5
	if err := syscall.Mknod(filepath.Join(w.bundle, "zero"), syscall.S_IFCHR|0o666, zero); err != nil {
		t.Skip("no permission to make a device:", err)
	}
	_, err := read(ws, "{bundle-root}/zero")
	if !errors.Is(err, ErrNotRegular) && !errors.Is(err, os.ErrPermission) {
		t.Errorf("read a device: %v", err)
	}
}

func TestAnotherDeviceIsNotEntered(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	elsewhere, err := os.Stat("/proc")
	if err != nil || device(elsewhere) == device(ws.roots[BundleRoot].info) {
		t.Skip("no second device to compare with:", err)
	}
	// Seen from a root on another device, the files are on a mounted one.
	ws.roots[BundleRoot].info = elsewhere
	ws.roots[SessionFolder].info = elsewhere
	_, err = read(ws, "{bundle-root}/config.yaml")
	wantRefusal(t, err, ErrDenied, w.dir)
	loc, _ := ws.Resolve("{bundle-root}/workflows")
	_, err = ws.List(loc, 2)
	wantRefusal(t, err, ErrDenied, w.dir)
	_, err = write(ws, "new.md", "content")
	wantRefusal(t, err, ErrDenied, w.dir)
	put(t, w.session, "mounted/"+tempPrefix+"x", "somebody else's")
	if removed, err := ws.Sweep(time.Now().Add(time.Hour)); removed != 0 || err != nil {
		t.Errorf("Sweep removed %d, %v", removed, err)
	}
	ws.roots[BundleRoot].Trusted = true
	wantRead(t, ws, "{bundle-root}/config.yaml", "user_name: Ada\n")
}

func TestARootStaysTheSameDirectoryWhenItIsRenamed(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	if err := os.Rename(w.session, w.session+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.outside, w.session); err != nil {
		t.Fatal(err)
	}
	wantRead(t, ws, "{session-folder}/notes.md", "notes")
	if _, err := write(ws, "after.md", "content"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(w.session+"-moved", "after.md")); err != nil {
		t.Error(err)
	}
	if _, err := read(ws, "{session-folder}/canary.txt"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the link in the old place was followed: %v", err)
	}
}

func TestErrorsAreShortAndDoNotShowTheHost(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	long := strings.Repeat("a/", 1500)
	for name, want := range map[string]error{
		"{bundle-root}/" + long + "x":                ErrNotFound,
		"{bundle-root}/" + strings.Repeat("b", 300):  syscall.ENAMETOOLONG,
		"{bundle-root}/" + strings.Repeat("c", 6000): ErrTooLarge,
		strings.Repeat("../", 1300):                  ErrDenied,
		"{bundle-root}/\x1b[31m\u202eevil":           ErrNotFound,
		"{bundle-root}/config.yaml/below":            syscall.ENOTDIR,
	} {
		_, err := read(ws, name)
		wantRefusal(t, err, want, w.dir)
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\u202e") {
			t.Errorf("error holds control characters: %q", err)
		}
	}
}

func TestAFileWithoutPermissionIsAnErrorOfTheSystem(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything: permission bits cannot be tested")
	}
	w := newWorld(t)
	ws := w.open(t)
	if err := os.Chmod(filepath.Join(w.bundle, "config.yaml"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := read(ws, "{bundle-root}/config.yaml")
	wantRefusal(t, err, os.ErrPermission, w.dir)
}
