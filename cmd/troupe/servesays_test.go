package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a server says at its start is true for whoever reads it: how people come in, and where.
func TestAServerSaysHowPeopleComeIn(t *testing.T) {
	token := "CI=" + strings.Repeat("c", 40)
	for name, c := range map[string]struct{ yaml, address, link, says, not string }{
		"proxy": {"server: {hosts: [troupe.example.org], users: {ci: CI}, proxy: {user_header: X-Forwarded-User}}\n", "127.0.0.1:0", "http://127.0.0.1:",
			"People come in through the proxy at this machine, which says in X-Forwarded-User who they are.", "your own token"},
		"oidc": {"server: {url: \"https://troupe.example.org/\", hosts: [troupe.example.org], users: {ci: CI}, oidc: {issuer: \"https://login.example.org\", client_id: x, secret_env: CI, name: Company}}\n",
			"127.0.0.1:0", "https://troupe.example.org/\n", "It listens on http://127.0.0.1:", "your own token"},
		"oidc, in words": {"server: {url: \"https://troupe.example.org/\", hosts: [troupe.example.org], users: {ci: CI}, oidc: {issuer: \"https://login.example.org\", client_id: x, secret_env: CI, name: Company}}\n",
			"127.0.0.1:0", "https://troupe.example.org/\n", "people sign in with Company.", "your own token"},
		"all addresses": {"server: {hosts: [troupe.example.org], users: {ci: CI}}\n", "0.0.0.0:0", "http://troupe.example.org:", "your own token", "//[::]"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			p := exec.CommandContext(ctx, "troupe", "serve", "--addr", c.address, "--log-level", "info")
			p.Dir, p.Env = write(t, oneClerk+c.yaml), []string{"PATH=" + os.Getenv("PATH"), "GORACE=" + hurry, token}
			var told bytes.Buffer
			p.Stderr = &told
			shown, err := p.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			out, err := bufio.NewReader(shown).ReadString('\n')
			p.Process.Signal(os.Interrupt)
			if err := errors.Join(err, p.Wait()); err != nil {
				t.Error(err)
			}
			said := told.String()
			if !strings.HasPrefix(out, c.link) || !strings.Contains(said, c.says) || strings.Contains(out+said, c.not) {
				t.Errorf("it says\n%s%s", said, out)
			}
			for _, line := range []string{"server started", "server stops", "server stopped"} {
				if !strings.Contains(said, line) {
					t.Errorf("the log has no %q:\n%s", line, said)
				}
			}
		})
	}
}

// What cannot be served is refused before a link is shown that lets anybody in, and an
// address that is in use comes with what to do.
func TestAnAddressThatCannotBeUsedIsExplained(t *testing.T) {
	dir := write(t, oneClerk)
	p := start(t, dir, nil, nil, "serve", "--addr", "0.0.0.0:0")
	if code := p.code(); code != exitFailed || strings.Contains(p.out.String(), "token=") || !strings.Contains(p.err.String(), "other machines can reach it; configure users and hosts first") {
		t.Errorf("exit code %d\n%s%s", code, &p.out, &p.err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p = start(t, dir, nil, nil, "serve", "--addr", taken.Addr().String())
	if code := p.code(); code != exitFailed || !strings.Contains(p.err.String(), taken.Addr().String()+" is in use: ") || !strings.Contains(p.err.String(), "--addr") {
		t.Errorf("exit code %d\n%s", code, &p.err)
	}
}

// Two signals within a moment are one wish, as where a wrapper passes on what the terminal
// has sent to both.
func TestTwoSignalsAtOnceAreOne(t *testing.T) {
	url, reached := stallingServer(t)
	dir := newProject(t, url)
	p := start(t, dir, []string{"CANARY=k"}, nil, "run", "mira", "go")
	<-reached
	p.Process.Signal(syscall.SIGINT)
	p.Process.Signal(syscall.SIGTERM)
	if code := p.code(); code != exitInterrupted || !strings.Contains(p.err.String(), "' goes on") {
		t.Errorf("exit code %d\n%s", code, &p.err)
	}
}

// Whose quota is used up is told when to try again.
func TestAQuotaSaysWhenItBeginsAnew(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(everyProtocol))
	defer models.Close()
	dir := clerkAt(t, models.URL)
	appendTo(t, dir, "server: {users: {ada: ADA}, quota: {runs: 1}}\n")
	ada := strings.Repeat("a", 40)
	base, _, stop := serveIn(t, dir, "CANARY=k", "ADA="+ada)
	var refused *http.Response
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/v1/chat/completions", strings.NewReader(`{"model":"clerk","messages":[{"role":"user","content":"Well?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+ada)
		r.Header.Set("Content-Type", "application/json")
		if refused, err = http.DefaultClient.Do(r); err != nil {
			t.Fatal(err)
		}
		refused.Body.Close()
	}
	wait, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	if err != nil || refused.StatusCode != http.StatusTooManyRequests || wait < 1 || wait > 24*60*60 {
		t.Errorf("%d, again after %q", refused.StatusCode, refused.Header.Get("Retry-After"))
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Behind a proxy that serves below a path, cards say where they were asked for.
func TestACardSaysWhereItWasAskedFor(t *testing.T) {
	base, token, stop := serveIn(t, write(t, oneClerk))
	for _, c := range []struct{ proto, prefix, want string }{
		{"https", "/troupe/", "https://" + strings.TrimPrefix(base, "http://") + "/troupe/a2a/clerk"},
		{"", "", base + "/a2a/clerk"},
		{"javascript", "//evil.example", base + "/a2a/clerk"},
		{"", "/a b", base + "/a2a/clerk"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/a2a/clerk/.well-known/agent-card.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Forwarded-Proto", c.proto)
		r.Header.Set("X-Forwarded-Prefix", c.prefix)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var card bytes.Buffer
		card.ReadFrom(answer.Body)
		answer.Body.Close()
		if !strings.Contains(card.String(), `"url": "`+c.want+`"`) {
			t.Errorf("%+v: %s", c, &card)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The file that was edited is the one that is named.
func TestTheEditedFileIsNamed(t *testing.T) {
	before := configured(t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("A=b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(before.changed(configured(dir)), ","); got != ".env" {
		t.Errorf("changed is %s", got)
	}
}
