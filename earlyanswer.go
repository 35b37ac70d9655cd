package troupe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
)

// earlyAnswers are those that come while the run is under way, to what one of its steps has
// asked: where steps run at the same time, others may be at work. They are on record at once.
// A step of a branch that waits for its answer goes on with it: see [Run.answeredMeanwhile].
// Others are used when all is done that can be done without them: the run does not end with
// a question then, and its step is run over the log once more.
type earlyAnswers struct {
	mu sync.Mutex
	// fresh are the runs whose questions have answers that nobody has gone on with yet, and
	// waiting the steps of branches that wait for one.
	fresh   []string
	waiting []*waitingStep
	// any says that there was an answer at all, and closed that the run ends with a question:
	// it takes no more.
	any, closed bool
}

func (a *earlyAnswers) hadAny() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.any
}

var (
	// errAnswered ends a pass over a log that has got an answer meanwhile.
	errAnswered = errors.New("a question of the run was answered meanwhile")
	// errLeaving says that a run has ended, or is about to.
	errLeaving = errors.New("the run is ending")
	// errNotBegun says that nothing is on record yet of what a run is about to do.
	errNotBegun = errors.New("the run has not begun")
)

// isAnswered reports whether the run is to be gone over again in place of ending with a
// question. Where it is not, it takes no more answers.
func (x *execution) isAnswered() bool {
	x.early.mu.Lock()
	defer x.early.mu.Unlock()
	x.early.closed = len(x.early.fresh) == 0
	return !x.early.closed
}

// goOverAgain prepares another pass over the log, in which there are new answers.
func (x *execution) goOverAgain() error {
	x.awaitLeft()
	x.early.mu.Lock()
	defer x.early.mu.Unlock()
	x.early.fresh = nil
	x.session.talks = nil
	past, err := x.session.load(context.WithoutCancel(x.base), true)
	if err != nil {
		return err
	}
	front, elapsed := x.run.front, x.budget.elapsed()
	x.budget = budget{}
	x.mu.Lock()
	x.asked = nil
	x.mu.Unlock()
	if err := x.goOver(past); err != nil {
		return err
	}
	x.run.front, x.budget.before = front, elapsed
	return nil
}

// answered has a run that is under way take an input which answers one of its questions, and
// returns that run. Otherwise the error stands.
func (e *Engine) answered(ctx context.Context, step Step, session string, input *Input, busy error) (*execution, *Handle, error) {
	if input.Question == "" {
		return nil, nil, busy
	}
	h, err := e.answerBusy(ctx, session, input, busy)
	if err == errLeaving {
		return e.begin(ctx, step, *input)
	}
	return nil, h, err
}

// answerBusy gives an answer to a run that is under way, here or in the process that an error
// names. It fails with errLeaving where the run is over instead.
func (e *Engine) answerBusy(ctx context.Context, session string, input *Input, busy error) (*Handle, error) {
	if owner, elsewhere := errors.AsType[*Owner](busy); elsewhere {
		return e.answerElsewhere(ctx, session, input, owner)
	}
	return e.answerUnderWay(ctx, session, input)
}

