package troupe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// A feed numbers, stores and delivers the events of one session. It stores before
// it shows.
type feed struct {
	session string
	store   Store

	mu  sync.Mutex
	seq int64 // of the last stored event
	// epoch is that of the lease on the session, 0 without one; mirrored says that
	// somebody else wrote to the session since this engine last did.
	epoch    int64
	mirrored bool
	// recent holds the latest stored events, in the batches they came in, for
	// readers that keep up. Those that do not read the store.
	recent  [][]Event
	readers []*reader
	replies []*reply
	spare   *reply // that is whole, for the next one
	// contents holds the first context_loaded event of each hash.
	contents []*ContextLoaded
	// broken is set once storing failed: nothing is acknowledged after that.
	broken error

	// Most sessions have one reader, one reply at a time and one system prompt.
	readerRoom  [1]*reader
	replyRoom   [1]*reply
	contentRoom [1]*ContextLoaded
}

// prepare makes the feed ready for use.
func (f *feed) prepare(session string, store Store) {
	f.session, f.store = session, store
	f.readers, f.replies, f.contents = f.readerRoom[:0], f.replyRoom[:0], f.contentRoom[:0]
}

// maxRecent is how many batches wait for readers before those have to read the store.
const maxRecent = 512

// publish numbers events, stores them and shows them to every reader. It keeps
// the slice.
func (f *feed) publish(events []Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.append(events)
}

// publishOwned is publish, unless nobody has the session for writing here.
func (f *feed) publishOwned(events []Event) (published bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.epoch == 0 {
		return false, nil
	}
	return true, f.append(events)
}

// publishAfter is publish, unless the event numbered last is not the last one any more.
func (f *feed) publishAfter(last int64, events []Event) (published bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seq != last {
		return false, nil
	}
	return true, f.append(events)
}

// append is publish; f.mu is held.
func (f *feed) append(events []Event) error {
	if f.broken != nil {
		return f.broken
	}
	for i := range events {
		events[i].Seq, events[i].Epoch = f.seq+1+int64(i), f.epoch
		f.dedupe(&events[i])
	}
	failpoint.Here(failpoint.FeedBeforeAppend)
	// What has happened is recorded even if the run was cancelled meanwhile.
	if err := f.store.Append(context.Background(), f.session, events...); err != nil {
		f.broken = fmt.Errorf("session %s: store: %w", f.session, err)
		return f.broken
	}
	failpoint.Here(failpoint.FeedAfterAppend)
	f.seq += int64(len(events))
	if len(f.recent) == maxRecent {
		f.recent = slices.Clone(f.recent[maxRecent/2:])
	}
	if f.recent == nil {
		f.recent = make([][]Event, 0, 4)
	}
	f.recent = append(f.recent, events)
	for i := range events {
		if _, ok := events[i].Body.(*ModelReplied); ok {
			f.forget(events[i].Run, events[i].Step)
		}
	}
	f.wake()
	return nil
}

// dedupe stores a content once per session.
func (f *feed) dedupe(e *Event) {
	loaded, ok := e.Body.(*ContextLoaded)
	if !ok {
		return
	}
	if f.known(loaded.SHA256) == nil {
		f.contents = append(f.contents, loaded)
		return
	}
	short := *loaded
	short.Content = ""
	e.Body = &short
}

func (f *feed) known(sha string) *ContextLoaded {
	for _, loaded := range f.contents {
		if loaded.SHA256 == sha {
			return loaded
		}
	}
	return nil
}

// restored returns what the log says was loaded, with the content that an earlier
// event carried.
func (f *feed) restored(loaded *ContextLoaded) *ContextLoaded {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.known(loaded.SHA256)
	if known == nil {
		f.contents = append(f.contents, loaded)
		return loaded
	}
	full := *loaded
	full.Content = known.Content
	return &full
}

// last is the number of the last stored event.
func (f *feed) last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq
}

// seek sets where the log ends.
func (f *feed) seek(seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq = max(f.seq, seq)
}

// rest gives up what only readers of a run under way need.
func (f *feed) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent, f.replies, f.spare = nil, f.replyRoom[:0], nil
}

func (f *feed) isBroken() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken != nil
}

func (f *feed) wake() {
	for _, r := range f.readers {
		select {
		case r.signal <- struct{}{}:
		default:
		}
	}
}

// A reply is a model's answer in the making.
type reply struct {
	run, parent, step, agent string
	attempt                  int
	text, thought            strings.Builder // guarded by the feed
	began, grown             time.Time       // when the first of it came, and the last
	before                   growth          // how much there was before the last

	// What follows belongs to whoever makes the reply.
	feed    *feed
	ctx     context.Context
	front   *reader // of the goroutine that makes it
	started time.Time
	replied *ModelReplied // with its message: what is left in the end
	err     error
	cost    *float64 // what the provider says it cost
	// unpriced says that nobody knows what it cost.
	unpriced, ended bool
}

// A growth is how much there is of a reply, in bytes.
type growth struct{ text, thought int }

// newReply returns room for an answer.
func (f *feed) newReply() *reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.spare
	f.spare = nil
	if p == nil {
		p = &reply{}
	}
	made := &struct {
		ModelReplied
		Message
	}{}
	made.ModelReplied.Message = &made.Message
	p.feed, p.replied, p.started = f, &made.ModelReplied, time.Now()
	return p
}

// openReply shows an answer to readers while it grows, until it is stored or dropped.
func (f *feed) openReply(p *reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replies = append(f.replies, p)
}

// grow adds to a reply.
func (f *feed) grow(p *reply, text, thought string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.grow(time.Now(), text, thought)
	f.wake()
}

// grow adds what came at a time.
func (p *reply) grow(at time.Time, text, thought string) {
	if p.began.IsZero() {
		p.began = at
	}
	p.grown, p.before = at, growth{p.text.Len(), p.thought.Len()}
	p.text.WriteString(text)
	p.thought.WriteString(thought)
}

// recast makes a thought of the text so far: readers drop what they were shown of it,
// because the attempt changes.
func (f *feed) recast(p *reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.thought.WriteString(strings.TrimRight(p.text.String(), " \t\r\n"))
	p.text.Reset()
	p.before = growth{thought: p.thought.Len()}
	if !p.replied.Recast {
		p.replied.Recast, p.attempt = true, -p.attempt
	}
	f.wake()
}

// dropReply forgets a reply that broke off. Nobody uses it after that.
func (f *feed) dropReply(p *reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(p.run, p.step)
}

func (f *feed) forget(run, step string) {
	f.replies = slices.DeleteFunc(f.replies, func(p *reply) bool {
		if p.run != run || p.step != step {
			return false
		}
		*p = reply{}
		f.spare = p
		return true
	})
}
