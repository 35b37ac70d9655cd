// Package test tries package temporal with a real Temporal server, in process and in
// memory. It is a module of its own because it links that server.
package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporaltest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/work"
)

// cluster is the server of all tests that do not harm it.
var cluster struct {
	once   sync.Once
	server *temporaltest.TestServer
	client client.Client
}

func TestMain(m *testing.M) {
	workIfTold()
	serveIfTold()
	code := m.Run()
	if cluster.server != nil {
		cluster.server.Stop()
	}
	os.Exit(code)
}

// connect returns a client of the shared server.
func connect(t *testing.T) client.Client {
	t.Helper()
	cluster.once.Do(func() {
		cluster.server = temporaltest.NewServer()
		cluster.client = cluster.server.GetDefaultClient()
	})
	until(t, "the server knows the search attributes", func() bool {
		return temporal.Prepare(t.Context(), cluster.client, cluster.server.GetDefaultNamespace()) == nil
	})
	return cluster.client
}

// slogTo is a log that the test shows.
func slogTo(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// A stage is a store with a dispatcher and one worker of a queue of its own.
type stage struct {
	*temporal.Dispatcher
	store  troupe.Store
	engine *troupe.Engine
	worker *temporal.Worker
}

func newStage(t *testing.T, steps ...troupe.Step) *stage {
	t.Helper()
	store := troupe.NewMemoryStore()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	queue := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	s := &stage{store: store, engine: engine}
	s.Dispatcher = &temporal.Dispatcher{Client: connect(t), Recorder: work.Recorder{Store: store}, Queue: queue}
	s.worker = &temporal.Worker{Engine: engine, Store: store, Queue: queue, StopTimeout: time.Second, Step: func(_ context.Context, job work.Job) (troupe.Step, error) {
		for _, step := range steps {
			if step.Name() == job.Step {
				return step, nil
			}
		}
		return nil, fmt.Errorf("no step %s", job.Step)
	}}
	return s
}

// start starts the stage's worker for as long as the test.
func (s *stage) start(t *testing.T) {
	t.Helper()
	w := s.worker.New(s.Client)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}

func (s *stage) status(t *testing.T, session string) string {
	t.Helper()
	info, _, err := s.store.Ask(t.Context(), session, troupe.SessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return info.Status
}

// history returns all that a workflow has on record, as JSON.
func history(t *testing.T, c client.Client, workflow string) string {
	t.Helper()
	var text strings.Builder
	for events := c.GetWorkflowHistory(t.Context(), workflow, "", false, 0); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	return text.String()
}

// histories is where the histories are that newer workflows are replayed with.
var histories = filepath.Join("..", "testdata", "histories")

// identity is which process of which machine did something.
var identity = regexp.MustCompile(`"identity": +"[^"]*"`)

// keep writes a workflow's history to where newer workflows are replayed with it, if the
// tests are told to.
func keep(t *testing.T, c client.Client, workflow, name string) {
	t.Helper()
	keepRun(t, c, workflow, "", name)
}

// keepRun is keep for one run of a workflow that is followed by others.
func keepRun(t *testing.T, c client.Client, workflow, run, name string) {
	t.Helper()
	if os.Getenv("TROUPE_UPDATE") == "" {
		return
	}
	var all historypb.History
	for events := c.GetWorkflowHistory(t.Context(), workflow, run, false, 0); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		all.Events = append(all.Events, event)
	}
	data, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(&all)
	host, _ := os.Hostname()
	data = identity.ReplaceAll(data, []byte(`"identity": "worker"`))
	data = bytes.ReplaceAll(data, []byte(`"`+host+`:`), []byte(`"worker:`))
	if err == nil {
		err = os.MkdirAll(histories, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(histories, name+".json"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
