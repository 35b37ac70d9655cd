package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sse"
)

const (
	// heartbeat is how often a stream shows that it is alive.
	heartbeat = 15 * time.Second
	// stalled is how long a reader may take to take in one event.
	stalled = 10 * time.Second
)

// followEvents sends a session's events, those after a number first, and then all
// that are to come. What is stored has its number as id, so that a reader which
// comes back goes on after the last one it saw.
func (s *Server) followEvents(c *call) error {
	if c.r.URL.Query().Has("before") {
		page, err := s.pageOfEvents(c)
		if err != nil {
			return err
		}
		return page.write(c.w)
	}
	feed, err := s.eventsFor(c)
	if err != nil {
		return err
	}
	if c.r.URL.Query().Has("all") {
		standings, deaf := s.standings(c)
		defer deaf()
		feed = together(feed, standings)
	}
	return s.stream(c, ready(feed))
}

// eventsFor returns what sends the events that were asked for. It is on its own because those
// who follow a session wait for most of their time, thousands of them: what was needed to
// find it is not on their stacks.
func (s *Server) eventsFor(c *call) (feed, error) {
	after, err := c.number("after", 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	if last, err := strconv.ParseInt(c.r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = last
	}
	info, d, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	session, last := info.ID, info.Events
	return func(ctx context.Context, out *events) error {
		if d != nil && !s.awaitBeginning(ctx, d) {
			return nil
		}
		return s.follow(ctx, out, session, after, last)
	}, nil
}

// beginningPause is how often somebody who waits for a session to begin looks whether
// another server has begun it.
const beginningPause = 100 * time.Millisecond

// awaitBeginning waits until something is said in a session that was only made so far. It
// reports false if ctx is done before.
func (s *Server) awaitBeginning(ctx context.Context, d *draft) bool {
	var looks <-chan time.Time
	if s.config.Shelf != nil {
		ticks := time.NewTicker(beginningPause)
		defer ticks.Stop()
		looks = ticks.C
	}
	for {
		select {
		case <-d.over:
			return true
		case <-looks:
			for range s.config.Store.Sessions(ctx, troupe.SessionFilter{ID: d.info.ID}) {
				return ctx.Err() == nil
			}
		case <-ctx.Done():
			return false
		}
	}
}

const (
	usualEvents = 200
	mostEvents  = 5000
)

// An eventPage is a stretch of a session's events.
type eventPage struct {
	Events []json.RawMessage `json:"events"`
	// Last is the number of the session's last event.
	Last int64 `json:"last"`
}

// write sends the page with each event on a line of its own, as it was encoded: whoever
// wants numbers as they were written reads line by line.
func (p *eventPage) write(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString("{\"events\":[\n")
	for i, data := range p.Events {
		if i > 0 {
			out.WriteString(",\n")
		}
		out.Write(data)
	}
	fmt.Fprintf(out, "\n],\"last\":%d}\n", p.Last)
	return out.Flush()
}

// pageOfEvents returns the events before a number, or the last ones: as many as are
// asked for and as are not too much for one answer.
func (s *Server) pageOfEvents(c *call) (eventPage, error) {
	page := eventPage{Events: []json.RawMessage{}}
	info, d, err := s.find(c, c.r.PathValue("id"))
	if err != nil || d != nil {
		return page, err
	}
	page.Last = info.Events
	before, err := c.number("before", info.Events+1, math.MaxInt64)
	if err != nil {
		return page, err
	}
	limit, err := c.number("limit", usualEvents, mostEvents)
	if err != nil {
		return page, err
	}
	first := max(min(before, info.Events+1)-limit, 1)
	// From the end, a few at a time: how large they are is known when they are read.
	size := 0
	for before = min(before, info.Events+1); before > first && size < mostAnswer; {
		from := max(before-stretch, first)
		read, err := s.readEvents(c.r.Context(), info.ID, from, before)
		if err != nil {
			return page, err
		}
		fits := len(read)
		for fits > 0 && (size == 0 || size+len(read[fits-1]) <= mostAnswer) {
			fits--
			size += len(read[fits])
		}
		page.Events = append(read[fits:], page.Events...)
		if fits > 0 {
			break
		}
		before = from
	}
	return page, nil
}

const (
	// mostAnswer is how many bytes an answer that is a list may have, or its first item.
	mostAnswer = 4 << 20
	// stretch is how many events are read at a time.
	stretch = 100
)

// readEvents returns the events from a number to before another, as clients see them.
func (s *Server) readEvents(ctx context.Context, session string, from, before int64) (read []json.RawMessage, err error) {
	done, err := s.frames.mayRead(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	for e, err := range s.config.Store.Events(ctx, session, from-1) {
		if err != nil {
			return nil, err
		}
		if e.Seq >= before {
			break
		}
		data, err := s.frames.json(&e)
		if err != nil {
			return nil, err
		}
		read = append(read, data)
	}
	return read, nil
}

// events are what one reader is sent.
type events struct {
	mu      sync.Mutex
	out     *sse.Writer
	raw     io.Writer
	control *http.ResponseController
	// moved is when the reader last took something in, in nanoseconds, and cut ends it.
	moved atomic.Int64
	cut   func()
	isCut atomic.Bool
}

// A feed sends events until there are no more.
type feed func(ctx context.Context, out *events) error

// together sends what two feeds send, until one of them has no more.
func together(one, other feed) feed {
	return func(ctx context.Context, out *events) (err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var first sync.Once // the other ends because this one has
		var group sync.WaitGroup
		group.Go(func() {
			defer cancel()
			ended := other(ctx, out)
			first.Do(func() { err = ended })
		})
		ended := one(ctx, out)
		first.Do(func() { err = ended })
		cancel()
		group.Wait()
		return err
	}
}

func ready(f feed) func() (feed, error) { return func() (feed, error) { return f, nil } }

// stream answers a request with events: once there is room for another reader, and
// what is to be read has begun. The feed's context is done when the reader has left,
// takes nothing in any more, or the server stops.
func (s *Server) stream(c *call, begin func() (feed, error)) error {
	ctx, leave, err := s.readers.enter(c.r.Context(), c.user)
	if err != nil {
		return err
	}
	defer leave()
	feed, err := begin()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	control := http.NewResponseController(c.w)
	out := &events{out: sse.NewWriter(c.w, control.Flush), raw: c.w, control: control}
	out.cut = func() {
		out.isCut.Store(true)
		cancel()
		control.SetWriteDeadline(time.Now()) // what is being written ends at once
	}
	defer control.SetWriteDeadline(time.Time{}) // the connection may serve another request
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("X-Accel-Buffering", "no")
	defer cancel()
	if err := out.beat(); err != nil || c.r.Method == http.MethodHead {
		return nil
	}
	defer regularly(heartbeat, func() bool {
		isThere := out.beat() == nil
		if !isThere {
			cancel()
		}
		return isThere
	})()
	if err = feed(ctx, out); ctx.Err() != nil || errors.Is(err, errReaderLost) {
		return nil
	}
	return err
}

// errReaderLost reports a reader that has left, or takes nothing in.
var errReaderLost = errors.New("the reader is lost")

// regularly calls do after each pause until it returns false, or stop is called, which waits
// for a call that is under way. There is no goroutine of its own: readers wait for most of
// their time, many of them.
func regularly(pause time.Duration, do func() bool) (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(pause, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped && do() {
			timer.Reset(pause)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

func (e *events) beat() error {
	return e.write(func() error { return e.out.Comment("") })
}

// sendEvent sends an event of a session.
func (e *events) sendEvent(event *troupe.Event) error {
	data, err := frameOf(event)
	if err != nil {
		return err
	}
	return e.sendRaw(data)
}

// portion is how much is written at a time: how fast a reader must be at least is that,
// within the time in which it is called stalled.
const portion = 64 << 10

// sendRaw sends what was made for the wire before.
func (e *events) sendRaw(data []byte) error {
	return e.write(func() error {
		for part := range slices.Chunk(data, portion) {
			if e.isCut.Load() {
				return errReaderLost
			}
			if _, err := e.raw.Write(part); err != nil {
				return err
			}
			e.moved.Store(time.Now().UnixNano())
			if len(data) > portion {
				e.control.SetWriteDeadline(time.Now().Add(stalled))
			}
		}
		return e.control.Flush()
	})
}

// sendJSON sends a value.
func (e *events) sendJSON(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return e.send(data)
}

// send sends data.
func (e *events) send(data []byte) error {
	return e.write(func() error { return e.out.Write(sse.Event{Data: data}) })
}

func (e *events) write(send func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.control.SetWriteDeadline(time.Now().Add(stalled))
	if send() != nil {
		return errReaderLost
	}
	return nil
}

// shown returns an event as clients may see it: stacks are for those who can read
// the store.
func shown(e troupe.Event) troupe.Event {
	switch b := e.Body.(type) {
	case *troupe.ToolReturned:
		if b.Stack != "" {
			body := *b
			body.Stack = ""
			e.Body = &body
		}
	case *troupe.RunFailed:
		if b.Stack != "" {
			body := *b
			body.Stack = ""
			e.Body = &body
		}
	}
	return e
}
