package troupe_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

func busyServer(after time.Duration) error {
	return &troupe.ModelError{Status: 429, Code: "rate_limit_exceeded", Message: "slow down", Temporary: true, RetryAfter: after}
}

func TestPassingFailuresAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := inTurn(t, turn{err: busyServer(0)}, turn{text: "half", cut: true}, turn{text: "half an", err: busyServer(7 * time.Second)}, turn{text: "whole"})
		began := time.Now()
		events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model), "go")
		took := time.Since(began)
		if end.Output.Summary != "whole" || end.Spent.Turns != 1 {
			t.Errorf("ended with %+v", end)
		}
		// Waits double from half a second, with jitter, and are never shorter than
		// what the provider asked for.
		if took < 250*time.Millisecond+500*time.Millisecond+7*time.Second || took > 500*time.Millisecond+time.Second+7*time.Second {
			t.Errorf("it took %s", took)
		}
		if n := countOf[*troupe.ModelFailed](events); n != 3 {
			t.Errorf("%d retries on record", n)
		}
		var shown []troupe.TextDelta
		for _, d := range bodies[*troupe.TextDelta](events) {
			shown = append(shown, *d)
		}
		if last := shown[len(shown)-1]; last.Attempt != 4 || last.Text != "whole" {
			t.Errorf("shown %v", shown)
		}
		if replied := bodies[*troupe.ModelReplied](events); len(replied) != 1 || replied[0].Attempt != 4 {
			t.Errorf("replies: %+v", replied)
		}
	})
}

// A provider that wants fewer requests and does not say for how long counts them by the minute.
// Where the next attempt goes to another model, there is nothing to wait for.
func TestARateLimitWithoutAHintIsGivenTime(t *testing.T) {
	cases := map[string]struct {
		err         troupe.ModelError
		least, most time.Duration
	}{
		"no hint":       {troupe.ModelError{}, 21 * time.Second, 42 * time.Second},
		"a hint":        {troupe.ModelError{RetryAfter: 3 * time.Second}, 9 * time.Second, 9 * time.Second},
		"another model": {troupe.ModelError{Elsewhere: true}, 1750 * time.Millisecond, 3500 * time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.err.Status, c.err.Reason, c.err.Temporary = 429, "rate", true
				model := inTurn(t, turn{err: &c.err}, turn{err: &c.err}, turn{err: &c.err}, turn{text: "whole"})
				began := time.Now()
				events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model), "go")
				if took := time.Since(began); end.Output.Summary != "whole" || took < c.least || took > c.most {
					t.Errorf("it took %s, and ended with %+v", took, end)
				}
				before := time.Duration(0)
				for _, failed := range bodies[*troupe.ModelFailed](events) {
					wait := failed.RetryIn.Duration()
					if wait < before {
						t.Errorf("it waits %s after %s", wait, before)
					}
					before = wait
				}
			})
		})
	}
}

func TestARateLimitIsWaitedForOnlyUntilTheRunIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn {
			return turn{err: &troupe.ModelError{Status: 429, Reason: "rate", Temporary: true}}
		}))
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		began := time.Now()
		for range newEngine(t, troupe.Config{}).Run(ctx, agent, troupe.Input{Text: "go"}) {
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it went on for %s", took)
		}
	})
}

func TestWhatIsNotTriedAgain(t *testing.T) {
	cases := map[string]struct {
		err   error
		tries int
	}{
		"a refusal":             {&troupe.ModelError{Status: 400, Message: "bad"}, 1},
		"a key that is wrong":   {&troupe.ModelError{Status: 401, Message: "no"}, 1},
		"a wait that is absurd": {busyServer(time.Hour), 1},
		"an error of its own":   {errBoom, 1},
		"a server that is down": {&troupe.ModelError{Status: 500, Message: "down", Temporary: true}, 4},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				agent := newAgent(t, modelFunc(func(*troupe.Request) turn { n++; return turn{err: c.err} }))
				events, _, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go"})
				if !errors.Is(err, c.err) || n != c.tries {
					t.Errorf("%d tries, %v", n, err)
				}
				asked := time.Duration(0) // by the provider, to wait
				if failure, ok := errors.AsType[*troupe.ModelError](c.err); ok {
					asked = failure.RetryAfter
				}
				if last := bodies[*troupe.ModelFailed](events)[c.tries-1]; last.RetryAfter.Duration() != asked {
					t.Errorf("on record is that it asked to wait %s", last.RetryAfter.Duration())
				}
			})
		})
	}
}

func TestAnIncompleteAnswerIsNeverOneThatCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		tool := adder()
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn {
			n++
			return turn{text: "almost", calls: []troupe.ToolCall{call("1", "add", `{"a":1,"b":2}`)}, cut: true}
		}), tool)
		events, _, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go"})
		if !errors.Is(err, io.ErrUnexpectedEOF) || n != 4 {
			t.Fatalf("%d tries, %v", n, err)
		}
		if countOf[*troupe.ToolCalled](events) != 0 || countOf[*troupe.ModelReplied](events) != 0 {
			t.Errorf("it counted:\n%s", render(events))
		}
		if failed := bodies[*troupe.RunFailed](events); len(failed) != 1 || failed[0].Partial != "almost" {
			t.Errorf("the partial text is lost:\n%s", render(events))
		}
	})
}

// Attempts that came to nothing at all do not take away what one before them has said.
func TestWhatAnAttemptSaidOutlivesThoseAfterIt(t *testing.T) {
	for name, isStopped := range map[string]bool{"fails for good": false, "is stopped while it waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				agent := newAgent(t, modelFunc(func(*troupe.Request) turn {
					if n++; n == 1 {
						return turn{text: "almost", cut: true}
					}
					return turn{err: busyServer(time.Minute)}
				}))
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				partial := ""
				for e, err := range newEngine(t, troupe.Config{}).Run(ctx, agent, troupe.Input{Text: "go"}) {
					if err != nil {
						break
					}
					switch b := e.Body.(type) {
					case *troupe.ModelFailed:
						if isStopped && b.Attempt == 2 {
							stop()
						}
					case *troupe.RunFailed:
						partial = b.Partial
					case *troupe.RunCancelled:
						partial = b.Partial
					}
				}
				if partial != "almost" {
					t.Errorf("after %d attempts %q is on record", n, partial)
				}
			})
		})
	}
}

func TestCancellingAWaitEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(t, troupe.Config{})
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{err: busyServer(time.Minute)} }))
		started, err := engine.Start(t.Context(), agent, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		if err := engine.Cancel(t.Context(), started.Session); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestAHugeAnswerIsCutOff(t *testing.T) {
	agent := newAgent(t, modelFunc(func(*troupe.Request) turn {
		return turn{pieces: []string{strings.Repeat("a", 3<<20), strings.Repeat("b", 3<<20)}}
	}))
	if _, _, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go"}); err == nil || !strings.Contains(err.Error(), "over 4194304 bytes") {
		t.Errorf("got %v", err)
	}
}
