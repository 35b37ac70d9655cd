package server

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// A following is one reader's way through a session: what is stored first, read page by
// page so that a reader which takes its time holds on to little, and then what happens.
type following struct {
	*Server
	out     *events
	session string
	after   int64
	// told is how much of replies in progress the reader has seen, and given how much of
	// them it was given since it last began to follow what happens, by run and step.
	told, given map[replyKey]growth
}

type replyKey struct{ run, step string }

// growth is how much there is of a reply, in bytes, and when the reader was last sent
// some of it.
type growth struct {
	attempt, text, thought int
	at                     time.Time
}

// atOnce is how far apart pieces of one reply are at least. What a model sends in between
// goes with the next piece: nobody reads faster, and each piece costs a reader a write.
const atOnce = 15 * time.Millisecond

// follow sends a session's events after a number until ctx is done. last is the number
// of the last one that is known to be stored.
func (s *Server) follow(ctx context.Context, out *events, session string, after, last int64) error {
	f := &following{Server: s, out: out, session: session, after: after, told: map[replyKey]growth{}}
	for {
		if f.after < last {
			if err := f.catchUp(ctx); err != nil {
				return err
			}
		}
		large, isBehind, err := f.goAlong(ctx)
		if large != nil {
			err = s.frames.write(out, large)
		}
		if err != nil || !isBehind {
			return err
		}
		last = f.after + 1 // there may be more by now
	}
}

// catchUp sends what is stored.
func (f *following) catchUp(ctx context.Context) error {
	for {
		page, err := f.readPage(ctx)
		if err != nil || len(page) == 0 {
			return err
		}
		for i, made := range page {
			if err := f.frames.write(f.out, made); err != nil {
				f.frames.drop(page[i+1:]...)
				return err
			}
		}
	}
}

// readPage reads the next few events from the store.
func (f *following) readPage(ctx context.Context) (page []*frame, err error) {
	done, err := f.frames.mayRead(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	defer func() {
		if err != nil {
			f.frames.drop(page...)
		}
	}()
	size := 0
	for e, err := range f.config.Store.Events(ctx, f.session, f.after) {
		if err != nil {
			return page, err
		}
		for _, rest := range f.restOf(&e) {
			for _, part := range parted(&rest) {
				data, err := frameOf(&part)
				if err != nil {
					return page, err
				}
				page = append(page, f.frames.loose(data))
			}
		}
		made, err := f.frames.of(&e)
		if err != nil {
			return page, err
		}
		page, f.after = append(page, made), e.Seq
		if size += len(made.data); size >= largeFrame {
			break
		}
	}
	return page, nil
}

// goAlong sends what happens as it happens, until the reader falls behind: what it has
// missed is then read from the store. An event that is large it returns, to be written
// when nothing else holds on to it.
func (f *following) goAlong(ctx context.Context) (large *frame, isBehind bool, err error) {
	f.given = map[replyKey]growth{}
	for e, err := range f.config.Engine.Tail(ctx, f.session, f.after) {
		if err != nil {
			return nil, false, err
		}
		began := time.Now()
		if e.Seq == 0 {
			err = f.sendDelta(ctx, &e)
		} else if large, err = f.sendStored(&e); large != nil {
			return large, true, nil
		}
		if err != nil || time.Since(began) > behind {
			return nil, err == nil, err
		}
	}
	return nil, false, nil
}

// behind is how long it may take a reader to take in an event that is not large, before
// what it has missed is read from the store.
const behind = 250 * time.Millisecond

// sendStored sends an event, unless it is large: then it returns it. What the reader has
// not seen of a reply goes before it: the reply may have become whole while the reader
// was catching up, and whoever follows only then is shown nothing of it.
func (f *following) sendStored(e *troupe.Event) (large *frame, err error) {
	for _, rest := range f.restOf(e) {
		if err := f.sendParts(&rest); err != nil {
			return nil, err
		}
	}
	made, err := f.frames.of(e)
	if err != nil {
		return nil, err
	}
	f.after = e.Seq
	if len(made.data) >= largeFrame {
		return made, nil
	}
	return nil, f.frames.write(f.out, made)
}

// sendDelta sends what is new in a delta, in pieces that a slow reader may hold on to.
func (f *following) sendDelta(ctx context.Context, e *troupe.Event) error {
	if !f.isNew(e) {
		return nil
	}
	key := replyKey{e.Run, e.Step}
	if told, ok := f.told[key]; ok {
		if early := atOnce - time.Since(told.at); early > 0 {
			pause(ctx, early)
		}
		told.at = time.Now()
		f.told[key] = told
	}
	return f.sendParts(e)
}

func (f *following) sendParts(e *troupe.Event) error {
	for _, part := range parted(e) {
		if err := f.out.sendEvent(&part); err != nil {
			return err
		}
	}
	return nil
}

// largeDelta is the most bytes of text in one delta.
const largeDelta = 16 << 10

// parted makes several deltas of a large one.
func parted(e *troupe.Event) []troupe.Event {
	var text string
	var body func(string) troupe.Body
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		text, body = b.Text, func(part string) troupe.Body { return &troupe.TextDelta{Text: part, Attempt: b.Attempt} }
	case *troupe.ThoughtDelta:
		text, body = b.Text, func(part string) troupe.Body { return &troupe.ThoughtDelta{Text: part, Attempt: b.Attempt} }
	}
	if len(text) <= largeDelta {
		return []troupe.Event{*e}
	}
	var parts []troupe.Event
	for len(text) > 0 {
		end := min(largeDelta, len(text))
		for end < len(text) && end > 1 && !utf8.RuneStart(text[end]) {
			end--
		}
		part := *e
		part.Body = body(text[:end])
		parts, text = append(parts, part), text[end:]
	}
	return parts
}

