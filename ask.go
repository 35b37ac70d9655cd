package troupe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// Ask has the agent's model answer a request and returns its reply. A call that
// fails for a passing reason, or whose answer breaks off, is tried again: that is
// one step, and its deltas carry the attempt.
func (r *Run) Ask(ctx context.Context, agent *Agent, req *Request) (*ModelReplied, error) {
	return r.ask(ctx, agent, req, "", ContextUse{})
}

func (r *Run) ask(ctx context.Context, agent *Agent, req *Request, purpose string, use ContextUse) (*ModelReplied, error) {
	step := r.next()
	recorded, err := r.recorded(step, KindModelReplied)
	if err != nil {
		return nil, err
	}
	if recorded != nil {
		replied := recorded.Body.(*ModelReplied)
		r.exec.budget.add(replied.Usage, replied.Cost)
		return replied, nil
	}
	if err := r.pastFailure(step); err != nil {
		return nil, err
	}
	if err := r.alive(ctx); err != nil {
		return nil, r.noteFailure(step, err)
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		replied, err := r.stream(ctx, agent, req, step, attempt, purpose)
		if err == nil {
			failpoint.Here(failpoint.ModelReplied)
			replied.Context = use
			r.exec.budget.add(replied.Usage, replied.Cost)
			r.note(step, replied)
			return replied, nil
		}
		wait, again := r.retry(ctx, err, attempt)
		if !again {
			return nil, r.noteFailure(step, err)
		}
		r.note(step, &Warned{Code: "model_retry", Message: fmt.Sprintf("attempt %d failed: %v; trying again in %s",
			attempt, clip(err.Error(), maxErrorText), wait.Round(time.Millisecond))})
		if err := r.flush(); err != nil {
			return nil, err
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, r.noteFailure(step, err)
		}
	}
}

// How a model call failed for good, for a second pass to know if the run went on
// without an answer.
const (
	codeModelFailed = "model_failed"
	codeContextFull = "context_full"
	codeTimeUp      = "time_up"
)

// noteFailure records that a model call came to nothing, and returns err.
func (r *Run) noteFailure(step string, err error) error {
	code := codeModelFailed
	switch {
	case errors.Is(err, errTimeUp):
		code = codeTimeUp
	case errors.Is(err, ErrContextFull):
		code = codeContextFull
	}
	r.note(step, &Warned{Code: code, Message: clip(err.Error(), maxErrorText)})
	return err
}

// pastFailure returns the failure that a log has for a model call, if the run
// went on after it. Else the call is worth another try.
func (r *Run) pastFailure(step string) error {
	if !r.exec.journal.passed(r.id, step) {
		return nil
	}
	for _, e := range r.exec.journal.at(r.id, step) {
		if w, ok := e.Body.(*Warned); ok {
			r.saw(e)
			switch w.Code {
			case codeModelFailed:
				return &brokenReply{errors.New(w.Message), ""}
			case codeContextFull:
				return &brokenReply{ErrContextFull, ""}
			case codeTimeUp:
				return errTimeUp
			}
		}
	}
	return nil
}

// stream makes one attempt at a reply, showing it as it comes.
func (r *Run) stream(ctx context.Context, agent *Agent, req *Request, step string, attempt int, purpose string) (*ModelReplied, error) {
	p := &reply{
		run: r.id, parent: r.parent, step: step, agent: r.agent, attempt: attempt,
		feed: r.exec.feed, started: time.Now(),
	}
	if purpose == "" {
		r.exec.feed.openReply(p)
	}
	agent.model.Generate(ctx, req)(p.take)
	if p.err == nil && !p.ended {
		p.err = &ModelError{Temporary: true, Err: ErrIncomplete}
	}
	if p.err != nil {
		r.exec.feed.dropReply(p)
		if ctx.Err() != nil {
			p.err = context.Cause(ctx)
		}
		return nil, &brokenReply{p.err, p.text.String()}
	}
	p.message.Role, p.message.Text, p.message.Thought = RoleAssistant, p.text.String(), p.thought.String()
	tidyCalls(p.message.Calls, step)
	p.replied.Message, p.replied.Attempt, p.replied.Purpose = &p.message, attempt, purpose
	p.replied.Latency = Millis(time.Since(p.started))
	if p.cost != nil {
		p.replied.Cost = *p.cost
	} else {
		p.replied.Cost = agent.price.Of(p.replied.Usage)
	}
	return &p.replied, nil
}

// take adds a chunk to the reply and reports whether more is to come.
func (p *reply) take(chunk Chunk, err error) bool {
	if err != nil {
		p.err = err
		return false
	}
	if p.replied.FirstToken == 0 {
		p.replied.FirstToken = Millis(max(time.Since(p.started), 1))
	}
	if chunk.Text != "" || chunk.Thought != "" {
		p.feed.grow(p, chunk.Text, chunk.Thought)
	}
	p.message.Refusal += chunk.Refusal
	if chunk.Call != nil {
		p.message.Calls = append(p.message.Calls, *chunk.Call)
	}
	if p.text.Len()+p.thought.Len() > maxReply {
		p.err = fmt.Errorf("the model's answer is over %d bytes", maxReply)
		return false
	}
	if end := chunk.End; end != nil {
		p.ended = true
		p.replied.Finish, p.replied.Usage, p.replied.Model = end.Finish, end.Usage, end.Model
		p.cost = end.Cost
		p.message.ThoughtField, p.message.Opaque = end.ThoughtField, end.Opaque
	}
	return !p.ended
}

// maxReply caps what a model may say at once, in bytes.
const maxReply = 4 << 20

// A brokenReply keeps what a model said before it broke off.
type brokenReply struct {
	error
	partial string
}

func (b *brokenReply) Unwrap() error { return b.error }

// tidyCalls makes the calls fit to be sent back: names that servers take, and
// ids of which no two are the same.
func tidyCalls(calls []ToolCall, step string) {
	for i := range calls {
		call := &calls[i]
		if checkToolName(call.Name) != nil {
			call.Name = tidyName(call.Name)
		}
		taken := call.ID == ""
		for j := range i {
			taken = taken || calls[j].ID == call.ID
		}
		if taken {
			call.ID = "call_" + strings.ReplaceAll(step, "/", "_") + "_" + strconv.Itoa(i)
		}
	}
}

func tidyName(name string) string {
	tidy := strings.Map(func(c rune) rune {
		if c < 0x80 && checkToolName(string(c)) == nil {
			return c
		}
		return '_'
	}, clip(name, 64))
	if tidy == "" {
		return "unnamed"
	}
	return tidy
}

// Waits between attempts at a model call.
const (
	firstRetryWait = 500 * time.Millisecond
	maxRetryWait   = 30 * time.Second
	// longestRetryAfter is how long a provider may ask us to wait.
	longestRetryAfter = 2 * time.Minute
)

// retry says whether to try a model call again, and after how long. This is the
// only place where model calls are retried.
func (r *Run) retry(ctx context.Context, err error, attempt int) (time.Duration, bool) {
	failure, ok := errors.AsType[*ModelError](err)
	if !ok || !failure.Temporary || ctx.Err() != nil {
		return 0, false
	}
	if tries := r.exec.budget.limits.ModelTries; tries >= 0 && attempt >= tries {
		return 0, false
	}
	if failure.RetryAfter > longestRetryAfter {
		return 0, false
	}
	wait := min(firstRetryWait<<min(attempt-1, 10), maxRetryWait)
	wait = wait/2 + rand.N(wait/2+1)
	return max(wait, failure.RetryAfter), true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
