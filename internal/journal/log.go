package journal

import "slices"

// A Role is what an event means for whoever goes over the log again.
type Role int

// The roles. All but Stopped and Asked are outcomes that a second pass finds again.
const (
	Outcome  Role = iota
	Started       // a run began
	Finished      // a run came to an end of its own
	Asked         // a run ended with a question: its answer gets past that
	Stopped       // a run failed or was cancelled: going over it again gets past that
	Answered      // the user answered
)

// A Log is what is on record of a run and the runs nested in it. A nil Log is that
// of a run which has no past.
type Log[E any] struct {
	events map[place][]E
	runs   map[string]*runLog[E]
	// nested are the runs that began in a branch of a run, in that order.
	nested map[place][]string
	mark   func(run string, at Path) E
}

type place struct {
	run string
	at  Path
}

// A runLog is what decides whether a run has ended.
type runLog[E any] struct {
	end     E
	hasEnd  bool
	endRole Role
	steps   []Path // of its events, ends that can be got past aside
}

// New returns an empty log. Where a question of a nested run is answered, the call
// that passed it on gets what mark returns as its latest event.
func New[E any](mark func(run string, at Path) E) *Log[E] {
	return &Log[E]{events: map[place][]E{}, runs: map[string]*runLog[E]{}, nested: map[place][]string{}, mark: mark}
}

// Add takes the next event of the log.
func (l *Log[E]) Add(e E, run string, at Path, role Role) {
	log := l.log(run)
	switch role {
	case Stopped, Asked:
		log.end, log.hasEnd, log.endRole = e, true, role
		return
	case Finished:
		log.end, log.hasEnd, log.endRole = e, true, role
	case Started:
		if outer, at, nested := Outer(run); nested {
			parent := l.log(outer)
			parent.steps = append(parent.steps, at)
			branch := place{outer, at.Within()}
			l.nested[branch] = append(l.nested[branch], run)
		}
	case Answered:
		l.reopen(run)
	default:
		log.hasEnd = false
	}
	log.steps = append(log.steps, at)
	key := place{run, at}
	l.events[key] = append(l.events[key], e)
}

// reopen takes back that a run, and all it is nested in, ended with a question. A
// call that passed the question on is one to be made again.
func (l *Log[E]) reopen(run string) {
	l.log(run).hasEnd = false
	for {
		outer, at, nested := Outer(run)
		if !nested {
			return
		}
		l.log(outer).hasEnd = false
		if call := (place{outer, at.Within()}); len(l.events[call]) > 0 {
			l.events[call] = append(l.events[call], l.mark(outer, call.at))
		}
		run = outer
	}
}

func (l *Log[E]) log(run string) *runLog[E] {
	log := l.runs[run]
	if log == nil {
		log = &runLog[E]{}
		l.runs[run] = log
	}
	return log
}

// At returns the events of a step, in order.
func (l *Log[E]) At(run string, at Path) []E {
	if l == nil {
		return nil
	}
	return l.events[place{run, at}]
}

// Ended returns how a child run ended, if the run around it has taken note: with a
// finish always, with a stop only if the outer run did something afterwards. A
// failure that took the outer run down with it is what a second pass is to get over.
func (l *Log[E]) Ended(outer, child string, at Path) (end E, ok bool) {
	if l == nil {
		return end, false
	}
	log := l.runs[child]
	if log == nil || !log.hasEnd || log.endRole == Asked || log.endRole == Stopped && !l.Passed(outer, at) {
		return end, false
	}
	return log.end, true
}

// Asking returns the event with which a run ended to ask something.
func (l *Log[E]) Asking(run string) (end E, ok bool) {
	log := l.runs[run]
	if log == nil || !log.hasEnd || log.endRole != Asked {
		return end, false
	}
	return log.end, true
}

// Passed reports whether the log shows the run doing something after a step.
func (l *Log[E]) Passed(run string, at Path) bool {
	if l == nil {
		return false
	}
	log := l.runs[run]
	return log != nil && slices.ContainsFunc(log.steps, func(step Path) bool { return step.After(at) })
}

// End returns how a run ended, whatever came of it in the run around it.
func (l *Log[E]) End(run string) (end E, ok bool) {
	log := l.runs[run]
	if log == nil || !log.hasEnd {
		return end, false
	}
	return log.end, true
}

// Within returns the runs nested directly in a branch of a run, in the order in
// which they began.
func (l *Log[E]) Within(run string, branch Path) []string {
	if l == nil {
		return nil
	}
	return l.nested[place{run, branch}]
}
