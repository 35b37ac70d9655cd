package troupe

import (
	"context"
	"slices"
	"sort"
	"sync/atomic"
	"time"
)

// A reader follows a feed. It never slows the feed: one that falls behind gets
// deltas joined together and stored events from the store.
type reader struct {
	feed   *feed
	signal chan struct{} // has room for one; says that there is something to read
	joined int64         // seq of the last event when the reader came
	seen   int64         // seq of the last stored event it was given
	shown  []shown
	deltas []Event
	bodies []TextDelta // room for those to come: answers come in many small pieces
	pieces int

	// yield, where set, is the loop of whoever ranges over the run: it is called in
	// the run's own goroutine. leave is called when the loop ends.
	yield func(Event, error) bool
	leave func()
	loop  atomic.Int64 // how often the loop's body has been entered and left
	left  bool
	crash *loopCrash
}

// A loopCrash is a panic in the loop that ranges over a run.
type loopCrash struct{ value any }

// show has the loop see what there is to see, if there is a loop in this goroutine.
func (r *reader) show() {
	if r == nil || r.left {
		return
	}
	returned := false
	r.loop.Add(1)
	defer func() {
		r.loop.Add(1)
		if returned {
			return
		}
		r.left = true
		if value := recover(); value != nil { // it goes on once the run has ended
			r.crash = &loopCrash{value}
		}
		r.leave()
	}()
	// The last events are read even if the run was told to stop.
	goesOn := r.pass(context.Background(), r.yield)
	returned = true
	if !goesOn {
		r.left = true
		r.leave()
	}
}

// showUntil shows what other goroutines publish until done is closed.
func (r *reader) showUntil(done <-chan struct{}) {
	for r != nil {
		select {
		case <-done:
			r.show()
			return
		case <-r.signal:
			r.show()
		}
	}
	<-done
}

// enter takes a place in room, showing what other goroutines publish meanwhile.
func (r *reader) enter(room chan<- struct{}) {
	for r != nil {
		select {
		case room <- struct{}{}:
			return
		case <-r.signal:
			r.show()
		}
	}
	room <- struct{}{}
}

// wakes says when there is something to show: never, where there is no loop.
func (r *reader) wakes() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.signal
}

// shown is how much of a reply in progress a reader was given.
type shown struct {
	run, step     string
	attempt       int
	text, thought int
	// isStored says that the reply is on record. Of one that another process makes more may
	// be seen for a moment: what it shows of itself lags behind the log.
	isStored bool
}

// maxStored is how many replies that are on record a reader knows of.
const maxStored = 64

// follow adds r as a reader of everything after the event numbered after.
func (f *feed) follow(r *reader, after int64) {
	r.feed, r.signal, r.seen = f, make(chan struct{}, 1), after
	f.mu.Lock()
	defer f.mu.Unlock()
	r.joined = f.seq
	f.readers = append(f.readers, r)
	if after < f.seq || len(f.replies) > 0 {
		r.signal <- struct{}{}
	}
}

func (r *reader) unfollow() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.feed.readers = slices.DeleteFunc(r.feed.readers, func(other *reader) bool { return other == r })
}

// pass yields what there is to read and reports whether to go on: first stored
// events, then what replies in progress have grown by.
func (r *reader) pass(ctx context.Context, yield func(Event, error) bool) bool {
	batches, to, inStore := r.news()
	if inStore {
		return r.passStored(ctx, to, yield) && r.passDeltas(yield)
	}
	for _, batch := range batches {
		for i := range batch {
			if !r.give(&batch[i], yield) {
				return false
			}
		}
	}
	return r.passDeltas(yield)
}

// news returns the batches with events that r has not seen, up to number to. If
// they are no longer at hand they are in the store.
func (r *reader) news() (batches [][]Event, to int64, inStore bool) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.seen >= f.seq {
		return nil, f.seq, false
	}
	if len(f.recent) == 0 || f.recent[0][0].Seq > r.seen+1 {
		return nil, f.seq, true
	}
	first := sort.Search(len(f.recent), func(i int) bool {
		batch := f.recent[i]
		return batch[len(batch)-1].Seq > r.seen
	})
	return f.recent[first:], f.seq, false
}

func (r *reader) passStored(ctx context.Context, to int64, yield func(Event, error) bool) bool {
	for e, err := range r.feed.store.Events(ctx, r.feed.session, r.seen) {
		if err != nil {
			yield(Event{}, err)
			return false
		}
		if e.Seq > to {
			break
		}
		if !r.give(&e, yield) {
			return false
		}
	}
	return true
}

