package server

import (
	"container/list"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sse"
)

const (
	// largeFrame is the size from which an event is not held by a reader's own memory
	// while it is written, but in one that all its readers share.
	largeFrame = 64 << 10
	// mostInHand is how many bytes of events may be on their way to readers that read
	// what is stored. Beyond that, the reader which has taken in nothing for longest is
	// let go.
	mostInHand = 24 << 20
	// mostRecent is how many bytes of events are kept that no reader has in hand.
	mostRecent = 2 << 20
	// mostReading is how many readers are read from the store for at the same time.
	mostReading = 2
	// unmoved is how long a reader may take in nothing before it may be let go to make
	// room for others.
	unmoved = time.Second
)

// A frame is a stored event as it goes over the wire.
type frame struct {
	key  frameKey
	data []byte
	err  error
	made chan struct{} // closed once the above is there
	// readers have it in hand, and place is where it is kept if none has; guarded by the
	// frames.
	readers int
	place   *list.Element
	isLoose bool // what it shows is not stored, and is for one reader
}

type frameKey struct {
	session string
	seq     int64
}

// frames are made once however many read them.
type frames struct {
	reading chan struct{}

	mu     sync.Mutex
	all    map[frameKey]*frame
	recent *list.List // that nobody has in hand, the oldest first
	kept   int        // bytes of those
	inHand int        // bytes of the others
	// freed, where somebody waits for that, is closed when there is more room.
	freed chan struct{}
	// slow are the readers that large frames are being written to.
	slow map[*events]bool
	// encoded counts, for tests.
	encoded int
	// number is which version of a file an event tells of, 0 for none. It may be nil.
	number func(*troupe.Event) (int, error)
	// place is what a run that an event tells the beginning of plays in a flow. It may be nil.
	place func(*troupe.Event) (place, error)
}

func newFrames() *frames {
	return &frames{reading: make(chan struct{}, mostReading), all: map[frameKey]*frame{}, recent: list.New(), slow: map[*events]bool{}}
}

// of returns a stored event as a frame, which the caller gives back with drop.
func (f *frames) of(e *troupe.Event) (*frame, error) {
	key := frameKey{e.Session, e.Seq}
	f.mu.Lock()
	made := f.all[key]
	if made != nil {
		f.take(made)
		f.mu.Unlock()
		<-made.made
		if made.err != nil {
			f.drop(made)
		}
		return made, made.err
	}
	made = &frame{key: key, made: make(chan struct{}), readers: 1}
	f.all[key] = made
	f.encoded++
	f.mu.Unlock()
	made.data, made.err = f.encode(e)
	f.mu.Lock()
	f.inHand += len(made.data)
	f.mu.Unlock()
	close(made.made)
	if made.err != nil {
		f.drop(made)
	}
	return made, made.err
}

// encode makes a stored event what is sent to clients.
func (f *frames) encode(e *troupe.Event) ([]byte, error) {
	data, err := f.json(e)
	if err != nil {
		return nil, err
	}
	return framed(e, data)
}

// json is a stored event as clients see it.
func (f *frames) json(e *troupe.Event) ([]byte, error) {
	data, err := shown(*e).MarshalJSON()
	if err != nil {
		return nil, err
	}
	if f.number != nil {
		number, err := f.number(e)
		if err != nil {
			return nil, err
		}
		if number > 0 {
			data = inserted(data, "version", number)
		}
	}
	if f.place != nil {
		at, err := f.place(e)
		if err != nil {
			return nil, err
		}
		if at.node != "" {
			data = inserted(data, "node", at.node)
		}
		if at.round > 0 {
			data = inserted(data, "round", at.round)
		}
	}
	return explained(e, data), nil
}

// frameOf makes an event that is not stored what is sent to clients.
func frameOf(e *troupe.Event) ([]byte, error) {
	data, err := shown(*e).MarshalJSON()
	if err != nil {
		return nil, err
	}
	return framed(e, explained(e, data))
}

func framed(e *troupe.Event, data []byte) ([]byte, error) {
	var id []byte
	if e.Seq > 0 {
		id = strconv.AppendInt(nil, e.Seq, 10)
	}
	return sse.Append(make([]byte, 0, len(data)+40), sse.Event{ID: id, Data: data})
}

// loose is a frame of something that is not stored.
func (f *frames) loose(data []byte) *frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inHand += len(data)
	return &frame{data: data, isLoose: true, readers: 1}
}

// take has one more reader have a frame in hand; f.mu is held.
func (f *frames) take(made *frame) {
	made.readers++
	if made.place != nil {
		f.recent.Remove(made.place)
		made.place = nil
		f.kept -= len(made.data)
		f.inHand += len(made.data)
	}
}

// drop gives frames back.
func (f *frames) drop(made ...*frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range made {
		if m.readers--; m.readers == 0 {
			f.putAway(m)
		}
	}
}

// putAway keeps a frame for a while that nobody has in hand any more; f.mu is held.
func (f *frames) putAway(made *frame) {
	f.inHand -= len(made.data)
	if f.freed != nil {
		close(f.freed)
		f.freed = nil
	}
	if made.isLoose {
		return
	}
	if made.err != nil || len(made.data) > mostRecent/4 {
		delete(f.all, made.key)
		return
	}
	made.place = f.recent.PushBack(made)
	f.kept += len(made.data)
	for f.kept > mostRecent {
		f.throwAway(f.recent.Front())
	}
}

func (f *frames) throwAway(place *list.Element) {
	made := f.recent.Remove(place).(*frame)
	f.kept -= len(made.data)
	delete(f.all, made.key)
}

// forget drops what is kept of a session that was deleted: another may get its id.
func (f *frames) forget(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for place := f.recent.Front(); place != nil; {
		next := place.Next()
		if place.Value.(*frame).key.session == session {
			f.throwAway(place)
		}
		place = next
	}
}

// mayRead waits until there is room to read more from the store, and returns what is to
// be called when that is done.
func (f *frames) mayRead(ctx context.Context) (func(), error) {
	for {
		f.mu.Lock()
		isFull := f.inHand > mostInHand
		if isFull {
			f.letGo()
			if f.freed == nil {
				f.freed = make(chan struct{})
			}
		}
		freed := f.freed
		f.mu.Unlock()
		if !isFull {
			break
		}
		retry := time.NewTimer(unmoved / 4)
		select {
		case <-freed:
		case <-retry.C:
		case <-ctx.Done():
		}
		retry.Stop()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	select {
	case f.reading <- struct{}{}:
		return func() { <-f.reading }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// letGo ends the reader that has taken in nothing for longest; f.mu is held. It comes
// back when it can read again, with the number of the last event that it saw.
func (f *frames) letGo() {
	var slowest *events
	for e := range f.slow {
		if slowest == nil || e.moved.Load() < slowest.moved.Load() {
			slowest = e
		}
	}
	if slowest != nil && time.Since(time.Unix(0, slowest.moved.Load())) > unmoved {
		delete(f.slow, slowest)
		slowest.cut()
	}
}

// write sends a frame to a reader and gives it back.
func (f *frames) write(out *events, made *frame) error {
	defer f.drop(made)
	if len(made.data) < largeFrame {
		return out.sendRaw(made.data)
	}
	out.moved.Store(time.Now().UnixNano())
	f.mu.Lock()
	f.slow[out] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.slow, out)
	}()
	return out.sendRaw(made.data)
}
