package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A person is a user of this machine who delivers with a copy of the program.
type person struct {
	t    *testing.T
	cred *syscall.Credential // nil for whoever runs the tests
	home string
}

// newPerson makes a folder that belongs to a person. Only root can be somebody else.
func newPerson(t *testing.T, cred *syscall.Credential) *person {
	t.Helper()
	p := &person{t: t, cred: cred, home: t.TempDir()}
	if cred == nil {
		return p
	}
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; what the other case did was unprivileged")
	}
	program, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.home, "troupe"), data, 0o755)
	}
	if err == nil {
		err = os.Chmod(filepath.Dir(p.home), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.owns(p.home)
	if out, err := p.command(p.home, nil, "sh", "-c", "ls -l troupe").CombinedOutput(); err != nil {
		t.Skipf("another user cannot get at temporary folders here: %v %s", err, out)
	}
	return p
}

// owns makes the person the owner of a folder with all that is in it.
func (p *person) owns(dir string) {
	p.t.Helper()
	if p.cred == nil {
		return
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%d", p.cred.Uid, p.cred.Gid), dir).CombinedOutput(); err != nil {
		p.t.Fatalf("%v %s", err, out)
	}
}

// command is a command line of the person's, with nothing in its environment but what is given.
func (p *person) command(dir string, env []string, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	p.t.Cleanup(cancel)
	if name == "troupe" && p.cred != nil {
		name = filepath.Join(p.home, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.home, "HOME=" + p.home, "GORACE=" + hurry, "TROUPE_LOOK_FOR_OLLAMA=no"}, append(env, gitNames...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred}
	return cmd
}

// sh runs a shell command.
func (p *person) sh(dir, command string) string {
	p.t.Helper()
	out, err := p.command(dir, nil, "sh", "-c", command).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// deliver delivers into a repository and returns the report.
func (p *person) deliver(dir string, env []string) (r deliveryReport) {
	p.t.Helper()
	cmd := p.command(dir, env, "troupe", "--json", "deliver", "Make it good")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &r) != nil {
		p.t.Fatalf("%v\n%s\n%s", err, out, &said)
	}
	return r
}

// Programs that are run as a check try to do what they may not: as whoever runs the tests,
// which is root in most containers, and as somebody who may do little.
func TestChecksCannotDoWhatTheyWantFromOutside(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	for _, level := range []string{"full", "files"} {
		for who, cred := range map[string]*syscall.Credential{"as I am": nil, "as nobody": {Uid: 65534, Gid: 65534}} {
			t.Run(level+" "+who, func(t *testing.T) { tryAttempts(t, level, newPerson(t, cred)) })
		}
	}
}

const dialJS = "const [, , kind, at] = process.argv;\nconst fail = () => process.exit(1);\n" +
	"if (kind === 'udp') require('dgram').createSocket('udp4').on('error', fail).send('x', 53, '192.0.2.1', (err) => process.exit(err ? 1 : 0));\n" +
	"else require('net').connect(kind === 'tcp' ? { port: +at, host: '127.0.0.1' } : { path: at }).on('connect', () => process.exit(0)).on('error', fail);\n"

func tryAttempts(t *testing.T, level string, p *person) {
	a := newAgency(t)
	outside := t.TempDir()
	key := filepath.Join(outside, "id_rsa")
	if err := os.WriteFile(key, []byte("SECRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(outside, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	p.owns(outside)
	neighbour := p.command(outside, nil, "sleep", "600")
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { neighbour.Process.Kill(); neighbour.Wait() }()
	// What the person may do outside is what the check may not do inside.
	p.sh(outside, fmt.Sprintf("cat id_rsa && echo x > new && rm new && kill -0 %d", neighbour.Process.Pid))
	attempts := []string{
		"echo x > " + outside + "/new", "echo x >> " + key, "rm " + key, "mv " + key + " stolen", "cat " + key, "ls " + outside,
		"echo x > /etc/troupe-test", "echo x > $REPO/.git/hooks/pre-commit", "git --git-dir=$REPO/.git config core.fsmonitor /bin/false",
		"echo x > $(git rev-parse --git-dir)/index", "git commit --allow-empty -m x",
		"node dial.js tcp " + strings.TrimPrefix(a.URL, "http://127.0.0.1:"), "node dial.js udp", "node dial.js unix " + outside + "/s",
		fmt.Sprintf("kill -0 %d", neighbour.Process.Pid), "test -n \"$CANARY\"",
	}
	script := "node -e 0 || echo 'LEAK nothing: node does not run here'\n"
	for i, attempt := range attempts {
		script += fmt.Sprintf("if ( %s ) >/dev/null 2>&1; then echo 'LEAK %d'; fi\n", attempt, i)
	}
	// What it writes there may be gone with it: that the checkout stays as it is, is measured.
	sleeper := fmt.Sprintf("sleep 3%09d", os.Getpid())
	script += "echo x > $REPO/base.ok\n(setsid " + sleeper + " >/dev/null 2>&1 &)\necho TRIED\n"
	dir := a.repositoryOf(t, "  checks: [{name: test, run: sh attempts.sh}]\n  sandbox: "+level+"\n", map[string]string{"base.ok": "good\n", "dial.js": dialJS})
	if err := os.WriteFile(filepath.Join(dir, "attempts.sh"), []byte(strings.ReplaceAll(script, "$REPO", dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	inRepository(t, dir, "git add -A && git commit -qm attempts")
	p.owns(dir)
	env := a.environment(dir)
	noticed := func() string {
		return p.sh(dir, "git rev-parse HEAD main; git status --porcelain=v2; sha256sum .git/index *.*; cat .git/config; ls .git/hooks; ls -l "+outside)
	}
	before := noticed()
	r := p.deliver(dir, env)
	if !r.Success {
		t.Fatalf("%q", r.Reasons)
	}
	said, err := p.command(dir, env, "troupe", "deliveries", "checks", r.ID, "--output", "test").Output()
	if err != nil || !strings.Contains(string(said), "TRIED") || strings.Contains(string(said), "LEAK") {
		t.Errorf("on the level %s: %v\n%s\nof\n%s", level, err, said, strings.Join(attempts, "\n"))
	}
	if after := noticed(); after != before {
		t.Errorf("something has changed:\n%s\nwas\n%s", after, before)
	}
	if left, _ := exec.Command("pgrep", "-f", sleeper).Output(); len(left) > 0 {
		t.Errorf("a program lives on: %s", left)
	}
	t.Logf("%d attempts refused", len(attempts))
}
