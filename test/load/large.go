//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store/sqlite"
)

// useLargeStore starts the program, searches and counts with very many sessions stored.
func (w *world) useLargeStore(ctx context.Context) error {
	if w.sessions == 0 {
		w.report.row("a large store", "not measured: -sessions says how many")
		return nil
	}
	dir := w.keep
	if dir == "" {
		dir = filepath.Join(w.dir, "large")
	}
	if err := w.makeLarge(ctx, dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), fmt.Appendf(nil, configuration, w.model.url), 0o644); err != nil {
		return err
	}
	for _, how := range []string{"first", "again"} {
		began := time.Now()
		child, err := w.serve(ctx, dir)
		if err != nil {
			return err
		}
		ready := time.Since(began)
		err = child.get(ctx, "/api/sessions", nil)
		listed := time.Since(began)
		cost := child.used()
		child.stop()
		if err != nil {
			return err
		}
		w.report.row(fmt.Sprintf("start-up with %d sessions, %s", w.sessions, how), "%v, the first list after %v (processor %v)", ready.Round(time.Millisecond), listed.Round(time.Millisecond), cost)
	}
	for _, args := range [][]string{
		{"--json", "metrics"}, {"--json", "metrics"}, {"--json", "metrics", "--since", "24h"},
		{"--json", "sessions", "search", "lighthouse"}, {"--json", "sessions", "search", "nothinghasthisword"}, {"--json", "sessions", "list"},
		{"-q", "chat", "clerk", "-m", question},
	} {
		took, cost, err := w.command(ctx, dir, args)
		if err != nil {
			w.report.fail(err)
			continue
		}
		w.report.row(fmt.Sprintf("- troupe %q", args), "%v (processor %v)", took.Round(time.Millisecond), cost.Round(time.Millisecond))
	}
	return ctx.Err()
}

// command runs a command and returns how long it took, and how much of a processor.
func (w *world) command(ctx context.Context, dir string, args []string) (took, cost time.Duration, err error) {
	cmd := exec.CommandContext(ctx, w.program, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "TROUPE_LOOK_FOR_OLLAMA=no"}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("troupe %q: %w: %.500s", args, err, out)
	}
	return time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// makeLarge makes a store of many short sessions, unless it is there.
func (w *world) makeLarge(ctx context.Context, dir string) (err error) {
	done := filepath.Join(dir, fmt.Sprintf("made-%d", w.sessions))
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	began := time.Now()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "data", "troupe.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(w.fillLarge(ctx, store), store.Close()); err != nil {
		return err
	}
	w.report.row(fmt.Sprintf("%d sessions were made in", w.sessions), "%v", time.Since(began).Round(time.Second))
	return os.WriteFile(done, nil, 0o644)
}

func (w *world) fillLarge(ctx context.Context, store *sqlite.Store) error {
	errs := make([]error, writers)
	var writing sync.WaitGroup
	now := time.Now().Add(-time.Hour)
	for i := range writers {
		writing.Go(func() {
			for n := i; n < w.sessions && errs[i] == nil; n += writers {
				id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)
				errs[i] = store.Append(ctx, id, shortSession(id, n, now.Add(-time.Duration(w.sessions-n)*time.Minute))...)
			}
		})
	}
	writing.Wait()
	return errors.Join(errs...)
}

// shortSession is the log of a session with one question and its answer.
func shortSession(id string, n int, at time.Time) []troupe.Event {
	question, answer := fmt.Sprintf("What does lamp %d of the harbour say?", n), fmt.Sprintf("Lamp %d says that the tide is out.", n)
	if n%1000 == 7 {
		answer = fmt.Sprintf("Lamp %d is in the lighthouse.", n)
	}
	bodies := []troupe.Body{
		&troupe.RunStarted{Input: troupe.Handoff{Task: question}}, &troupe.UserSaid{Text: question},
		&troupe.ModelReplied{Message: &troupe.Message{Role: troupe.RoleAssistant, Text: answer}, Finish: troupe.FinishStop, Model: "m", Attempt: 1, Usage: troupe.Usage{Input: 40, Output: 12}},
		&troupe.RunFinished{Stop: "answered", Output: troupe.Handoff{Summary: answer}},
	}
	events := make([]troupe.Event, len(bodies))
	for i, body := range bodies {
		events[i] = troupe.Event{Seq: int64(i + 1), Time: at.Add(time.Duration(i) * time.Second).UTC(), Session: id, Run: id[:8], Step: fmt.Sprint(i), Agent: "clerk", Body: body}
	}
	return events
}

// get asks for something and reads the answer.
func (c *child) get(ctx context.Context, path string, out any) error {
	response, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return decode(response, out)
}