// isNew says whether there is something in a delta that the reader has not seen, and
// leaves only that in it.
func (f *following) isNew(e *troupe.Event) bool {
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		seen, isNew := f.take(e, b.Attempt, len(b.Text), func(g *growth) *int { return &g.text })
		if isNew && seen > 0 {
			e.Body = &troupe.TextDelta{Text: b.Text[seen:], Attempt: b.Attempt}
		}
		return isNew
	case *troupe.ThoughtDelta:
		seen, isNew := f.take(e, b.Attempt, len(b.Text), func(g *growth) *int { return &g.thought })
		if isNew && seen > 0 {
			e.Body = &troupe.ThoughtDelta{Text: b.Text[seen:], Attempt: b.Attempt}
		}
		return isNew
	}
	return true
}

// take notes that a delta of so many bytes was given, of the text or of the thought, and
// returns how many of them the reader has seen and whether there are more.
func (f *following) take(e *troupe.Event, attempt, size int, of func(*growth) *int) (seen int, isNew bool) {
	key := replyKey{e.Run, e.Step}
	g, t := f.both(key, attempt)
	given, told := of(&g), of(&t)
	seen = max(*told-*given, 0)
	*given += size
	f.given[key] = g
	if isNew = *given > *told; isNew {
		*told = *given
		f.told[key] = t
	}
	return seen, isNew
}

// both returns how much of an attempt at a reply was given and told.
func (f *following) both(key replyKey, attempt int) (given, told growth) {
	given, told = f.given[key], f.told[key]
	if given.attempt != attempt {
		given = growth{attempt: attempt}
	}
	if told.attempt != attempt {
		told = growth{attempt: attempt}
	}
	return given, told
}

// restOf returns what the reader has not seen of a reply that it has begun to see and
// that is now whole.
func (f *following) restOf(e *troupe.Event) (rest []troupe.Event) {
	replied, ok := e.Body.(*troupe.ModelReplied)
	told, isBegun := f.told[replyKey{e.Run, e.Step}]
	f.forget(e)
	if !ok || !isBegun || replied.Purpose != "" {
		return nil
	}
	attempt := replied.ShownAs()
	if told.attempt != attempt {
		told = growth{}
	}
	delta := *e
	delta.Seq = 0
	if text := replied.Message.Thought; told.thought < len(text) {
		delta.Body = &troupe.ThoughtDelta{Text: text[told.thought:], Attempt: attempt}
		rest = append(rest, delta)
	}
	if text := replied.Message.Text; told.text < len(text) {
		delta.Body = &troupe.TextDelta{Text: text[told.text:], Attempt: attempt}
		rest = append(rest, delta)
	}
	return rest
}

// forget drops what is known of a reply that is whole, and of all when the run is over.
func (f *following) forget(e *troupe.Event) {
	if _, ok := e.Body.(*troupe.ModelReplied); ok {
		delete(f.told, replyKey{e.Run, e.Step})
		delete(f.given, replyKey{e.Run, e.Step})
	} else if e.Parent == "" && isEnd(e.Body) {
		clear(f.told)
		clear(f.given)
	}
}
