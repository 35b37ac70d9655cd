package troupe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
)

// An Engine runs steps and keeps their events. It may be used concurrently.
type Engine struct {
	store   Store
	limits  Limits
	tracing Tracing

	mu       sync.Mutex
	sessions map[string]*session
	idle     []*session // those nobody uses, the longest unused first
	closed   bool
}

// Config says how an engine works. The zero Config is fine.
type Config struct {
	// Store keeps the events: in memory by default. The engine does not close it.
	Store Store
	// Limits apply to every run that does not set its own.
	Limits Limits
	// Tracing connects runs with the traces of the program around them: see package
	// observe/otel. By default there is no such connection.
	Tracing Tracing
}

// Tracing connects runs with the traces of the program around them.
type Tracing interface {
	// Parent returns the span in ctx, as a W3C traceparent, empty if there is none. It
	// becomes the parent of the run's own span.
	Parent(ctx context.Context) string
	// Within returns ctx with the span of an effect as the current one: of a model call
	// or a tool call, so that spans which are opened there hang below it. The parent is
	// what Parent returned for the run.
	Within(ctx context.Context, parent, session, run, step string) context.Context
}

// traced returns ctx for an effect of the run.
func (r *Run) traced(ctx context.Context, step journal.Path) context.Context {
	if r.exec.engine.tracing == nil {
		return ctx
	}
	return r.exec.engine.tracing.Within(ctx, r.exec.started.Trace, r.Session(), r.id, string(step))
}

var (
	// ErrBusy reports a session that has a run under way: it has one at a time.
	ErrBusy = errors.New("the session has a run under way")
	// ErrClosed reports an engine that was closed.
	ErrClosed = errors.New("the engine is closed")
	// ErrCancelled is why a run stopped that Cancel stopped, or a branch that another
	// one ended: see [Run.StopOthers].
	ErrCancelled = errors.New("the run was cancelled")
	// ErrNoQuestion reports an answer where nothing was asked.
	ErrNoQuestion = errors.New("the session does not wait for an answer to that")
	// ErrNothingToResume reports a session whose latest run has finished.
	ErrNothingToResume = errors.New("the session's latest run has finished: there is nothing to resume")

	// errClosing is why a run stops whose engine is closed: that ends the run. [ErrClosed] itself, as the
	// cause of a caller's context, only interrupts it.
	errClosing    = fmt.Errorf("%w", ErrClosed)
	errReaderLeft = errors.New("the run's reader left")
	errLeftBehind = errors.New("the call is over: its time was up")
	// errAbandoned is why a run is closed whose process died. The page and deliveries know it by its first word.
	errAbandoned = errors.New("interrupted, and not resumed before the next message")
)

// New returns an engine.
func New(c Config) (*Engine, error) {
	if c.Store == nil {
		c.Store = NewMemoryStore()
	}
	return &Engine{store: c.Store, limits: c.Limits.with(defaultLimits), tracing: c.Tracing, sessions: map[string]*session{}}, nil
}

// An Input is what a run is given.
type Input struct {
	// Session is the conversation to go on with: an id that the engine gave, or any
	// other UUID to begin one under that id. Empty begins a new one.
	Session string
	// Text is what the user says.
	Text string
	// Parts are attachments.
	Parts []Part
	// Custom is passed along to the steps: see [Handoff].
	Custom map[string]any
	// Values are for tools, which get them in their [Invocation]: no model sees them.
	// They are on record with the run, as JSON has them.
	Values map[string]any
	// Answer, in place of Text, decides what the session's latest run asked.
	Answer *Answer
	// Question is the ID of the question that Text or Answer answers, as [InputRequested] has
	// it: several may wait where steps run at the same time. Empty is the one that the run
	// ended with. Where that question is not open, the input fails with [ErrNoQuestion].
	Question string
	// Hidden says that Text or Answer is not what a person said: it is told to the step, and
	// whoever shows the conversation leaves it out.
	Hidden bool
	// Limits replace the engine's where set.
	Limits Limits
	// IdempotencyKey is what the caller calls the request. It is on record before the
	// run begins, for as long as the session is: an input with a key that is on record
	// in its session, or of its user and step where it names no session, is that run
	// again. If it has ended, that is its outcome; if it is under way, it is followed;
	// if it was interrupted, it is resumed. No step sees the key.
	IdempotencyKey string
	// User is who asks. The one who begins a session owns it: to any other user it
	// is not there. Empty means whoever runs the engine, who may go on with all.
	User string
}

// Run runs step on input when ranged over and yields the events of the run, those
// of nested runs included; the error comes last. To break off is to cancel the
// run and to wait until all it started has ended.
func (e *Engine) Run(ctx context.Context, step Step, input Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		x, known, err := e.begin(ctx, step, input)
		switch {
		case err != nil:
			yield(Event{}, err)
		case known != nil:
			known.show(ctx, yield)
		default:
			x.watch(yield)
		}
	}
}

// Resume goes on with a session's latest run, which was interrupted, cancelled or
// failed: it runs step again over the log, and nothing that is in the log is done
// again. The step must be the one that was run. Otherwise it is as Run.
//
// A ctx that is done with the cause [ErrClosed] interrupts the run and does not cancel it:
// on record it has not ended, and any engine of the store can resume it at once.
func (e *Engine) Resume(ctx context.Context, step Step, session string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		x, err := e.beginAgain(ctx, step, session)
		if err != nil {
			yield(Event{}, err)
			return
		}
		x.watch(yield)
	}
}

