package mcp

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

// A stage is a server in memory that can be reached or not.
type stage struct {
	mu       sync.Mutex
	up       bool
	attempts []time.Time
	session  *sdk.ServerSession // that was reached last
}

func (s *stage) dial(ctx context.Context) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, time.Now())
	if !s.up {
		return nil, errors.New("nobody is there")
	}
	ours, theirs := sdk.NewInMemoryTransports()
	var err error
	if s.session, err = sdk.NewServer(&sdk.Implementation{Name: "stage", Version: "1"}, nil).Connect(ctx, theirs, nil); err != nil {
		return nil, err
	}
	return newLink(ctx, nil, ours)
}

func (s *stage) rise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up = true
}

// fall ends the server, which cannot be reached after that unless up, and returns
// how long it took to each attempt within the time.
func (s *stage) fall(up bool, within time.Duration) (waits []time.Duration) {
	s.mu.Lock()
	_ = s.session.Close()
	s.up, s.attempts = up, nil
	last := time.Now()
	s.mu.Unlock()
	time.Sleep(within)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.attempts {
		waits = append(waits, at.Sub(last))
		last = at
	}
	return waits
}

func TestAServerIsTriedAgainLessAndLessOftenUntilItStaysUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Config{Name: "stage", Command: "none", Pins: filepath.Join(t.TempDir(), "pins.json")}.checked()
		if err != nil {
			t.Fatal(err)
		}
		stage := &stage{up: true}
		s, err := connect(t.Context(), c, stage.dial)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got := stage.fall(false, 10*time.Minute)
		for i, wait := range got {
			if full := min(firstWait<<i, longestWait); wait < full/2 || wait > full {
				t.Errorf("wait %d took %s, not %s to %s", i, wait, full/2, full)
			}
		}
		if len(got) < 10 {
			t.Errorf("it was tried %d times in ten minutes", len(got))
		}
		stage.rise()
		time.Sleep(3 * time.Minute) // a minute at most until it is tried, and two that it stays up
		if got := stage.fall(true, firstWait); len(got) != 1 {
			t.Errorf("after it had stayed up it was tried after %v", got)
		}
		if got := stage.fall(true, 2*firstWait); len(got) != 1 || got[0] < firstWait {
			t.Errorf("when it came and went it was tried after %v", got)
		}
	})
}

func TestACallOnASessionThatIsOverWasNotMade(t *testing.T) {
	stage := &stage{up: true}
	l, err := stage.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	s := &Server{config: Config{Name: "stage"}, link: l, pins: map[string]string{}}
	o, err := s.newOffer(&sdk.Tool{Name: "x", InputSchema: map[string]any{"type": "object"}})
	if err != nil {
		t.Fatal(err)
	}
	s.offers, s.pins[o.name] = map[string]*offer{o.name: o}, o.hash
	_ = stage.session.Close()
	<-l.broken
	_, err = s.call(t.Context(), "x", []byte("{}"))
	if failure, ok := errors.AsType[*troupe.ToolError](err); !ok || failure.Class != "failed" {
		t.Errorf("the error is %v", err)
	}
}
