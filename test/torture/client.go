//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sse"
)

// A client talks to servers that are killed. It sends each request with a key until it
// has seen what came of it, and sometimes leaves in the middle.
type client struct {
	*house
	number int
	random *rand.Rand
	talks  map[string]*talk
}

// A talk is what a client knows of one of its sessions.
type talk struct {
	id    string
	last  int64            // of the events that it was shown
	shown map[int64]string // those, as they came
	said  map[string]int
	runs  int
	// asks is the number of the question that waits.
	asks   int64
	isDone bool
}

const (
	// silence is how long a client waits for an event before it asks again.
	silence = 3 * time.Second
	// clientPatience is how long one request may take with all its repetitions.
	clientPatience = 2 * time.Minute
)

// run has one conversation after the other as long as there is something to kill.
func (c *client) run(ctx context.Context, more func() bool) {
	for n := 0; ctx.Err() == nil && (n == 0 || more()); n++ {
		first := serveTasks + (c.number<<12+n)*tasksEach
		if err := c.converse(ctx, n, first); err != nil && ctx.Err() == nil {
			c.problem("client %d, conversation %d: %v", c.number, n, err)
			return
		}
	}
}

// converse has a conversation in a session of its own.
func (c *client) converse(ctx context.Context, n, first int) error {
	key := fmt.Sprintf("client-%d-%d", c.number, n)
	var made struct {
		ID string `json:"id"`
	}
	if err := c.insist(ctx, func(ctx context.Context, s *served) (bool, error) {
		return c.post(ctx, s, "/api/sessions", key, map[string]any{"agent": "scribe"}, &made)
	}); err != nil {
		return fmt.Errorf("make a session: %w", err)
	}
	t := &talk{id: made.ID, shown: map[int64]string{}, said: map[string]int{}}
	c.talks[t.id] = t
	for i, text := range []string{
		fmt.Sprintf("T%d {scribe=ledger,write:a.md+ledger}", first), fmt.Sprintf("T%d {scribe=write:guarded.md+ledger}", first+1), approval,
		fmt.Sprintf("T%d {scribe=write:a.md,ledger}", first+2),
	} {
		path, body := "/messages", map[string]any{"text": text}
		if text == approval && n%2 == 1 {
			path, body = "/answers", map[string]any{"question": t.asks, "allow": "once"}
		}
		if text != approval {
			t.runs++
		}
		t.said[text]++
		if err := c.ask(ctx, t, path, fmt.Sprintf("%s-%d", key, i), body); err != nil {
			return fmt.Errorf("session %s: %q: %w", t.id, text, err)
		}
	}
	t.isDone = true
	return nil
}

// ask sends a request until what came of it was seen: that is one run or one more
// stretch of it, however often it is sent.
func (c *client) ask(ctx context.Context, t *talk, path, key string, body map[string]any) error {
	run := ""
	return c.insist(ctx, func(ctx context.Context, s *served) (bool, error) {
		var begun struct {
			Run string `json:"run"`
		}
		done, err := c.post(ctx, s, "/api/sessions/"+t.id+path, key, body, &begun)
		if err != nil || !done {
			return false, err
		}
		if run != "" && begun.Run != run {
			return false, fmt.Errorf("the request of run %s, sent again, has begun run %s", run, begun.Run)
		}
		run = begun.Run
		return c.follow(ctx, s, t, run)
	})
}

// insist tries something with one server after the other until it is done. A
// connection may be cut at any moment, by either side.
func (c *client) insist(ctx context.Context, try func(context.Context, *served) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, clientPatience)
	defer cancel()
	for ctx.Err() == nil {
		attempt, leave := context.WithCancel(ctx)
		if c.random.IntN(4) == 0 {
			c.world.report.add(cuts, 1)
			attempt, leave = context.WithTimeout(ctx, time.Duration(1+c.random.IntN(200))*time.Millisecond)
		}
		done, err := try(attempt, c.any(c.random))
		leave()
		if done || err != nil {
			return err
		}
		sleep(ctx, time.Duration(10+c.random.IntN(60))*time.Millisecond)
	}
	return fmt.Errorf("it is not done after %v", clientPatience)
}

// post sends a request. It is not done if there was no answer, or one that says to come
// back.
func (c *client) post(ctx context.Context, s *served, path, key string, body, out any) (done bool, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	response, err := s.send(ctx, http.MethodPost, path, data, map[string]string{"Idempotency-Key": key})
	if err != nil {
		return false, nil
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	switch status := response.StatusCode; {
	case err != nil:
		return false, nil
	case status < 300:
		return true, json.Unmarshal(said, out)
	case status == http.StatusServiceUnavailable, status == http.StatusConflict && strings.Contains(string(said), `"busy"`):
		return false, nil
	case status == http.StatusInternalServerError && c.isLocked(string(said)):
		return false, nil
	default:
		return false, fmt.Errorf("%s: %s: %s", path, response.Status, said)
	}
}

// isLocked is for the moment in which another process is killed with the file in hand.
func (c *client) isLocked(said string) bool { return strings.Contains(said, "something went wrong") }

func (s *served) send(ctx context.Context, method, path string, body []byte, headers map[string]string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	return http.DefaultClient.Do(request)
}

// follow reads a session's events from where the client is until the run has ended. It
// is not done if the connection is cut before, or nothing comes for a while.
func (c *client) follow(ctx context.Context, s *served, t *talk, run string) (done bool, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	response, err := s.send(ctx, http.MethodGet, "/api/sessions/"+t.id+"/events", nil, map[string]string{"Last-Event-ID": fmt.Sprint(t.last)})
	if err != nil {
		return false, nil
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, nil
	}
	impatience := time.AfterFunc(silence, leave)
	defer impatience.Stop()
	events := sse.NewReader(response.Body, 0)
	for {
		message, err := events.Next()
		if err != nil || message.Cut {
			return false, nil
		}
		impatience.Reset(silence)
		var e troupe.Event
		if err := json.Unmarshal(message.Data, &e); err != nil {
			return false, fmt.Errorf("an event: %s: %w", message.Data, err)
		}
		if e.Seq == 0 {
			continue
		}
		if e.Seq != t.last+1 {
			return false, fmt.Errorf("event %d came after %d", e.Seq, t.last)
		}
		t.last = e.Seq
		data := message.Data
		switch b := e.Body.(type) {
		case *troupe.InputRequested:
			t.asks = e.Seq // which the server shows with more than is stored
			continue
		case *troupe.ArtifactSaved:
			data = asStored(data)
		case *troupe.RunFailed:
			if !strings.HasPrefix(b.Error, "given up: ") {
				return false, fmt.Errorf("run %s failed: %s", e.Run, b.Error)
			}
			_, err := c.post(ctx, s, "/api/sessions/"+t.id+"/resume", "", map[string]any{}, &struct{}{})
			return false, err
		}
		t.shown[e.Seq] = string(data) + "\n"
		if _, ended := e.Body.(*troupe.RunFinished); ended && e.Run == run && e.Parent == "" {
			return true, nil
		}
	}
}

var shownVersion = regexp.MustCompile(`"body":\{"version":[1-9][0-9]*,`)

// asStored is a saved file as it is on record: the server shows which version it is, too.
func asStored(shown []byte) []byte { return shownVersion.ReplaceAll(shown, []byte(`"body":{`)) }