// Start runs step on input in the background. The run outlives ctx; Cancel and
// Close stop it, and Tail shows it.
func (e *Engine) Start(ctx context.Context, step Step, input Input) (*Handle, error) {
	x, known, err := e.begin(context.WithoutCancel(ctx), step, input)
	if err != nil || known != nil {
		return known, err
	}
	return x.background(), nil
}

// StartAgain is Resume in the background, as Start is Run.
func (e *Engine) StartAgain(ctx context.Context, step Step, session string) (*Handle, error) {
	x, err := e.beginAgain(context.WithoutCancel(ctx), step, session)
	if err != nil {
		return nil, err
	}
	return x.background(), nil
}

// background executes the run in a goroutine of its own.
func (x *execution) background() *Handle {
	h := &Handle{engine: x.engine, exec: x, first: x.first, Session: x.feed.session, Run: x.run.id}
	x.outcome = &Outcome{}
	go func() {
		defer x.release()
		x.execute()
	}()
	return h
}

// Tail yields a session's events after the one numbered after, then those to come
// as they come, until ctx is done. A reply in progress is shown from its beginning.
func (e *Engine) Tail(ctx context.Context, session string, after int64) iter.Seq2[Event, error] {
	return e.tail(ctx, session, after, false)
}

// tail is Tail; where it shows all, replies that are whole are shown in deltas as well.
func (e *Engine) tail(ctx context.Context, session string, after int64, all bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s, err := e.open(ctx, session)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer e.leave(s)
		var r reader
		s.feed.follow(&r, after)
		defer r.unfollow()
		if all {
			r.joined = after
		}
		look := time.NewTimer(0)
		defer look.Stop()
		for {
			select {
			case <-r.signal:
			case <-look.C:
				if err := e.mirror(ctx, s); err != nil && ctx.Err() == nil {
					yield(Event{}, err)
					return
				}
				look.Reset(showPause)
				continue
			case <-ctx.Done():
				yield(Event{}, context.Cause(ctx))
				return
			}
			if !r.pass(ctx, yield) {
				return
			}
		}
	}
}

// Cancel stops the session's run and waits until all it started has ended, or
// until ctx is done. A run that waits for an answer is stopped, too: to resume it is to
// be asked again. It does nothing if there is no run. Called from within the loop
// that ranges over the run it does not wait: the run ends when the loop goes on.
func (e *Engine) Cancel(ctx context.Context, session string) error {
	e.mu.Lock()
	s := e.sessions[session]
	var x *execution
	if s != nil {
		x = s.active
	}
	e.mu.Unlock()
	if x != nil {
		return x.stop(ctx, ErrCancelled)
	}
	if err := e.askOwner(ctx, session, SessionRequest{Cancel: true}, func(SessionInfo) bool { return false }); err != nil {
		return err
	}
	return e.cancelWaiting(ctx, session)
}

// Close stops every run, waits for them, and refuses new ones.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	var active []*execution
	for _, s := range e.sessions {
		if s.active != nil {
			active = append(active, s.active)
		}
	}
	e.mu.Unlock()
	for _, x := range active {
		x.cancel(errClosing)
	}
	for _, x := range active {
		if !x.inLoop() {
			<-x.done
		}
	}
	return nil
}

// A session is a conversation that somebody is using, or has just been using.
type session struct {
	feed   feed
	active *execution
	users  int // readers and runs; guarded by the engine

	loading sync.Mutex
	loaded  atomic.Bool
	// talks are the conversations so far, nil if they must be read from the store, and
	// outputs what steps last handed back.
	talks   *conversations
	outputs map[string]Handoff
	// owner is who began the session, and keys the requests that it has on record.
	owner string
	keys  map[string]keyed
}

const (
	// maxIdle is how many conversations are kept at hand after their last use.
	maxIdle = 64
	// maxIdleBytes is how large a conversation may be to be kept so.
	maxIdleBytes = 256 << 10
)

// join returns the session for one more user.
func (e *Engine) join(id string) (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	s := e.sessions[id]
	if s == nil {
		s = &session{}
		s.feed.prepare(id, e.store)
		e.sessions[id] = s
	}
	if s.users++; s.users == 1 {
		e.idle = slices.DeleteFunc(e.idle, func(other *session) bool { return other == s })
	}
	return s, nil
}

// leave takes back what join gave.
func (e *Engine) leave(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.users--; s.users > 0 || e.sessions[s.feed.session] != s {
		return
	}
	if s.feed.isBroken() || !s.loaded.Load() {
		e.drop(s)
		return
	}
	if s.talks != nil && s.talks.size() > maxIdleBytes {
		s.talks, s.outputs, s.keys = nil, nil, nil // read again when it goes on
	}
	if len(e.idle) == maxIdle {
		delete(e.sessions, e.idle[0].feed.session)
		e.idle = append(e.idle[:0], e.idle[1:]...)
	}
	e.idle = append(e.idle, s)
}

// drop forgets what is known of a session; e.mu is held.
func (e *Engine) drop(s *session) {
	delete(e.sessions, s.feed.session)
	e.idle = slices.DeleteFunc(e.idle, func(other *session) bool { return other == s })
}

// open joins a session that must exist.
func (e *Engine) open(ctx context.Context, id string) (*session, error) {
	s, err := e.join(id)
	if err != nil {
		return nil, err
	}
	if _, err := s.load(ctx, false); err != nil {
		e.leave(s)
		return nil, err
	}
	return s, nil
}
