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
	"syscall"
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
	model, asked := slowModel(t)
	newDir := func() string { return sharing(t, model, database) }
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

// slowModel is a model server whose first answer does not end until its client leaves.
func slowModel(t *testing.T) (url string, asked *atomic.Int32) {
	asked = &atomic.Int32{}
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
	t.Cleanup(model.Close)
	return model.URL, asked
}

// sharing is a project whose runs are carried out by workers.
func sharing(t *testing.T, model, database string) string {
	t.Helper()
	dir := newProject(t, model)
	file, err := os.OpenFile(filepath.Join(dir, "troupe.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(file, "store: %s&lease=2s\nengine: workers\n", database)
	}
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	return dir
}

// A worker that is told to end leaves its run under way, as every server says: nothing hangs, nothing is
// deleted, and the next worker goes on with it.
func TestARunWhoseWorkerIsToldToEndIsUnderWay(t *testing.T) {
	database := postgrestest.Start(t).Schema()
	model, asked := slowModel(t)
	base, token, stop := serveIn(t, sharing(t, model, database), "CANARY=k")
	other, _, stopOther := serveIn(t, sharing(t, model, database), "CANARY=k")
	var session struct{ ID string }
	request(t, "POST", base+"/api/sessions", token, `{"agent":"mira"}`, &session)
	at := "/api/sessions/" + session.ID
	if code := request(t, "POST", base+at+"/messages", token, `{"text":"Hello"}`, nil); code != 202 {
		t.Fatalf("a message gets %d", code)
	}
	first := start(t, sharing(t, model, database), []string{"CANARY=k"}, nil, "worker")
	until(t, "a worker takes the run up", func() bool { return asked.Load() == 1 })
	first.Process.Signal(syscall.SIGTERM)
	if code := first.code(); code != 0 {
		t.Errorf("the worker ended with %d: %s", code, &first.err)
	}
	for _, server := range []string{base, other} {
		for _, c := range []struct {
			method, path, body string
			want               int
		}{{"POST", "/messages", `{"text":"More"}`, 409}, {"POST", "/resume", "", 409}, {"DELETE", "", "", 409}} {
			if code := request(t, c.method, server+at+c.path, token, c.body, nil); code != c.want {
				t.Errorf("%s %s gets %d, want %d", c.method, c.path, code, c.want)
			}
		}
		var info struct{ Status string }
		request(t, "GET", server+at, token, "", &info)
		var list []struct{ ID string }
		request(t, "GET", server+"/api/sessions?status=running", token, "", &list)
		if info.Status != "running" || len(list) != 1 {
			t.Errorf("the session is %s, and %d are running", info.Status, len(list))
		}
	}
	var queued struct{ Queued bool }
	if code := request(t, "POST", base+at+"/messages", token, `{"text":"Then","when":"after"}`, &queued); code != 202 || !queued.Queued {
		t.Errorf("a message for later gets %d: %+v", code, queued)
	}
	second := start(t, sharing(t, model, database), []string{"CANARY=k"}, nil, "worker")
	until(t, "another worker answers both messages", func() bool {
		var info struct{ Status string }
		request(t, "GET", other+at, token, "", &info)
		return info.Status == "completed" && asked.Load() == 3
	})
	second.Process.Signal(syscall.SIGTERM)
	if code := second.code(); code != 0 {
		t.Errorf("the worker ended with %d: %s", code, &second.err)
	}
	for _, stop := range []func() error{stop, stopOther} {
		if err := stop(); err != nil {
			t.Errorf("the server did not end well: %v", err)
		}
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
