package troupe

import (
	"fmt"
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
	steps []string // of its events, ends by failure aside
}

// newJournal reads the events of a run and its children.
func newJournal(events []Event) *journal {
	j := &journal{events: map[stepKey][]*Event{}, runs: map[string]*runLog{}}
	for i := range events {
		e := &events[i]
		log := j.log(e.Run)
		switch e.Body.(type) {
		case *RunFailed, *RunCancelled:
			log.end = e
			continue // not outcomes: a run that goes on gets past them
		case *RunFinished:
			log.end = e
		case *RunStarted:
			if place, nested := strings.CutPrefix(e.Run, e.Parent+":"); nested {
				parent := j.log(e.Parent)
				parent.steps = append(parent.steps, place)
			}
		default:
			log.end = nil
		}
		log.steps = append(log.steps, e.Step)
		key := stepKey{e.Run, e.Step}
		j.events[key] = append(j.events[key], e)
	}
	return j
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
