package troupe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
)

// newJournal reads the events of a run and what is nested in it.
func newJournal(events []Event) *journal.Log[*Event] {
	log := journal.New(func(run string, at journal.Path) *Event {
		return &Event{Run: run, Step: string(at), Body: &UserSaid{}}
	})
	for i := range events {
		addTo(log, &events[i])
	}
	return log
}

func addTo(log *journal.Log[*Event], e *Event) {
	role := journal.Outcome
	switch b := e.Body.(type) {
	case *RunStarted:
		role = journal.Started
	case *RunFailed, *RunCancelled:
		role = journal.Stopped
	case *UserSaid:
		role = journal.Answered
	case *RunFinished:
		if role = journal.Finished; b.Stop == stopInput {
			role = journal.Asked
		}
	}
	log.Add(e, e.Run, journal.Path(e.Step), role)
}

// recordedAt returns the event of a kind at a step, nil if the log does not know the
// step, and ErrChanged if what it knows is of other kinds.
func recordedAt(log *journal.Log[*Event], run string, at journal.Path, kind string) (*Event, error) {
	var other string
	for _, e := range log.At(run, at) {
		switch e.Kind() {
		case kind:
			return e, nil
		case "warned", "model_failed", "run_resumed": // said while the effect was being carried out
		default:
			other = e.Kind()
		}
	}
	if other != "" {
		return nil, fmt.Errorf("run %s step %s: the log has %s, the code now wants %s: %w", run, at, other, kind, ErrChanged)
	}
	return nil, nil
}

// A stopPlace is where branches were ended by one of them.
type stopPlace struct {
	run string
	at  journal.Path
}

func stopsIn(events []Event) map[stopPlace]bool {
	var stops map[stopPlace]bool
	for i := range events {
		if _, ok := events[i].Body.(*BranchesStopped); ok {
			if stops == nil {
				stops = map[stopPlace]bool{}
			}
			stops[stopPlace{events[i].Run, journal.Path(events[i].Step).Within().Within()}] = true
		}
	}
	return stops
}

// questionID names a question by where it is asked.
func questionID(run string, at journal.Path) string { return run + "#" + string(at) }

// openQuestion returns the event that asks what a run ended with. Where a call
// passed on a question of a run nested in it, that is the question.
func openQuestion(log *journal.Log[*Event], id string) *Event {
	run, at, _ := strings.Cut(id, "#")
	for _, nested := range log.Within(run, journal.Path(at)) {
		if end, ok := log.Asking(nested); ok {
			return openQuestion(log, end.Body.(*RunFinished).Output.Meta.Asked)
		}
	}
	here := log.At(run, journal.Path(at))
	if len(here) == 0 {
		return nil
	}
	last := here[len(here)-1]
	if _, ok := last.Body.(*InputRequested); !ok {
		return nil
	}
	return last
}

// A past is what a session's log says about its latest run.
type past struct {
	start *Event
	last  time.Time // of its newest event
	// elapsed is how long the run has been at work, breaks between passes aside.
	elapsed time.Duration
	passes  int // over its log, this one aside
	// place is what the run was at when it was last heard of, and died how many passes
	// in a row have ended with their process at diedAt.
	place, diedAt string
	died          int
	finished      bool
	waits         bool   // finished with a question
	asked         string // its id
	stopped       bool   // failed or cancelled
	closed        bool   // cancelled because its process was told to end
	interrupted   bool   // its process was told to end, and has left it to another
	// events are those of the run and what is nested in it, before the
	// conversations as they were when the run began.
	events []Event
	before *conversations
	// outputs are what steps handed back when they last ran, before this run.
	outputs map[string]Handoff
}

// open reports a run that neither ended nor was stopped: its process died.
func (p *past) open() bool { return p.start != nil && !p.finished && !p.stopped }

// load reads the session from the store where it is not at hand. With a run to
// come, it also sees to the conversation, and returns what went before.
func (s *session) load(ctx context.Context, toRun bool) (*past, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded.Load() && (!toRun || s.talks != nil) {
		return &past{}, nil
	}
	p, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	if !toRun && p.start != nil && (!p.finished || p.waits) {
		s.talks = nil // whoever runs it next needs all of what the log says about its latest run
	}
	s.loaded.Store(true)
	return p, nil
}

