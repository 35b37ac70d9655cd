//go:build unix

package test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// programs builds troupe and what it calls for Temporal, and returns where they are.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, build := range [][]string{{"../../..", "./cmd/troupe"}, {"..", "./cmd/troupe-temporal"}} {
		c := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), build[1])
		c.Dir = build[0]
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// A machine is a directory with the project, as each server and worker has one.
type machine struct {
	t   *testing.T
	bin string
	dir string
	env []string
}

func (m *machine) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Minute)
	m.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, filepath.Join(m.bin, "troupe"), args...)
	c.Dir, c.Env = m.dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "TROUPE_LOOK_FOR_OLLAMA=no"}, m.env...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	return c
}

// run runs troupe to its end and returns all it says.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("troupe %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// serve starts a server and returns its address and token.
func (m *machine) serve() (base, token string) {
	m.t.Helper()
	server := m.command("serve", "--addr", "127.0.0.1:0")
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _, _ = server.Process.Signal(os.Interrupt), server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		m.t.Fatal(err)
	}
	base, token, _ = strings.Cut(strings.TrimSpace(line), "/#token=")
	return base, token
}

// request asks a server for something.
func request(t *testing.T, method, url, token, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil || response.StatusCode >= 400 {
		t.Fatalf("%s %s: %d: %v: %.300s", method, url, response.StatusCode, err, data)
	}
}

// A server, a worker, many inputs and a schedule, with the programs that people have.
func TestTheProgramsWorkTogether(t *testing.T) {
	connect(t)
	bin, database := programs(t), postgrestest.Start(t).Schema()
	env := []string{"TEMPORAL_ADDRESS=" + cluster.server.GetFrontendHostPort(), "TEMPORAL_NAMESPACE=" + cluster.server.GetDefaultNamespace()}
	newMachine := func() *machine {
		m := &machine{t: t, bin: bin, dir: t.TempDir(), env: env}
		yaml := "model: rehearsal\nengine: temporal\nagents: {clerk: {instructions: You answer., tools: [calculator]}}\nstore: " + database + "&lease=2s\n"
		if err := os.WriteFile(filepath.Join(m.dir, "troupe.yaml"), []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		return m
	}
	server, other := newMachine(), newMachine()
	base, token := server.serve()
	var session struct{ ID, Status string }
	request(t, "POST", base+"/api/sessions", token, `{"agent":"clerk"}`, &session)
	// What is said while there is no worker waits for one.
	request(t, "POST", base+"/api/sessions/"+session.ID+"/messages", token, `{"text":"Calculate 6*7"}`, nil)
	worker := other.command("worker")
	worker.Stderr = os.Stderr
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = worker.Process.Signal(os.Interrupt), worker.Wait() })
	until(t, "the worker answers", func() bool {
		request(t, "GET", base+"/api/sessions/"+session.ID, token, "", &session)
		return session.Status == "completed"
	})
	var lines strings.Builder
	for i := range 5 {
		fmt.Fprintf(&lines, "%q\n", fmt.Sprintf("Calculate %d*2", i))
	}
	if err := os.WriteFile(filepath.Join(server.dir, "inputs.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"5 inputs: 5 done", "5 of them before"} {
		if out := server.run("run", "clerk", "--each", "inputs.jsonl", "--at-once", "2"); strings.Count(out, "success") != 5 || !strings.Contains(out, before) {
			t.Errorf("--each: %s", out)
		}
	}
	server.run("schedule", "add", "often", "clerk", "Calculate 1+1", "--cron", "@every 1s")
	until(t, "the schedule is carried out", func() bool {
		var found []struct{ Title, Status string }
		request(t, "GET", base+"/api/sessions", token, "", &found)
		n := 0
		for _, s := range found {
			if s.Title == "Calculate 1+1" && s.Status == "completed" {
				n++
			}
		}
		return n >= 2
	})
	server.run("schedule", "remove", "often")
	out := server.run("doctor")
	for _, want := range []string{"temporal: namespace " + cluster.server.GetDefaultNamespace(), "1 worker for runs"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor says nothing of %s: %s", want, out)
		}
	}
	gone := newMachine()
	gone.env = []string{"TEMPORAL_ADDRESS=127.0.0.1:1"}
	if out, err := gone.command("worker").CombinedOutput(); err == nil || !strings.Contains(string(out), "TEMPORAL_ADDRESS") {
		t.Errorf("no cluster: %v: %s", err, out)
	}
	gone.env = []string{env[0], "TEMPORAL_NAMESPACE=nowhere"}
	if out, err := gone.command("worker").CombinedOutput(); err == nil || !strings.Contains(string(out), "no such Temporal namespace") {
		t.Errorf("no namespace: %v: %s", err, out)
	}
}

// A worker that is told to end leaves its run under way, and one that is killed takes the program with it that it
// has started: only then do its outputs end.
func TestARunIsUnderWayBetweenTwoWorkers(t *testing.T) {
	connect(t)
	var asked atomic.Int32
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if asked.Add(1) <= 2 {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"The answer."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer model.Close()
	bin, database := programs(t), postgrestest.Start(t).Schema()
	env := []string{"TEMPORAL_ADDRESS=" + cluster.server.GetFrontendHostPort(), "TEMPORAL_NAMESPACE=" + cluster.server.GetDefaultNamespace(), "CANARY=k"}
	newMachine := func() *machine {
		m := &machine{t: t, bin: bin, dir: t.TempDir(), env: env}
		yaml := "model: local/m\nproviders: {local: {base_url: \"" + model.URL + "/v1\", key_env: CANARY}}\nlimits: {model_tries: 1}\n" +
			"engine: temporal\nagents: {clerk: {instructions: You answer.}}\nstore: " + database + "&lease=2s\n"
		if err := os.WriteFile(filepath.Join(m.dir, "troupe.yaml"), []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		return m
	}
	base, token := newMachine().serve()
	var session struct{ ID, Status string }
	request(t, "POST", base+"/api/sessions", token, `{"agent":"clerk"}`, &session)
	request(t, "POST", base+"/api/sessions/"+session.ID+"/messages", token, `{"text":"Hello"}`, nil)
	work := func() (worker *exec.Cmd, told *bytes.Buffer) {
		worker, told = newMachine().command("worker"), &bytes.Buffer{}
		worker.Stderr = told
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		return worker, told
	}
	first, told := work()
	until(t, "a worker takes the run up", func() bool { return asked.Load() == 1 })
	first.Process.Signal(syscall.SIGTERM)
	if err := first.Wait(); err != nil || strings.Contains(told.String(), "troupe:") {
		t.Errorf("it ended with %v: %s", err, told)
	}
	if request(t, "GET", base+"/api/sessions/"+session.ID, token, "", &session); session.Status != "running" {
		t.Errorf("the session is %s", session.Status)
	}
	second, told := work()
	until(t, "another takes it up", func() bool { return asked.Load() == 2 })
	second.Process.Kill()
	second.Wait() // until the program that it has started has ended, too
	third, _ := work()
	until(t, "the third finishes it", func() bool {
		request(t, "GET", base+"/api/sessions/"+session.ID, token, "", &session)
		return session.Status == "completed"
	})
	third.Process.Signal(syscall.SIGTERM)
	if err := third.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("the second said %s", told)
}
