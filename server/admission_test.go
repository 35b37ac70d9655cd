package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestWhatThereIsNoRoomForIsToldToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := make(chan string)
		w, _ := openInMemory(t, clerk(t, gated(words)), withUsers, func(c *Config) { c.Limits = Limits{Runs: 2, RunsPerUser: 1, Readers: 2, ReadersPerUser: 1} })
		bob := as(tokenOfBob)
		refused := func(method, path string, body any, headers ...header) {
			t.Helper()
			response := w.send(t.Context(), method, path, body, headers...)
			response.Body.Close()
			if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "2" {
				t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
			}
		}
		mine, another, bobs := w.session(), w.session(), w.session(bob)
		w.say(mine, "hello")
		refused("POST", "/api/sessions/"+another+"/messages", message{Text: "hello"})
		refused("POST", "/api/chat", chatMessage{AgentID: "clerk", Message: "hello"})
		refused("POST", "/v1/chat/completions", object{"model": "clerk", "messages": []object{{"role": "user", "content": "x"}}})
		w.say(bobs, "hello", bob) // whom others do not keep out

		f := w.follow(mine, 0)
		refused("GET", "/api/sessions/"+mine+"/events", nil)
		w.follow(bobs, 0, bob).leave()
		words <- "yes"
		words <- "yes"
		f.until(ends)
		synctest.Wait()
		w.say(another, "hello") // what has ended makes room
		words <- "yes"
	})
}

func TestAStoppingServerLetsRunsFinishAndCancelsThoseThatDoNot(t *testing.T) {
	for name, c := range map[string]struct {
		takes, within time.Duration
		end           string
	}{
		"short": {5 * time.Second, 5 * time.Second, "run_finished"},
		"long":  {time.Hour, finishWithin, "run_cancelled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			turns := []troupetest.Turn{troupetest.Call("wait", "{}")}
			if c.end == "run_finished" {
				turns = append(turns, troupetest.Say("Done."))
			}
			w, _ := openInMemory(t, clerk(t, troupetest.NewScript(t, turns...), slow(c.takes)))
			session := w.session()
			w.say(session, "go")
			f := w.follow(session, 0)
			synctest.Wait()
			began := time.Now()
			w.stop()
			events := f.until(ends) // the reader sees how it ends
			if last := events[len(events)-1]; last.Kind() != c.end {
				t.Errorf("%s: it ended with %s", name, last.Kind())
			} else if cancelled, ok := last.Body.(*troupe.RunCancelled); ok && cancelled.Reason != errStopping.Error() {
				t.Errorf("%s: it was cancelled because %s", name, cancelled.Reason)
			}
			if err := <-w.stopped; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took < c.within || took > stopWithin {
				t.Errorf("%s: stopping took %v", name, took)
			}
			w.stopped <- nil // for the cleanup
		})
	}
}

func TestNothingIsBegunWhileTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := openInMemory(t, clerk(t, troupetest.NewScript(t, troupetest.Call("wait", "{}"), troupetest.Say("Done.")), slow(5*time.Second)))
		w.say(w.session(), "go")
		w.stop()
		synctest.Wait()
		if _, _, err := w.server.runs.enter(context.Background(), ""); !errors.Is(err, errEnding) {
			t.Errorf("another run: %v", err)
		}
		if _, err := w.server.ready(&call{}); !errors.Is(err, errEnding) {
			t.Errorf("ready: %v", err)
		}
	})
}

func TestHealthAndMetricsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := openInMemory(t, clerk(t, echo()))
		w.talk(w.session(), "hello")
		w.want(http.StatusOK, nil, "GET", "/healthz", nil, as("none"))
		w.want(http.StatusOK, nil, "GET", "/readyz", nil)
		w.do("GET", "/made/up", nil)
		synctest.Wait()
		_, text := w.do("GET", "/metrics", nil)
		for _, want := range []string{
			`troupe_http_requests_total{route="POST /api/sessions/{id}/messages",code="202"} 1`, `troupe_http_requests_total{route="GET /{path...}",code="404"} 1`,
			"troupe_http_readers 0", "troupe_http_runs 0", "# TYPE troupe_runs_ended_total counter",
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("there is no %s in\n%s", want, text)
			}
		}
	})
}

// What everybody does and costs is for operators, as spending is.
func TestMetricsOfEverybodyAreForOperators(t *testing.T) {
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Operators = []string{"ann"} })
	w.talk(w.session(as(tokenOfAnn)), "hello", as(tokenOfAnn))
	w.want(http.StatusOK, nil, "GET", "/metrics", nil, as(tokenOfAnn))
	if status, text := w.do("GET", "/metrics", nil, as(tokenOfBob)); status != http.StatusForbidden || strings.Contains(text, "troupe_runs") {
		t.Errorf("somebody else is answered %d %s", status, text)
	}
}

// sharedPlaces are those of servers in one process.
type sharedPlaces struct {
	mu    sync.Mutex
	taken map[string]int
	err   error
}

func (p *sharedPlaces) TakePlace(_ context.Context, kind, user string, most int) (func(), bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := kind + " " + user
	if p.err != nil || p.taken[key] >= most {
		return nil, false, p.err
	}
	p.taken[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken[key]--
	}, true, nil
}

func TestAUsersRunsAreCountedOnAllServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := make(chan string)
		all := &sharedPlaces{taken: map[string]int{}}
		count := func(c *Config) { c.Places, c.Limits = all, Limits{RunsPerUser: 1} }
		one, _ := openInMemory(t, clerk(t, gated(words)), withUsers, count)
		two, _ := openInMemory(t, clerk(t, echo()), withUsers, count)
		bob := as(tokenOfBob)
		one.say(one.session(), "hello")
		mine := two.session()
		if code, text := two.do("POST", "/api/sessions/"+mine+"/messages", message{Text: "hello"}); code != http.StatusServiceUnavailable || !strings.Contains(text, "you have 1 runs") {
			t.Errorf("a second run on another server: %d %s", code, text)
		}
		two.say(two.session(bob), "hello", bob)
		words <- "yes"
		synctest.Wait()
		two.say(mine, "hello")
		synctest.Wait()
		all.err = errors.New("the database is away")
		if code, _ := two.do("POST", "/api/sessions/"+mine+"/messages", message{Text: "again"}); code < 500 {
			t.Errorf("where nobody can count: %d", code)
		}
		all.err = nil
		two.talk(mine, "again") // what was refused has left no trace
		synctest.Wait()
		if n := len(all.taken); n == 0 || all.taken["runs ann"] != 0 {
			t.Errorf("%v", all.taken)
		}
	})
}
