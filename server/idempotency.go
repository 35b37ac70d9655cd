package server

import (
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/troupe-dev/troupe"
)

const (
	// keyLifetime is how long a key of a client's means the same request.
	keyLifetime = 24 * time.Hour
	maxKey      = 255
)

// An attemptKey is what a client calls a request, which is its own affair.
type attemptKey struct{ user, path, key string }

// An attempt is a request that has been done, or is being done.
type attempt struct {
	digest  [sha256.Size]byte
	at      time.Time
	done    chan struct{}
	started started
	err     error
}

// onlyOnce does what a request asks for unless that was done already: a request
// with the same key and the same body gets the same answer. One that was refused
// may be sent again.
func (s *Server) onlyOnce(c *call, do func() (started, error)) (started, error) {
	key := c.r.Header.Get("Idempotency-Key")
	if key == "" {
		return do()
	}
	if len(key) > maxKey {
		return started{}, refuse(http.StatusBadRequest, "an idempotency key has at most %d characters", maxKey)
	}
	id := attemptKey{c.user, c.r.URL.Path, key}
	mine := &attempt{digest: c.digest, at: time.Now(), done: make(chan struct{})}
	a, isMine := s.once.claim(id, mine, func(a *attempt) bool { return time.Since(a.at) < keyLifetime })
	if !isMine {
		return a.wait(c)
	}
	mine.err = errGeneric // in case it panics
	defer close(mine.done)
	defer func() {
		if mine.err != nil {
			s.once.forget(id)
		}
	}()
	mine.started, mine.err = do()
	return mine.started, mine.err
}

// wait returns what came of an attempt.
func (a *attempt) wait(c *call) (started, error) {
	if a.digest != c.digest {
		return started{}, errOtherRequest
	}
	select {
	case <-a.done:
		return a.started, a.err
	case <-c.r.Context().Done():
		return started{}, context.Cause(c.r.Context())
	}
}

var errOtherRequest = refuse(http.StatusUnprocessableEntity, "this idempotency key was used for another request")

// recorded returns the run that a request with this key has begun before this
// server was started, if there is one.
func (s *Server) recorded(ctx context.Context, info *troupe.SessionInfo, key, text string) (found started, err error) {
	if key == "" || info.Events == 0 || info.Started.After(s.started) {
		return found, nil
	}
	for e, err := range s.config.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return found, err
		}
		begun, ok := e.Body.(*troupe.RunStarted)
		if !ok || e.Parent != "" || begun.IdempotencyKey != key || time.Since(e.Time) > keyLifetime {
			continue
		}
		if begun.Input.Task != text {
			return found, errOtherRequest
		}
		return started{Session: info.ID, Run: e.Run}, nil
	}
	return found, nil
}
