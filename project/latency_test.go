package project_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
)

// sayTimes is a model server that says what time it is, again and again.
func sayTimes(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		pause := time.NewTicker(10 * time.Millisecond)
		defer pause.Stop()
		for range 50 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d \"}}]}\n\n", time.Now().UnixNano())
			w.(http.Flusher).Flush()
			select {
			case <-pause.C:
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server
}

// shares says how long most of some durations are.
func shares(all []time.Duration) string {
	slices.Sort(all)
	at := func(share float64) time.Duration {
		return all[min(int(share*float64(len(all))), len(all)-1)].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("%d, median %s, p99 %s, longest %s", len(all), at(0.5), at(0.99), at(1))
}

// A reader on another server sees what is said while it is said, and how soon, the test
// reports.
func TestHowSoonAnotherServerShowsWhatHappens(t *testing.T) {
	model := sayTimes(t)
	address := postgrestest.Start(t).Schema()
	f := launchWith(t, 2, func(string) string {
		return fmt.Sprintf("model: local/m\nproviders: {local: {base_url: %q}}\nagents: {clerk: {instructions: You answer.}}\nstore: %s\n", model.URL, address)
	})
	rounds := 2
	if n, err := strconv.Atoi(os.Getenv("TROUPE_ROUNDS")); err == nil { // make scale
		rounds = n
	}
	f.ask("POST", "/api/sessions", `{"agent":"clerk"}`)
	f.turn = 1 // the first server's
	stream := f.send("GET", "/api/sessions/{id}/events", "")
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	var stored, shown []time.Duration
	var latest int64 // of the times that were said: what is shown again was shown before
	for range rounds {
		f.turn = 0 // the second server's
		if answer := f.ask("POST", "/api/sessions/{id}/messages", `{"text":"What time is it?"}`); !strings.HasPrefix(answer, "202") {
			t.Fatal(answer)
		}
		text, finished := "", false
		for !finished && lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data:")
			if !ok {
				continue
			}
			var e struct {
				Seq  int64
				Kind string
				Time time.Time
				Body struct{ Text string }
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			now := time.Now()
			if e.Kind != "text_delta" {
				stored = append(stored, now.Sub(e.Time))
				finished = e.Kind == "run_finished"
				continue
			}
			for text += e.Body.Text; ; {
				word, rest, ok := strings.Cut(text, " ")
				if !ok {
					break
				}
				nanoseconds, err := strconv.ParseInt(word, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				if text = rest; nanoseconds > latest {
					latest = nanoseconds
					shown = append(shown, now.Sub(time.Unix(0, nanoseconds)))
				}
			}
		}
		if !finished {
			t.Fatalf("the stream ended: %v", lines.Err())
		}
	}
	if len(shown) == 0 {
		t.Fatal("no part of an answer was shown while it was made")
	}
	t.Logf("shown on another server after: stored events %s; parts of answers %s", shares(stored), shares(shown))
}

// launchWith starts servers, each in a directory of its own with a troupe.yaml.
func launchWith(t *testing.T, servers int, yaml func(dir string) string) *fleet {
	t.Helper()
	f := &fleet{t: t}
	for range servers {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml(dir)), 0o600); err != nil {
			t.Fatal(err)
		}
		f.start(dir, project.Options{})
	}
	return f
}
