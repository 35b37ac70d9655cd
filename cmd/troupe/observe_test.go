package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"

	"github.com/troupe-dev/troupe"
)

// write writes a project that is one file.
func write(t *testing.T, yaml string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const oneClerk = "agents: {clerk: {instructions: You answer., tools: [calculator]}}\n"

// Whoever follows the log of a project sees what another process does, as it does it.
func TestTheLogOfAnotherProcessIsFollowed(t *testing.T) {
	dir := write(t, oneClerk)
	if first := start(t, dir, nil, nil, "run", "clerk", "before"); first.code() != 0 {
		t.Fatal(first.err.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	follower := exec.CommandContext(ctx, "troupe", "logs", "--follow", "--json", "--grep", "otter*")
	follower.Dir, follower.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "GORACE=" + hurry}
	out, err := follower.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	var runs sync.WaitGroup
	defer runs.Wait()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	seen := map[int64]string{}
	said := make(chan struct{})
	runs.Go(func() {
		// Until the follower is there nothing can be said for it to see.
		for n := 0; ; n++ {
			p := start(t, dir, nil, nil, "run", "clerk", "about otters")
			p.code()
			select {
			case <-said:
				return
			default:
			}
		}
	})
	for lines.Scan() {
		var e troupe.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if seen[e.Seq] = e.Kind(); e.Kind() == "model_replied" {
			break
		}
	}
	close(said)
	if err := follower.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out)
	if err := follower.Wait(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
	if seen[2] != "user_said" || len(seen) != 2 {
		t.Errorf("it showed %v", seen)
	}
}

// A log file gets what agents do as JSON lines, and no secret.
func TestWhatAgentsDoGoesToTheLogFile(t *testing.T) {
	const canary = "canary-77ab02c4e1"
	dir := write(t, oneClerk+"web: {search: {engine: brave, key_env: SEARCH_KEY}}\nlog: {file: {path: logs/troupe.log, max_size: 1, max_count: 2}}\n")
	p := start(t, dir, []string{"SEARCH_KEY=" + canary}, nil, "run", "clerk", "Calculate 6*7; my key is "+canary+" and sk-abcdefghijklmnopqrstuvwx")
	if p.code() != 0 {
		t.Fatal(p.err.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "logs", "troupe.log"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var record struct{ Time, Level, Msg, Session, Agent, Kind, Tool string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Session == "" || record.Agent != "clerk" || record.Level != "INFO" {
			t.Errorf("%v: %s", err, line)
		}
		kinds[record.Kind]++
	}
	if kinds["tool_returned"] != 1 || kinds["run_finished"] != 1 || kinds["context_loaded"] != 0 {
		t.Errorf("it has %v", kinds)
	}
	if strings.Contains(string(text), canary) || strings.Contains(string(text), "sk-abcdef") {
		t.Errorf("a secret is in the log:\n%s", text)
	}
	if logs := start(t, dir, []string{"SEARCH_KEY=" + canary}, nil, "logs"); logs.code() != 0 || strings.Contains(logs.out.String(), canary) {
		t.Errorf("a secret is shown:\n%s", &logs.out)
	}
}

// Spans go to the collector that the standard variables name, and to none without them.
func TestTracesGoToTheCollector(t *testing.T) {
	var mu sync.Mutex
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					names = append(names, span.Name)
				}
			}
		}
	}))
	defer server.Close()
	seen := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(names, ", ")
	}
	dir := write(t, oneClerk)
	for _, env := range [][]string{nil, {"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL}} {
		if p := start(t, dir, env, nil, "run", "clerk", "Calculate 6*7"); p.code() != 0 {
			t.Fatal(p.err.String())
		}
		if got := seen(); env == nil && got != "" {
			t.Errorf("nobody asked for %s", got)
		}
	}
	got := seen()
	for _, want := range []string{"invoke_agent clerk", "chat rehearsal", "execute_tool calculator"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no span %q in %s", want, got)
		}
	}
	// A collector that is not there is no reason to fail.
	server.Close()
	p := start(t, dir, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=200", "OTEL_BSP_EXPORT_TIMEOUT=300"}, nil, "run", "clerk", "hello")
	if p.code() != 0 {
		t.Errorf("exit code %d: %s", p.ProcessState.ExitCode(), &p.err)
	}
}

// A run that its process left behind shows as interrupted, and one that is under way
// as running, also to other processes.
func TestAnInterruptedRunShowsAsSuch(t *testing.T) {
	url, reached := stallingServer(t)
	dir := newProject(t, url)
	p := start(t, dir, []string{"CANARY=k"}, nil, "run", "mira", "go")
	<-reached
	status := func() string {
		t.Helper()
		list := start(t, dir, []string{"CANARY=k"}, nil, "sessions", "list", "--json")
		list.code()
		var found []struct {
			Execution struct{ Status string }
		}
		if err := json.Unmarshal(list.out.Bytes(), &found); err != nil || len(found) != 1 {
			t.Fatalf("%v\n%s%s", err, &list.out, &list.err)
		}
		return found[0].Execution.Status
	}
	if got := status(); got != "running" {
		t.Errorf("while it runs: %s", got)
	}
	p.Process.Kill()
	p.code()
	if got := status(); got != "interrupted" {
		t.Errorf("after it was killed: %s", got)
	}
	list := start(t, dir, []string{"CANARY=k"}, nil, "sessions", "list", "--status", "interrupted")
	if list.code(); !strings.Contains(list.out.String(), "interrupted") {
		t.Errorf("it is not found: %s%s", &list.out, &list.err)
	}
}
