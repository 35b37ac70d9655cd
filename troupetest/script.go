package troupetest

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Script is a model that answers each request with its next turn. It is as
// strict as the strictest provider: it fails the test, and the request, when the
// script has no turn left or when calls and results do not match. It also fails
// the test if turns are left when the test ends.
//
// A Script is meant for one agent, whose requests come one after the other.
// Concurrent requests get turns in the order they come in.
type Script struct {
	tb   testing.TB
	name string // for messages

	mu    sync.Mutex
	turns []Turn // those to come
	size  int    // how many there were
	asked []*troupe.Request
	calls int // ids given so far
}

var _ troupe.Model = (*Script)(nil)

// NewScript returns a script whose failures are those of the test. In an example or
// a demonstration, where there is no test, tb is nil: what would fail a test is then
// printed to standard error, and the request fails as it does in a test.
func NewScript(tb testing.TB, turns ...Turn) *Script {
	tb = orPrinter(tb)
	tb.Helper()
	return newScript(tb, "script", turns)
}

// orPrinter returns tb, or what stands for it where there is no test.
func orPrinter(tb testing.TB) testing.TB {
	if tb == nil {
		return printer{}
	}
	return tb
}

// A printer prints what would fail a test. It is only used for what a Script and
// its checks call.
type printer struct{ testing.TB }

func (printer) Helper()        {}
func (printer) Cleanup(func()) {} // there is no end of a test at which turns could be left
func (printer) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func newScript(tb testing.TB, name string, turns []Turn) *Script {
	s := &Script{tb: tb, name: name, turns: slices.Clone(turns), size: len(turns)}
	tb.Cleanup(s.reportUnplayed)
	return s
}

// Requests returns what was asked so far, refused requests included.
func (s *Script) Requests() []*troupe.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Generate implements [troupe.Model].
func (s *Script) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(troupe.Chunk{}, context.Cause(ctx))
			return
		}
		turn, err := s.next(req)
		if err != nil {
			s.tb.Errorf("%v", err)
			yield(troupe.Chunk{}, err)
			return
		}
		for _, check := range turn.checks {
			check(s.tb, req)
		}
		s.play(ctx, turn, yield)
	}
}

// next records a request and takes its turn from the script.
func (s *Script) next(req *troupe.Request) (Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := *req
	s.asked = append(s.asked, &copied)
	if err := checkPairing(req.Messages); err != nil {
		return Turn{}, fmt.Errorf("%s: request %d: %w; the conversation:\n%s", s.name, len(s.asked), err, outline(req.Messages))
	}
	if len(s.turns) == 0 {
		return Turn{}, fmt.Errorf("%s: request %d comes after the last of %d turns; the conversation:\n%s",
			s.name, len(s.asked), s.size, outline(req.Messages))
	}
	turn := s.turns[0]
	if !turn.forever {
		s.turns = s.turns[1:]
	}
	return turn, nil
}

// play yields a turn's chunks.
func (s *Script) play(ctx context.Context, turn Turn, yield func(troupe.Chunk, error) bool) {
	for _, p := range turn.pieces {
		if pause(ctx, p.wait); ctx.Err() != nil {
			yield(troupe.Chunk{}, context.Cause(ctx))
			return
		}
		if p.wait == 0 && !yield(s.identified(p.chunk), nil) {
			return
		}
	}
	switch {
	case turn.failure != nil:
		yield(troupe.Chunk{}, turn.failure)
	case !turn.cut:
		yield(troupe.Chunk{End: turn.end()}, nil)
	}
}

// identified gives a call that has no id its own.
func (s *Script) identified(chunk troupe.Chunk) troupe.Chunk {
	if chunk.Call == nil {
		return chunk
	}
	call := *chunk.Call
	if call.ID == "" {
		s.mu.Lock()
		s.calls++
		call.ID = "call_" + strconv.Itoa(s.calls)
		s.mu.Unlock()
	}
	chunk.Call = &call
	return chunk
}

// pause returns after d, or when ctx is done.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Script) reportUnplayed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list strings.Builder
	left := 0
	for i, turn := range s.turns {
		if !turn.forever {
			left++
			fmt.Fprintf(&list, "\n  turn %d: %v", s.size-len(s.turns)+i+1, turn)
		}
	}
	if left > 0 {
		s.tb.Errorf("%s: %d of %d turns were never played:%s", s.name, left, s.size, list.String())
	}
}
