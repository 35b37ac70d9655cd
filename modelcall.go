package troupe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/journal"
)

// incomplete is the error of an answer without an end, an [io.ErrUnexpectedEOF] in words
// that people understand.
type incomplete struct{}

func (incomplete) Error() string {
	return "the model's answer is incomplete: its stream stopped before the end"
}

func (incomplete) Unwrap() error { return io.ErrUnexpectedEOF }

// Ask has the agent's model answer a request and returns its reply. A call that
// fails for a passing reason, or whose answer breaks off, is tried again: that is
// one step, and its deltas carry the attempt.
func (r *Run) Ask(ctx context.Context, agent *Agent, req *Request) (*ModelReplied, error) {
	return r.ask(ctx, agent, req, "", ContextUse{})
}

func (r *Run) ask(ctx context.Context, agent *Agent, req *Request, purpose string, use ContextUse) (*ModelReplied, error) {
	if err := r.mayAct(); err != nil {
		return nil, err
	}
	step := r.next()
	recorded, err := r.recorded(step, "model_replied")
	if err != nil {
		return nil, err
	}
	if recorded != nil {
		replied := recorded.Body.(*ModelReplied)
		r.countFailures(step)
		r.budget.add(&Spent{Usage: replied.Usage, Cost: replied.Cost})
		return replied, nil
	}
	if err := r.pastFailure(step); err != nil {
		return nil, err
	}
	first := r.firstAttempt(step)
	if err := r.alive(ctx); err != nil {
		return nil, r.noteFailure(step, agent, &ModelFailed{Attempt: first, Purpose: purpose}, err)
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	said := "" // by the latest attempt that said anything
	for attempt := first; ; attempt++ {
		replied, err := r.stream(ctx, agent, req, step, attempt, purpose)
		if broken, ok := errors.AsType[*brokenReply](err); ok {
			said = orElse(broken.partial, said)
			broken.partial = said
		}
		if err == nil {
			failpoint.Here(failpoint.ModelReplied)
			replied.Context = use
			r.estimate(agent, req, replied)
			r.budget.add(&Spent{Usage: replied.Usage, Cost: replied.Cost})
			r.note(step, replied)
			return replied, nil
		}
		failed := &ModelFailed{Attempt: attempt, Purpose: purpose}
		wait, again := r.retry(ctx, err, attempt-first+1)
		if isSpent := r.spentOn(agent, err); again && isSpent {
			err, again = unsent(err), false
		}
		if failed.RetryIn = Millis(wait); !again {
			failed.RetryIn = 0
		}
		if err := r.noteFailure(step, agent, failed, err); !again {
			return nil, err
		}
		if err := r.flush(); err != nil {
			return nil, err
		}
		if err := r.sleep(ctx, wait); err != nil {
			return nil, r.noteFailure(step, agent, &ModelFailed{Attempt: attempt + 1, Purpose: purpose}, &brokenReply{err, said})
		}
	}
}

// firstAttempt numbers the first attempt of this pass over the log. No two attempts
// at a step have the same number, whatever became of them, so that nobody takes
// what is left of one for a part of another.
func (r *Run) firstAttempt(step journal.Path) int {
	attempt := 1 + r.exec.passes
	for _, e := range r.log.At(r.id, step) {
		if _, ok := e.Body.(*ModelFailed); ok {
			attempt++
		}
	}
	return attempt
}

// reasonOf says in one word why a model call came to nothing.
func reasonOf(err error) string {
	switch failure, ok := errors.AsType[*ModelError](err); {
	case isTimeUp(err):
		return reasonTime
	case errors.Is(err, ErrContextFull):
		return reasonContext
	case ok:
		return failure.Reason
	}
	return ""
}

const reasonTime, reasonContext = "time", "context"

// noteFailure records that an attempt at a model call came to nothing, and returns err.
func (r *Run) noteFailure(step journal.Path, agent *Agent, failed *ModelFailed, err error) error {
	failed.Error, failed.Reason = clip(err.Error(), maxErrorText), reasonOf(err)
	if end := endOf(err); end != nil {
		failed.Usage, failed.Cost, failed.Model, failed.Provider = end.Usage, agent.costOf(end), end.Model, end.Provider
	}
	if failure, ok := errors.AsType[*ModelError](err); ok && failed.RetryIn == 0 {
		failed.RetryAfter = Millis(failure.RetryAfter)
	}
	r.note(step, failed)
	return err
}

// endOf is how an answer ended that came to nothing, nil where nobody said.
func endOf(err error) *End {
	if failure, ok := errors.AsType[*ModelError](err); ok {
		return failure.End
	}
	return nil
}

// costOf is what an answer has cost, 0 where nobody knows.
func (a *Agent) costOf(end *End) float64 {
	switch {
	case end.Cost != nil:
		return *end.Cost
	case end.Unpriced:
		return 0
	}
	return a.price.Of(end.Usage)
}

// spentOn counts what an attempt has used that came to nothing, and reports whether that
// leaves no money or tokens to make another one with.
func (r *Run) spentOn(agent *Agent, err error) bool {
	end := endOf(err)
	if end == nil {
		return false
	}
	r.budget.add(&Spent{Usage: end.Usage, Cost: agent.costOf(end)})
	return r.budget.overspent() != ""
}

// estimate fills in what a reply took where its provider does not say, and a limit on
// tokens or cost would bound nothing without.
func (r *Run) estimate(agent *Agent, req *Request, replied *ModelReplied) {
	if replied.Usage != (Usage{}) || !r.budget.boundsUsage() {
		return
	}
	input := replied.Context.Total()
	if input == 0 {
		for _, m := range req.Messages {
			input += m.size() / bytesPerToken
		}
	}
	replied.Usage = Usage{Input: input, Output: replied.Message.size()/bytesPerToken + 1}
	replied.Estimated = true
	if replied.Cost == 0 && !replied.Unpriced {
		replied.Cost, replied.Unpriced = agent.price.Of(replied.Usage), !agent.price.Known()
	}
}

// unsent is the failure of a request that does not go to another model after all.
func unsent(err error) error {
	broken, ok := errors.AsType[*brokenReply](err)
	failure, isFailure := errors.AsType[*ModelError](err)
	if !ok || !isFailure || !failure.Elsewhere {
		return err
	}
	if cause, ok := errors.AsType[*ModelError](failure.Err); ok {
		return &brokenReply{cause, broken.partial}
	}
	return err
}

// countFailures counts what attempts on record have used that came to nothing, and
// reports whether any did.
func (r *Run) countFailures(step journal.Path) (any bool) {
	for _, e := range r.log.At(r.id, step) {
		if failed, ok := e.Body.(*ModelFailed); ok && failed.isPaid() {
			r.budget.add(&Spent{Usage: failed.Usage, Cost: failed.Cost})
			any = true
		}
	}
	return any
}

func (f *ModelFailed) isPaid() bool { return f.Cost != 0 || f.Usage != Usage{} }

// pastFailure returns the failure that a log has for a model call, if the run
// went on after it, or has nothing left to make another attempt with. Else the call is
// worth another try.
func (r *Run) pastFailure(step journal.Path) error {
	isSpent := r.countFailures(step) && r.budget.overspent() != ""
	if !isSpent && !r.log.Passed(r.id, step) {
		return nil
	}
	var last *ModelFailed
	for _, e := range r.log.At(r.id, step) {
		if failed, ok := e.Body.(*ModelFailed); ok {
			r.saw(e)
			last = failed
		}
	}
	switch {
	case last == nil:
		return nil
	case last.Reason == reasonTime:
		return &timeUpError{limit: r.budget.limits.Time}
	case last.Reason == reasonContext:
		return &brokenReply{ErrContextFull, ""}
	}
	past := &ModelError{Message: last.Error, Reason: last.Reason}
	if last.isPaid() {
		past.End = &End{Usage: last.Usage, Cost: &last.Cost, Model: last.Model, Provider: last.Provider}
	}
	return &brokenReply{past, ""}
}

// stream makes one attempt at a reply, showing it as it comes.
func (r *Run) stream(ctx context.Context, agent *Agent, req *Request, step journal.Path, attempt int, purpose string) (*ModelReplied, error) {
	p := r.exec.feed.newReply()
	p.run, p.parent, p.step, p.agent, p.attempt, p.ctx = r.id, r.parent, string(step), r.agent, attempt, ctx
	if purpose == "" {
		p.front = r.front
		r.exec.feed.openReply(p)
	}
	agent.model.Generate(r.traced(ctx, step), req)(p.take)
	if p.err == nil && !p.ended {
		p.err = &ModelError{Temporary: true, Reason: "incomplete", Err: incomplete{}}
	}
	if p.err != nil {
		broken := &brokenReply{p.err, p.text.String()}
		if ctx.Err() != nil {
			broken.error = context.Cause(ctx)
		}
		r.exec.feed.dropReply(p)
		return nil, broken
	}
	replied, message := p.replied, p.replied.Message
	message.Role, message.Text, message.Thought = RoleAssistant, p.text.String(), p.thought.String()
	tidyCalls(message.Calls, string(step))
	replied.Attempt, replied.Purpose, replied.Latency = attempt, purpose, Millis(time.Since(p.started))
	replied.Cost = agent.costOf(&End{Usage: replied.Usage, Cost: p.cost, Unpriced: p.unpriced})
	replied.Unpriced = p.cost == nil && (p.unpriced || !agent.price.Known() && replied.Usage != (Usage{}))
	return replied, nil
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
	if chunk.WasThought {
		p.feed.recast(p)
	}
	if chunk.Text != "" || chunk.Thought != "" {
		p.feed.grow(p, chunk.Text, chunk.Thought)
		p.front.show()
		if p.ctx.Err() != nil {
			return false // the run was told to stop, or whoever reads it has left
		}
	}
	message := p.replied.Message
	message.Refusal += chunk.Refusal
	if chunk.Call != nil {
		message.Calls = append(message.Calls, *chunk.Call)
	}
	if p.text.Len()+p.thought.Len() > maxReply {
		p.err = fmt.Errorf("the model's answer is over %d bytes", maxReply)
		return false
	}
	if end := chunk.End; end != nil {
		p.ended = true
		p.replied.Finish, p.replied.Usage, p.replied.Model, p.replied.Provider = end.Finish, end.Usage, end.Model, end.Provider
		p.cost, p.unpriced = end.Cost, end.Unpriced
		message.ThoughtField, message.Opaque = end.ThoughtField, end.Opaque
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
	// firstRateWait is the first wait where a provider wants fewer requests and does not
	// say for how long: rates are counted by the minute, in most places.
	firstRateWait = 6 * time.Second
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
	if tries := r.rules.ModelTries; tries >= 0 && attempt >= tries && !failure.Elsewhere {
		return 0, false
	}
	if failure.RetryAfter > longestRetryAfter {
		return 0, false
	}
	first := firstRetryWait
	if failure.Reason == "rate" && failure.RetryAfter == 0 && !failure.Elsewhere {
		first = firstRateWait
	}
	wait := min(first<<min(attempt-1, 10), maxRetryWait)
	wait = wait/2 + rand.N(wait/2+1)
	return max(wait, failure.RetryAfter), true
}

// sleep waits, showing meanwhile what other goroutines publish.
func (r *Run) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-r.front.wakes():
			r.front.show()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
