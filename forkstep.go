package troupe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

// ForkStep begins a new session in which a step of another is to be done again, and
// returns its id. The step is the one that ran as run, nested in a flow. What does not
// come after it is kept with its results, branches beside it included; the step and all
// that follows it are carried out by [Engine.Resume]. The other session stays as it is.
//
// Edit is given what the step was given, and returns what it gets now: that is on
// record, with input.User as who has edited it. A nil edit changes nothing. A value must
// fit the [Output] of the agent that it comes from. Input.Session is the new session's
// id, where the caller wants to choose one; the rest of input is not used.
//
// A step that an agent called as a tool, one that other branches ended, and a run that is
// not nested cannot be done again by itself: the error is [errors.ErrUnsupported].
func (e *Engine) ForkStep(ctx context.Context, session, run string, edit func(Handoff) (Handoff, error), input Input) (string, error) {
	id, err := e.forkStep(ctx, session, run, edit, input)
	if err != nil {
		return "", fmt.Errorf("fork session %s at run %.64q: %w", session, run, err)
	}
	return id, nil
}

func (e *Engine) forkStep(ctx context.Context, session, run string, edit func(Handoff) (Handoff, error), input Input) (string, error) {
	id, err := forkID(input)
	if err != nil {
		return "", err
	}
	events, err := e.eventsAround(ctx, session, run)
	if err != nil {
		return "", err
	}
	place, err := placeOf(events, run)
	if err != nil {
		return "", err
	}
	kept, err := place.keep(events, id)
	if err != nil {
		return "", err
	}
	forked := &SessionForked{From: session, After: place.start.Seq - 1, Run: run, Agent: place.start.Agent}
	was := place.start.Body.(*RunStarted).Input
	if edit != nil {
		if forked.Input, err = edited(was, edit, kept); err != nil {
			return "", err
		}
	}
	if forked.Input != nil {
		forked.Was, forked.User = &was, input.User
	}
	var latest past
	for i := range kept {
		latest.add(&kept[i], newConversations())
	}
	kept = append(kept, latest.cut(kept, forked, fmt.Sprintf("forked from session %s to do %s again", session, place.start.Agent))...)
	return id, e.store.Append(ctx, id, kept...)
}

// forkID is the id of a fork: the one that was chosen for it, if one was.
func forkID(input Input) (string, error) {
	id := orElse(input.Session, newSessionID())
	if !sessionid.Is(id) {
		return "", fmt.Errorf("session %.64q: an id is a UUID in lower case", id)
	}
	return id, nil
}

// eventsAround returns a session's log up to the end of the run that a run is nested in.
func (e *Engine) eventsAround(ctx context.Context, session, run string) (events []Event, err error) {
	top, _, _ := strings.Cut(run, ":")
	isPast := false
	for event, err := range e.store.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		if _, ok := event.Body.(*RunStarted); ok && event.Parent == "" {
			if isPast {
				break
			}
			isPast = event.Run == top
		}
		events = append(events, event)
	}
	return events, nil
}

// A refusal says why a step cannot be done again by itself.
type refusal string

func (r refusal) Error() string { return string(r) }

// Is says that what was asked for is not possible, whatever is tried.
func (r refusal) Is(target error) bool { return target == errors.ErrUnsupported }

