package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// stopWithin is how long a server takes to stop, and finishWithin how much of
	// that runs have to finish before they are cancelled.
	stopWithin   = 10 * time.Second
	finishWithin = 7 * time.Second
	// farewell is how long readers have to see how the runs ended.
	farewell = 250 * time.Millisecond

	headerTimeout = 5 * time.Second
	idleTimeout   = 120 * time.Second
	maxHeader     = 64 << 10
)

// errStopping is why a run or a stream ended that the server's end has ended.
var errStopping = errors.New("the server is stopping")

// Serve answers requests until ctx is done, and then stops within ten seconds: it
// accepts nothing more, lets runs finish, cancels those that do not, and ends the
// streams. A cancelled run can be resumed. A listener that other machines can reach
// is refused unless Users and Hosts are configured.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if err := s.MayServe(listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	s.config.Log.Info("server started", "address", listener.Addr().String(), "version", s.config.Version)
	defer s.config.Log.Info("server stopped")
	gate := newGate(listener, s.config.Limits.within(openFiles()))
	web := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnState: gate.note, ConnContext: gate.remember, ErrorLog: slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() { served <- web.Serve(gate) })
	defer gate.turning.Wait()
	defer serving.Wait()
	select {
	case err := <-served:
		s.stop(web)
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		s.config.Log.Info("server stops", "cause", context.Cause(ctx), "runs", s.runs.size())
		return s.stop(web)
	}
}

// MayServe is an error where other machines can reach an address and nothing says who may
// come in.
func (s *Server) MayServe(address net.Addr) error {
	tcp, ok := address.(*net.TCPAddr)
	if ok && !tcp.IP.IsLoopback() && (len(s.config.Users) == 0 && s.config.Auth == nil || len(s.config.Hosts) == 0) {
		return fmt.Errorf("serve on %s: other machines can reach it; configure users and hosts first", tcp)
	}
	return nil
}

// stop ends everything that the server has begun.
func (s *Server) stop(web *http.Server) error {
	within, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	var err error
	var closing sync.WaitGroup
	closing.Go(func() { err = web.Shutdown(within) }) // which at once accepts nothing more
	left := 0
	for one := s; one != nil; one = one.successor.Load() {
		left += one.runs.close(within, finishWithin)
		left += one.readers.close(within, farewell)
	}
	closing.Wait()
	if err = errors.Join(err, web.Close()); err != nil {
		return fmt.Errorf("stop serving: %w", err)
	}
	if left > 0 {
		return fmt.Errorf("stop serving: %d runs and streams did not end within %v", left, stopWithin)
	}
	return nil
}

// Misconfigured says that there is another configuration, which cannot be used, and why, in words
// for operators: their page shows it until a server with a better one takes over.
func (s *Server) Misconfigured(why string) {
	s.mistake.Store(&why)
	s.hub.reconfigured()
}

// HandOver has another server of the same store answer all requests from now on: one with
// another configuration. What this one has begun goes on, and it goes on listening. The
// other takes over the token that was made at random, if both have one, and the links. Who
// looks at the page is told that the configuration has changed.
func (s *Server) HandOver(to *Server) {
	if s.config.Auth == nil && to.config.Auth == nil && len(s.config.Users) == 0 && len(to.config.Users) == 0 {
		to.keys = s.keys
	}
	to.predecessor = s
	to.hub.before, to.drafts.before = &s.hub, s.drafts
	s.successor.Store(to)
	to.hub.reconfigured()
}