func (s *session) read(ctx context.Context) (*past, error) {
	talks, p := newConversations(), &past{}
	var seq int64
	for e, err := range s.feed.store.Events(ctx, s.feed.session, 0) {
		if err != nil {
			return nil, err
		}
		seq = e.Seq
		if started, ok := e.Body.(*RunStarted); ok && seq == 1 {
			s.owner = started.User
		}
		if loaded, ok := e.Body.(*ContextLoaded); ok {
			e.Body = s.feed.restored(loaded)
		}
		p.add(&e, talks)
		talks.apply(&e)
		s.noteKeyOf(&e, p)
	}
	s.feed.seek(seq)
	s.talks, s.outputs = talks, p.outputsAfter()
	return p, nil
}

// add takes the next event of the log into account. The conversations are as they
// were before the event.
func (p *past) add(e *Event, talks *conversations) {
	if _, ok := e.Body.(*RunStarted); ok && e.Parent == "" {
		*p = past{start: e, before: talks.clone(), outputs: p.outputsAfter(), place: atModel}
	}
	if p.start == nil || !journal.Belongs(e.Run, p.start.Run) {
		return
	}
	p.events = append(p.events, *e)
	if !p.last.IsZero() && !endsBreak(e.Body) && !p.waits {
		p.elapsed += max(e.Time.Sub(p.last), 0)
	}
	p.last = e.Time
	switch b := e.Body.(type) {
	case *UserSaid:
		if p.finished {
			p.finished, p.waits = false, false
			p.passes++
			p.died = 0
		} else if e.Parent != "" || b.CallID != "" {
			p.passes++ // it is an answer that came while the run was under way
		}
		p.place = atModel
	case *RunResumed:
		p.passes++
		if p.died, p.diedAt = p.deaths(), p.place; p.stopped {
			p.died = 0
		}
		p.interrupted = false
	case *Warned:
		p.interrupted = p.interrupted || b.Code == codeInterrupted
	case *ToolCalled:
		p.place = "in a call of the tool " + b.Tool + " with the arguments " + string(b.Arguments)
	case *ModelReplied, *ToolReturned:
		p.place = atModel + " after event " + strconv.FormatInt(e.Seq, 10)
	}
	if e.Run == p.start.Run {
		switch b := e.Body.(type) {
		case *RunFinished:
			p.finished, p.stopped = true, false
			p.waits, p.asked = b.Stop == stopInput, b.Output.Meta.Asked
		case *RunFailed:
			p.stopped, p.closed = true, false
		case *RunCancelled:
			p.stopped, p.closed = true, b.Reason == ErrClosed.Error()
			p.finished, p.waits = false, false // it may have waited for an answer
		case *SessionForked, *Warned:
		default:
			p.stopped, p.closed = false, false
		}
	}
}

// atModel is where a run is that waits for its model.
const atModel = "while the model was being asked"

// codeInterrupted is the code of a warning that a run was left to another process.
const codeInterrupted = "interrupted"

// deaths returns how many passes in a row have ended with their process at the same
// place, if the latest one has.
func (p *past) deaths() int {
	if p.interrupted {
		return 0
	}
	if p.place != p.diedAt {
		return 1
	}
	return p.died + 1
}

// outputsAfter returns what steps last handed back, this run included.
func (p *past) outputsAfter() map[string]Handoff {
	if p.start == nil || !p.finished || p.waits {
		return p.outputs
	}
	for _, e := range slices.Backward(p.events) {
		if end, ok := e.Body.(*RunFinished); ok && e.Run == p.start.Run {
			return withOutput(p.outputs, e.Agent, end.Output)
		}
	}
	return p.outputs
}

// withOutput returns a copy of outputs with one more.
func withOutput(outputs map[string]Handoff, name string, h Handoff) map[string]Handoff {
	next := make(map[string]Handoff, len(outputs)+1)
	for name, output := range outputs {
		next[name] = output
	}
	next[name] = h
	return next
}

// endsBreak reports whether a body says that a run goes on after a break, here or in a fork.
func endsBreak(body Body) bool {
	switch body.(type) {
	case *RunResumed, *SessionForked:
		return true
	}
	return false
}

// abandon closes a run that its process left behind, so that another can begin.
func (s *session) abandon(p *past) error {
	s.talks.settle()
	return s.cancel(p, errAbandoned)
}

// cancel ends a run that nobody carries out.
func (s *session) cancel(p *past, reason error) error {
	return s.feed.publish([]Event{{
		Time: time.Now().Round(0).UTC(), Session: s.feed.session, Run: p.start.Run,
		Step: string(journal.Start), Agent: p.start.Agent, Body: &RunCancelled{Reason: reason.Error()},
	}})
}