func refused(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// A stepPlace is where a step is in the runs that it is nested in.
type stepPlace struct {
	run   string
	start *Event
	outer []stopPlace // innermost first
}

// placeOf finds a step that can be done again by itself.
func placeOf(events []Event, run string) (*stepPlace, error) {
	starts := map[string]*Event{}
	for i := range events {
		if _, ok := events[i].Body.(*RunStarted); ok {
			starts[events[i].Run] = &events[i]
		}
	}
	p := &stepPlace{run: run, start: starts[run]}
	if p.start == nil {
		return nil, refused("the session has no such run")
	}
	for inner := run; ; {
		outer, at, nested := journal.Outer(inner)
		if !nested {
			break
		}
		p.outer = append(p.outer, stopPlace{outer, at})
		if start := starts[outer]; start == nil || isOfAgent(start) {
			return nil, refused("%s was called by an agent as a tool, with what that agent wrote: do a step again that the flow itself runs", p.start.Agent)
		}
		inner = outer
	}
	if len(p.outer) == 0 {
		return nil, refused("this is the whole run of %s and no step of a flow: fork the session before it, and say something else", p.start.Agent)
	}
	return p, nil
}

func isOfAgent(start *Event) bool {
	definition := start.Body.(*RunStarted).Definition
	return definition == nil || definition.Kind == kindAgent
}

// keep returns the events, as those of another session, that do not come after the step.
func (p *stepPlace) keep(events []Event, session string) (kept []Event, err error) {
	contents, isKept := map[string]string{}, map[string]bool{}
	answered, isDropped := p.answeredEnds(events), false
	for i, e := range events {
		isDropped = p.drops(&e) && !answered[i] || isDropped && isOfPass(&e)
		if loaded, ok := e.Body.(*ContextLoaded); ok {
			if loaded.Content != "" {
				contents[loaded.SHA256] = loaded.Content
			}
			if !isDropped && !isKept[loaded.SHA256] { // the event that carried the content may be gone
				full := *loaded
				full.Content = contents[loaded.SHA256]
				e.Body, isKept[loaded.SHA256] = &full, true
			}
		}
		if isDropped {
			continue
		}
		if _, ok := e.Body.(*BranchesStopped); ok && p.isWithin(&e) {
			if p.isDoneIn(e.Run, events) {
				continue // it was one of those that the others were ended for
			}
			return nil, refused("%s was ended, or not begun, because enough of the others were done: do one of those again, or a step before them", p.start.Agent)
		}
		e.Session, e.Seq = session, int64(len(kept))+1
		kept = append(kept, e)
	}
	return kept, nil
}

// answeredEnds returns which events ended the whole run with a question, where an answer that is
// kept follows: in between, the run waited.
func (p *stepPlace) answeredEnds(events []Event) map[int]bool {
	whole := p.outer[len(p.outer)-1].run
	answered := map[int]bool{}
	var ends []int
	for i := range events {
		switch e := &events[i]; e.Body.(type) {
		case *RunFinished:
			if e.Run == whole && isQuestion(e.Body) {
				ends = append(ends, i)
			}
		case *RunResumed:
			ends = nil // that says that there was a break
		case *UserSaid:
			if p.drops(e) {
				continue
			}
			for _, end := range ends {
				answered[end] = true
			}
			ends = nil
		}
	}
	return answered
}

// isOfPass reports whether an event says how a pass over the run came to an end, and nothing
// of a step: it has the time of what came before it.
func isOfPass(e *Event) bool {
	_, ok := e.Body.(*Warned)
	return ok && e.Step == string(journal.Start)
}

// drops reports whether an event belongs to the step, comes after it, or ends a run that
// the step is nested in.
func (p *stepPlace) drops(e *Event) bool {
	if forked, ok := e.Body.(*SessionForked); ok && forked.Run != "" {
		e = &Event{Run: forked.Run, Step: string(journal.Start)} // what was edited there holds no longer
	}
	if journal.Belongs(e.Run, p.run) {
		return true
	}
	for _, outer := range p.outer {
		if at, ok := outer.placeOf(e); ok && (at.After(outer.at) || e.Run == outer.run && endsRun(e.Body)) {
			return true
		}
	}
	return false
}

// placeOf returns where in its run, or in one that it is nested in, an event happened.
func (s stopPlace) placeOf(e *Event) (journal.Path, bool) {
	if e.Run == s.run {
		return journal.Path(e.Step), true
	}
	if !journal.Belongs(e.Run, s.run) {
		return "", false
	}
	at, _, _ := strings.Cut(e.Run[len(s.run)+1:], ":")
	return journal.Path(at), true
}

// isDoneIn reports whether the step came to an end of its own, and so did all that it is
// nested in below a run.
func (p *stepPlace) isDoneIn(run string, events []Event) bool {
	finished := map[string]bool{}
	for i := range events {
		if endsRun(events[i].Body) {
			_, finished[events[i].Run] = events[i].Body.(*RunFinished)
		}
	}
	for inner := p.run; inner != run; {
		if !finished[inner] {
			return false
		}
		inner, _, _ = journal.Outer(inner)
	}
	return true
}

// isWithin reports whether the step is in one of the branches that an event ended.
func (p *stepPlace) isWithin(e *Event) bool {
	group := string(journal.Path(e.Step).Within().Within())
	for _, outer := range p.outer {
		if outer.run == e.Run && strings.HasPrefix(string(outer.at), group+"/") {
			return true
		}
	}
	return false
}

// edited returns what a person made of a step's input, nil where nothing was changed.
func edited(was Handoff, edit func(Handoff) (Handoff, error), events []Event) (*Handoff, error) {
	now, err := edit(was.Clone())
	if err != nil {
		return nil, err
	}
	now.Meta = was.Meta
	if now, err = now.asJSON(); err != nil {
		return nil, refusal(err.Error())
	}
	if err := now.join(&was); err != nil {
		return nil, err
	}
	if !bytes.Equal(now.Value, was.Value) && now.Value != nil {
		if err := fitsSource(now.Value, was.Meta.Source, events); err != nil {
			return nil, err
		}
	}
	before, _ := encodeJSON(was) // it was JSON before
	after, err := encodeJSON(now)
	if err != nil || bytes.Equal(before, after) {
		return nil, err
	}
	return &now, nil
}

// join makes the value compact, and has value and summary say the same where they did:
// an agent with an [Output] answers with the text of its value.
func (h *Handoff) join(was *Handoff) error {
	wasText := was.Value != nil && was.Summary == string(was.Value)
	if wasText && h.Summary != was.Summary && bytes.Equal(h.Value, was.Value) {
		h.Value = json.RawMessage(h.Summary)
	}
	if h.Value == nil {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, h.Value); err != nil {
		return refused("the value is no JSON: %v", err)
	}
	h.Value = compact.Bytes()
	if wasText {
		h.Summary = string(h.Value)
	}
	return nil
}

// fitsSource checks a value against the output of the agent that it comes from.
func fitsSource(value json.RawMessage, source string, events []Event) error {
	for i := len(events) - 1; i >= 0; i-- {
		started, ok := events[i].Body.(*RunStarted)
		if !ok || events[i].Agent != source || started.Output == nil {
			continue
		}
		bound, err := started.Output.bind()
		if err != nil {
			return err
		}
		if err := bound.fits(value); err != nil {
			return refused("the value does not fit what %s returns: %v", source, err)
		}
		return nil
	}
	return nil
}

// editsIn returns the inputs that a person has edited, by the run that gets them.
func editsIn(events []Event) map[string]*SessionForked {
	var edits map[string]*SessionForked
	for i := range events {
		if forked, ok := events[i].Body.(*SessionForked); ok && forked.Input != nil {
			if edits == nil {
				edits = map[string]*SessionForked{}
			}
			edits[forked.Run] = forked
		}
	}
	return edits
}

// Given returns what the next step that this run does is given in place of h: h itself,
// unless a person has edited it, see [Engine.ForkStep]. A flow asks which has more use
// for h than to give it to that step.
func (r *Run) Given(h Handoff) Handoff {
	if r.exec.edits == nil {
		return h
	}
	if forked := r.exec.edits[journal.Child(r.id, r.prefix.Step(r.count+1))]; forked != nil {
		return forked.Input.Clone()
	}
	return h
}

// cut is what follows the beginning of a log, the events kept, that became one of its own.
func (p *past) cut(kept []Event, forked *SessionForked, reason string) (ends []Event) {
	end := func(at time.Time, body Body) {
		ends = append(ends, Event{
			Seq: int64(len(kept) + len(ends) + 1), Time: at, Session: p.start.Session,
			Run: p.start.Run, Step: string(journal.Start), Agent: p.start.Agent, Body: body,
		})
	}
	if p.open() {
		end(kept[len(kept)-1].Time, &RunCancelled{Reason: reason}) // nobody has worked on it since
	}
	end(time.Now().Round(0).UTC(), forked)
	return ends
}
