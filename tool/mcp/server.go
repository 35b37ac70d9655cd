package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
)

const (
	firstWait   = time.Second
	longestWait = time.Minute
)

// A Server is a server that is looked after. Its methods may be called concurrently.
type Server struct {
	config Config
	dial   func(context.Context) (*link, error)
	end    context.CancelFunc
	kept   chan struct{} // closed when nothing is running any more

	mu     sync.Mutex
	link   *link     // nil while the server is away
	due    time.Time // when it is tried again
	offers map[string]*offer
	pins   map[string]string // the hash that was accepted, by tool
}

func connect(ctx context.Context, c Config, dial func(context.Context) (*link, error)) (*Server, error) {
	s := &Server{config: c, dial: dial, kept: make(chan struct{})}
	l, err := s.establish(ctx)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	go s.keep(life, l)
	return s, nil
}

// Close ends the server: what it was asked is cancelled, its input is closed, and
// two seconds later it is killed with all that it started. Its process is gone when
// Close returns.
func (s *Server) Close() {
	s.end()
	<-s.kept
}

// Tools returns the tools that are offered at present: those that the server has
// and the operator accepted. Each stays what it is; if the server changes it, its
// calls are refused. A tool is named server__tool.
func (s *Server) Tools() []troupe.Tool {
	var tools []troupe.Tool
	for _, o := range s.sorted() {
		if s.objection(o) == "" {
			tools = append(tools, o.tool)
		}
	}
	return tools
}

// IsAway says whether the server cannot be reached at present. It is tried again by
// itself.
func (s *Server) IsAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link == nil
}

// A Withheld is a tool that is not offered.
type Withheld struct {
	Tool        string // the server's name for it
	Description string
	Input       string // the JSON schema of its arguments
	// Hash is what [Accept] takes to accept the tool as it is.
	Hash   string
	Reason string
}

// Withheld returns the tools that the server has and that are not offered.
func (s *Server) Withheld() []Withheld {
	var list []Withheld
	for _, o := range s.sorted() {
		if reason := s.objection(o); reason != "" {
			list = append(list, Withheld{o.name, o.description, string(o.input), o.hash, reason})
		}
	}
	return list
}

// establish makes a link and learns what the server offers.
func (s *Server) establish(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	l, err := s.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcp server %s: connect: %w", s.config.Name, err)
	}
	if err := s.learn(ctx, l); err != nil {
		l.close()
		return nil, fmt.Errorf("mcp server %s: list tools: %w", s.config.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
	return l, nil
}

// keep looks after the server until ctx is done.
func (s *Server) keep(ctx context.Context, l *link) {
	defer close(s.kept)
	wait := firstWait
	for {
		began := time.Now()
		err := s.attend(ctx, l)
		s.away(0)
		l.close()
		if ctx.Err() != nil {
			return
		}
		s.config.Logger.Warn("mcp server is gone", "err", l.explain(err))
		if time.Since(began) >= longestWait {
			wait = firstWait
		}
		for l = nil; l == nil; wait = min(2*wait, longestWait) {
			pause := wait/2 + rand.N(wait/2)
			s.away(pause)
			if !sleep(ctx, pause) {
				return
			}
			if l, err = s.establish(ctx); err != nil {
				s.config.Logger.Warn("mcp server did not come back", "err", err)
			}
		}
		s.config.Logger.Info("mcp server is back")
	}
}

var errEnded = errors.New("it ended")

// attend returns why a link is of no use any more, or that ctx is done.
func (s *Server) attend(ctx context.Context, l *link) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.broken:
			return cmp.Or(l.err, errEnded)
		case err := <-l.lost:
			return err
		case <-l.changed:
			if err := s.relearn(ctx, l); err != nil {
				return fmt.Errorf("list tools: %w", err)
			}
		}
	}
}

func (s *Server) relearn(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	return s.learn(ctx, l)
}

// away notes that there is no server, and how long that will be so at least.
func (s *Server) away(pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.due = nil, time.Now().Add(pause)
}

// sleep reports whether d has passed before ctx was done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
