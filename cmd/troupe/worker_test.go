package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A server acknowledges what is said to it and workers answer, each in a directory of its
// own. One that is killed in the middle is followed by another.
func TestWorkersCarryOutWhatAServerIsAskedFor(t *testing.T) {
	database := postgrestest.Start(t).Schema()
	var asked atomic.Int32
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if asked.Add(1) == 1 {
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"The beginning"}}]}`+"\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"The whole answer."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer model.Close()
	newDir := func() string {
		dir := newProject(t, model.URL)
		file, err := os.OpenFile(filepath.Join(dir, "troupe.yaml"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = fmt.Fprintf(file, "store: %s&lease=2s\nengine: workers\n", database)
		}
		if err != nil || file.Close() != nil {
			t.Fatal(err)
		}
		return dir
	}
	base, token, stop := serveIn(t, newDir(), "CANARY=k")
	var session struct{ ID string }
	request(t, "POST", base+"/api/sessions", token, `{"agent":"mira"}`, &session)
	if code := request(t, "POST", base+"/api/sessions/"+session.ID+"/messages", token, `{"text":"Hello"}`, nil); code != 202 {
		t.Fatalf("a message gets %d", code)
	}
	if code := request(t, "POST", base+"/api/sessions/"+session.ID+"/messages", token, `{"text":"Hello again"}`, nil); code != 409 && code != 202 {
		t.Errorf("a second message gets %d", code)
	}
	if asked.Load() != 0 {
		t.Error("the server has asked the model itself")
	}
	first := start(t, newDir(), []string{"CANARY=k"}, nil, "worker")
	until(t, "a worker takes the run up", func() bool { return asked.Load() == 1 })
	first.Process.Kill()
	first.Wait()
	second := start(t, newDir(), []string{"CANARY=k"}, nil, "worker")
	status := func() string {
		var info struct{ Status string }
		request(t, "GET", base+"/api/sessions/"+session.ID, token, "", &info)
		return info.Status
	}
	until(t, "another worker finishes it", func() bool { return status() == "completed" })
	var hits []struct{ Event json.RawMessage }
	request(t, "GET", base+"/api/logs?session="+session.ID+"&q=whole", token, "", &hits)
	if len(hits) == 0 || !strings.Contains(string(hits[0].Event), "The whole answer.") {
		t.Errorf("%s", hits)
	}
	second.Process.Signal(os.Interrupt)
	if code := second.code(); code != exitInterrupted && code != 0 {
		t.Errorf("the worker ended with %d: %s", code, &second.err)
	}
	if err := stop(); err != nil {
		t.Errorf("the server did not end well: %v", err)
	}
}

// Workers need a store that they share.
func TestWorkersOnAFileAreRefused(t *testing.T) {
	dir := write(t, oneClerk)
	for yaml, want := range map[string]string{"": "workers share a PostgreSQL database", "engine: temporal\n": "engine: temporal in troupe.yaml: workers share"} {
		if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(oneClerk+yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		command := "worker"
		if yaml != "" {
			command = "serve"
		}
		if p := start(t, dir, nil, nil, command); p.code() == 0 || !strings.Contains(p.err.String(), want) {
			t.Errorf("%s: %s", command, &p.err)
		}
	}
}