// answerUnderWay gives an answer to a run of this engine's that is under way, which it
// returns. It fails with errLeaving where the run is over instead, and with ErrBusy where the
// run cannot take it now.
func (e *Engine) answerUnderWay(ctx context.Context, session string, input *Input) (*Handle, error) {
	x := e.activeIn(session)
	if x == nil {
		return nil, errLeaving
	}
	if x.step == nil {
		<-x.done
		return nil, errLeaving
	}
	select {
	case <-x.ready:
	case <-x.done:
		return nil, errLeaving
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var r reader
	x.feed.follow(&r, x.feed.last())
	defer r.unfollow()
	log, news := &growingLog{}, r.signal
	for {
		at := x.loopAt()
		h, err := x.takeAnswer(ctx, log, input)
		switch err {
		default:
			return h, err
		case errLeaving:
			news = nil // it takes no more
		case errNotBegun:
		}
		var late <-chan time.Time
		if at != 0 {
			late = time.After(moment)
		}
		select {
		case <-news:
		case <-late:
			if x.loopAt() == at { // this may be called from there
				return nil, fmt.Errorf("session %s: %w", session, ErrBusy)
			}
		case <-x.done:
			return nil, errLeaving
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// takeAnswer puts an answer on record, if a step of the run waits for it. The log is what was
// read of it before.
func (x *execution) takeAnswer(ctx context.Context, log *growingLog, input *Input) (*Handle, error) {
	x.early.mu.Lock()
	defer x.early.mu.Unlock()
	if x.early.closed {
		return nil, errLeaving
	}
	for {
		if err := log.readOn(ctx, x.feed); err != nil {
			return nil, err
		}
		if input.User != "" && input.User != log.owner {
			return nil, fmt.Errorf("session %s: %w", x.feed.session, ErrNotFound)
		}
		asked, err := log.asked(x.request, input.Question)
		if err != nil {
			return nil, err
		}
		answer := answerTo(asked, input.said())
		if answer == nil {
			return nil, fmt.Errorf("session %s: %w", x.feed.session, ErrBusy)
		}
		last := log.seq
		if published, err := x.feed.publishAfter(last, []Event{*answer}); err != nil {
			return nil, err
		} else if published {
			x.early.came(asked.Run)
			return &Handle{engine: x.engine, exec: x, first: last, Session: x.feed.session, Run: x.request.run}, nil
		}
	}
}

// A growingLog is that of a session whose run is under way.
type growingLog struct {
	past
	seq     int64 // of the last event that was read
	belongs int64 // of the last one that is of the latest run
	owner   string
}

// readOn reads what has come to the log.
func (l *growingLog) readOn(ctx context.Context, f *feed) error {
	talks := newConversations() // which nobody goes on with
	for e, err := range f.store.Events(ctx, f.session, l.seq) {
		if err != nil {
			return err
		}
		if started, ok := e.Body.(*RunStarted); ok && e.Seq == 1 {
			l.owner = started.User
		}
		l.add(&e, talks)
		if l.seq = e.Seq; journal.Belongs(e.Run, l.start.Run) {
			l.belongs = e.Seq
		}
	}
	return nil
}

// asked returns the event that asks what has this id, nil if an answer to that cannot be taken
// while the run is under way.
func (l *growingLog) asked(under keyed, id string) (*Event, error) {
	switch {
	case l.start.Run != under.run || l.belongs <= under.first:
		return nil, errNotBegun
	case l.finished || l.stopped:
		return nil, errLeaving
	}
	return l.asksUnderWay(id, true)
}

// asksUnderWay returns the event that asks what has this id, of a run that has not ended. With a
// process that is at work it is nil where the answer cannot be taken now.
func (p *past) asksUnderWay(id string, atWork bool) (*Event, error) {
	log := newJournal(p.events)
	asked := openQuestion(log, id)
	if asked == nil {
		return nil, notAsked(p.start.Session, id)
	}
	at := journal.Path(asked.Step)
	if _, isAsking := log.Asking(asked.Run); !isAsking && !at.IsBranch() {
		return nil, nil
	}
	for run, nested := asked.Run, true; nested; {
		if end, ok := log.End(run); log.Passed(run, at) || ok && !isQuestion(end.Body) {
			return nil, notAsked(p.start.Session, id)
		}
		run, at, nested = journal.Outer(run)
		// A call that is being made is about to pass on what it was asked before.
		if call := log.At(run, at.Within()); atWork && nested && len(call) > 0 && call[len(call)-1].Kind() != "input_requested" {
			return nil, nil
		}
	}
	return asked, nil
}

// answerLeft makes what the user says the answer to a question of a run whose process has died
// while other steps of it were at work: the run goes on with it.
func (x *execution) answerLeft(past *past, question string, said *UserSaid) error {
	asked, err := past.asksUnderWay(question, false)
	if err != nil {
		return err
	}
	answer := answerTo(asked, said)
	if answer == nil {
		return notAsked(x.feed.session, question)
	}
	if err := x.resume(past); err != nil {
		return err
	}
	x.noteAnswer(answer)
	return nil
}

// isQuestion reports whether a body ends a run with a question.
func isQuestion(body Body) bool {
	finished, ok := body.(*RunFinished)
	return ok && finished.Stop == stopInput
}