// give yields a stored event, after what is left to show of the reply it completes.
func (r *reader) give(e *Event, yield func(Event, error) bool) bool {
	if e.Seq <= r.seen {
		return true
	}
	if replied, ok := e.Body.(*ModelReplied); ok && replied.Purpose == "" && !r.finish(e, replied, yield) {
		return false
	}
	r.seen = e.Seq
	shown := *e
	shown.Epoch = 0
	return yield(shown, nil)
}

// finish shows the rest of a reply. Of one that was over before the reader came,
// and of which it has seen nothing, it shows nothing.
func (r *reader) finish(e *Event, replied *ModelReplied, yield func(Event, error) bool) bool {
	s, isKnown := r.store(e)
	if !isKnown && e.Seq <= r.joined {
		return true
	}
	attempt := replied.ShownAs()
	if s.attempt != attempt {
		s.text, s.thought = 0, 0
	}
	delta := *e
	delta.Seq = 0
	if rest := replied.Message.Thought[min(s.thought, len(replied.Message.Thought)):]; rest != "" {
		if delta.Body = (&ThoughtDelta{rest, attempt}); !yield(delta, nil) {
			return false
		}
	}
	if rest := replied.Message.Text[min(s.text, len(replied.Message.Text)):]; rest != "" {
		if delta.Body = r.textDelta(rest, attempt); !yield(delta, nil) {
			return false
		}
	}
	return true
}

// store takes note that a reply is on record, and returns what was shown of it, if
// anything was. Where the replies are made here, what is stored is not in progress.
func (r *reader) store(e *Event) (s shown, isKnown bool) {
	i := slices.IndexFunc(r.shown, func(s shown) bool { return s.run == e.Run && s.step == e.Step && !s.isStored })
	if i >= 0 {
		s, isKnown = r.shown[i], true
		r.shown = slices.Delete(r.shown, i, i+1)
	}
	if r.feed.isOwned() {
		return s, isKnown
	}
	r.shown = append(r.shown, shown{run: e.Run, step: e.Step, isStored: true})
	if len(r.shown) > maxStored {
		if i := slices.IndexFunc(r.shown, func(s shown) bool { return s.isStored }); i >= 0 {
			r.shown = slices.Delete(r.shown, i, i+1)
		}
	}
	return s, isKnown
}

// passDeltas yields what replies in progress have grown by, as at most one delta
// of each kind for each, or two where the reader has seen nothing of it.
func (r *reader) passDeltas(yield func(Event, error) bool) bool {
	r.deltas = r.deltas[:0]
	r.feed.mu.Lock()
	for _, p := range r.feed.replies {
		r.takeGrowth(p)
	}
	r.feed.mu.Unlock()
	for i := range r.deltas {
		if !yield(r.deltas[i], nil) {
			return false
		}
	}
	return true
}

func (r *reader) takeGrowth(p *reply) {
	text, thought := p.text.String(), p.thought.String()
	if text == "" && thought == "" {
		return
	}
	i := slices.IndexFunc(r.shown, func(s shown) bool { return s.run == p.run && s.step == p.step })
	if i < 0 {
		i = len(r.shown)
		r.shown = append(r.shown, shown{run: p.run, step: p.step})
	}
	s := &r.shown[i]
	if s.isStored {
		return
	}
	if s.attempt != p.attempt {
		s.attempt, s.text, s.thought = p.attempt, 0, 0
	}
	// Who comes late sees when it began, and when the last of it came.
	if s.text == 0 && s.thought == 0 && p.grown.Sub(p.began) >= time.Second {
		r.showUpTo(p, s, p.before, p.began)
	}
	r.showUpTo(p, s, growth{len(text), len(thought)}, p.grown)
}

// showUpTo makes deltas of what a reply has so far and the reader has not seen.
func (r *reader) showUpTo(p *reply, s *shown, so growth, at time.Time) {
	if s.thought < so.thought {
		r.deltas = append(r.deltas, r.delta(p, at, &ThoughtDelta{p.thought.String()[s.thought:so.thought], p.attempt}))
		s.thought = so.thought
	}
	if s.text < so.text {
		r.deltas = append(r.deltas, r.delta(p, at, r.textDelta(p.text.String()[s.text:so.text], p.attempt)))
		s.text = so.text
	}
}

// maxBodies is how many bodies of deltas are made at once.
const maxBodies = 16

func (r *reader) textDelta(text string, attempt int) *TextDelta {
	if len(r.bodies) == 0 {
		r.bodies = make([]TextDelta, min(r.pieces+1, maxBodies))
	}
	r.pieces++
	body := &r.bodies[0]
	r.bodies = r.bodies[1:]
	body.Text, body.Attempt = text, attempt
	return body
}

func (r *reader) delta(p *reply, at time.Time, body Body) Event {
	return Event{
		Time: at.Round(0).UTC(), Session: r.feed.session, Run: p.run, Parent: p.parent,
		Step: p.step, Agent: p.agent, Body: body,
	}
}
