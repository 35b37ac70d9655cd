package troupe

import (
	"context"
	"slices"

	"github.com/troupe-dev/troupe/internal/journal"
)

// answeredMeanwhile waits, in a branch whose step has asked something, for the answer, until the
// other branches have come to an end or ask something as well. With an answer it returns the
// run in which the step is gone over once more, now and not when they are done; else nil.
func (r *Run) answeredMeanwhile(ctx context.Context, child *Run, step Step) (*Run, error) {
	g := r.group
	if g == nil || g.run != r.id || g.at.Branch(r.member) != r.prefix || child.conversation != "" {
		return nil, nil
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	if !r.exec.early.await(ctx, g, child.id) {
		return nil, nil
	}
	log := &growingLog{}
	if err := log.readOn(context.WithoutCancel(ctx), r.exec.feed); err != nil {
		return nil, err
	}
	if log.converses(child.id) {
		r.exec.early.putBack(child.id)
		return nil, nil
	}
	r.budget.takeBack(child.budget)
	r.exec.forgetAsked(child.id)
	_, at, _ := journal.Outer(child.id)
	again := r.child(at, step, "")
	again.log, again.stops = newJournal(log.events), stopsIn(log.events)
	return again, nil
}

// converses reports whether steps in a run go on with conversations of their own: these have
// changed since, and are as they were only where the whole run is gone over again.
func (p *past) converses(run string) bool {
	return slices.ContainsFunc(p.events, func(e Event) bool {
		started, ok := e.Body.(*RunStarted)
		return ok && started.Conversation != "" && journal.Belongs(e.Run, run)
	})
}

// A waitingStep is the run of a step that has asked something, in a branch of a group.
type waitingStep struct {
	run      string
	group    *branchGroup
	answered chan struct{} // closed when it is
}

// await waits for an answer to what a step in a branch has asked, and reports whether it came
// while others of the group are at work.
func (a *earlyAnswers) await(ctx context.Context, g *branchGroup, run string) bool {
	step := &waitingStep{run, g, make(chan struct{})}
	if a.waitsFor(step) {
		return true
	}
	<-g.room // another branch may begin meanwhile
	select {
	case <-step.answered:
	case <-g.idle:
	case <-ctx.Done():
	}
	g.room <- struct{}{}
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := slices.Index(a.waiting, step); at >= 0 {
		a.goesOn(at)
		return false
	}
	select {
	case <-step.answered:
		return true
	default:
		return false
	}
}

// waitsFor has a step wait for an answer, unless that is there, which it reports.
func (a *earlyAnswers) waitsFor(step *waitingStep) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.fresh)
	a.fresh = slices.DeleteFunc(a.fresh, func(answered string) bool { return journal.Belongs(answered, step.run) })
	if len(a.fresh) < before {
		return true
	}
	a.waiting = append(a.waiting, step)
	a.rests(step.group)
	return false
}

// came takes note of an answer to a question of a run. The answers are locked.
func (a *earlyAnswers) came(run string) {
	a.any = true
	at := slices.IndexFunc(a.waiting, func(step *waitingStep) bool { return journal.Belongs(run, step.run) })
	if at < 0 {
		a.fresh = append(a.fresh, run)
		return
	}
	close(a.waiting[at].answered)
	a.goesOn(at)
}

// putBack has an answer be used once all others are done.
func (a *earlyAnswers) putBack(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = append(a.fresh, run)
}

// goesOn has a step wait no longer.
func (a *earlyAnswers) goesOn(at int) {
	a.waiting[at].group.working++
	a.waiting = slices.Delete(a.waiting, at, at+1)
}

// rests takes note that one branch less of a group is at work. Where none is, no step of the
// group waits any longer: the question is what comes of it.
func (a *earlyAnswers) rests(g *branchGroup) {
	if g.working == 0 {
		return
	}
	if g.working--; g.working == 0 {
		a.waiting = slices.DeleteFunc(a.waiting, func(step *waitingStep) bool { return step.group == g })
		close(g.idle)
	}
}

// returned takes note that a branch of a group has.
func (a *earlyAnswers) returned(g *branchGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rests(g)
}
