package troupe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A journal is the log of a run that is gone over again, by run and step. A nil
// journal is that of a run which has no past.
type journal struct {
	events map[stepKey][]*Event
	runs   map[string]*runLog
}

type stepKey struct{ run, step string }

// A runLog is what decides whether a run has ended.
type runLog struct {
	end   *Event
	steps []string // of its events, ends that can be got past aside
}

// newJournal reads the events of a run and its children.
func newJournal(events []Event) *journal {
	j := &journal{events: map[stepKey][]*Event{}, runs: map[string]*runLog{}}
	for i := range events {
		j.add(&events[i])
	}
	return j
}

func (j *journal) add(e *Event) {
	log := j.log(e.Run)
	switch b := e.Body.(type) {
	case *RunFailed, *RunCancelled:
		log.end = e
		return // not outcomes: a run that goes on gets past them
	case *RunFinished:
		log.end = e
		if b.Stop == StopInput {
			return // so does one whose question is answered
		}
	case *RunStarted:
		if parent, place, nested := outerOf(e.Run); nested {
			outer := j.log(parent)
			outer.steps = append(outer.steps, place)
		}
	case *UserSaid:
		j.reopen(e.Run)
	default:
		log.end = nil
	}
	log.steps = append(log.steps, e.Step)
	key := stepKey{e.Run, e.Step}
	j.events[key] = append(j.events[key], e)
}

// reopen takes back that a run, and all it is nested in, ended with a question. A
// call that passed the question on is one to be made again.
func (j *journal) reopen(run string) {
	j.log(run).end = nil
	for {
		parent, place, nested := outerOf(run)
		if !nested {
			return
		}
		j.log(parent).end = nil
		if call := branchOf(place); len(j.at(parent, call)) > 0 {
			key := stepKey{parent, call}
			j.events[key] = append(j.events[key], &Event{Run: parent, Step: call, Body: &UserSaid{}})
		}
		run = parent
	}
}

func (j *journal) log(run string) *runLog {
	log := j.runs[run]
	if log == nil {
		log = &runLog{}
		j.runs[run] = log
	}
	return log
}

func (j *journal) at(run, step string) []*Event { return j.events[stepKey{run, step}] }

// find returns the event of a kind at a step, nil if the log does not know the
// step, and ErrChanged if what it knows is of other kinds.
func (j *journal) find(run, step string, kind Kind) (*Event, error) {
	events := j.at(run, step)
	var other Kind
	for _, e := range events {
		switch e.Kind() {
		case kind:
			return e, nil
		case KindWarned: // said while the effect was being carried out
		default:
			other = e.Kind()
		}
	}
	if other != "" && !(kind == KindToolReturned && other == KindToolCalled) {
		return nil, fmt.Errorf("run %s step %s: the log has %s, the code now wants %s: %w", run, step, other, kind, ErrChanged)
	}
	return nil, nil
}

// childEnd returns how a child run ended, if its parent has taken note: with a
// finish always, with a failure only if the parent did something afterwards. A
// failure that took the parent down with it is what a second pass is to get over.
func (j *journal) childEnd(parent, child, at string) *Event {
	if j == nil {
		return nil
	}
	log := j.runs[child]
	if log == nil || log.end == nil {
		return nil
	}
	switch log.end.Body.(type) {
	case *RunFinished:
		return log.end
	case *RunFailed:
		if j.passed(parent, at) {
			return log.end
		}
	}
	return nil
}

// passed reports whether the log shows the run doing something after a step.
func (j *journal) passed(run, at string) bool {
	if j == nil {
		return false
	}
	log := j.runs[run]
	return log != nil && slices.ContainsFunc(log.steps, func(step string) bool { return comesAfter(step, at) })
}

// question returns the event that asks what a run ended with: place is the one
// that the run's output names. Where a call passed on a question of a run nested in
// it, that is the question.
func (j *journal) question(place string) *Event {
	run, step, _ := strings.Cut(place, askedAt)
	for _, id := range slices.Sorted(maps.Keys(j.runs)) {
		log := j.runs[id]
		if outer, at, nested := outerOf(id); nested && outer == run && branchOf(at) == step && log.end != nil {
			if end, ok := log.end.Body.(*RunFinished); ok && end.Stop == StopInput {
				return j.question(end.Output.Meta.Asked)
			}
		}
	}
	here := j.at(run, step)
	if len(here) == 0 {
		return nil
	}
	last := here[len(here)-1]
	if _, ok := last.Body.(*InputRequested); !ok {
		return nil
	}
	return last
}

// askedAt joins the run and the step at which something was asked.
const askedAt = "#"

// outerOf returns the run that a run is nested in, and the step it is there.
func outerOf(run string) (outer, place string, nested bool) {
	i := strings.LastIndexByte(run, ':')
	if i < 0 {
		return "", "", false
	}
	return run[:i], run[i+1:], true
}

// branchOf returns the branch that a step is in, empty if it is in none.
func branchOf(step string) string {
	return step[:max(strings.LastIndexByte(step, '/'), 0)]
}

// isCall reports whether a step is a branch itself, as each call of a turn is.
func isCall(step string) bool { return strings.Count(step, "/")%2 == 1 }

// stepAfter returns the step that follows one in the same branch.
func stepAfter(step string) string {
	branch := branchOf(step)
	n, _ := strconv.Atoi(strings.TrimPrefix(step[len(branch):], "/"))
	return strings.TrimPrefix(branch+"/"+strconv.Itoa(n+1), "/")
}

// comesAfter reports whether the step a can only have been reached when b was
// done. Paths are counters and branch numbers in turn: "3/1/2" is step 2 of branch
// 1 of step 3, and what happens in branch 0 says nothing about branch 1.
func comesAfter(a, b string) bool {
	for counter := true; ; counter = !counter {
		headA, restA, moreA := strings.Cut(a, "/")
		headB, restB, moreB := strings.Cut(b, "/")
		if headA != headB {
			x, errX := strconv.Atoi(headA)
			y, errY := strconv.Atoi(headB)
			return counter && errX == nil && errY == nil && x > y
		}
		if !moreA || !moreB {
			return false
		}
		a, b = restA, restB
	}
}
