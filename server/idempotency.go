package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"

	"github.com/troupe-dev/troupe"
)

// maxKey is the most bytes of an idempotency key.
const maxKey = 255

// key returns what the client calls its request. The engine has it on record before a
// run begins, for as long as the session is: sent again, the request is the same run.
func (c *call) key() (string, error) {
	key := c.r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		return "", refuse(http.StatusBadRequest, "an idempotency key has at most %d characters", maxKey)
	}
	return key, nil
}

var errOtherRequest = refuse(http.StatusUnprocessableEntity, "this idempotency key was used for another request").withCode("other_request")

// otherRequest words the error of a request whose key is on record with another text.
func otherRequest(key string, err error) error {
	if key != "" && errors.Is(err, troupe.ErrConflict) && !errors.Is(err, troupe.ErrBusy) {
		return errOtherRequest
	}
	return err
}

// isOnRecord says whether a session's log has a request of this key.
func (s *Server) isOnRecord(ctx context.Context, session, key string) (bool, error) {
	if key == "" {
		return false, nil
	}
	for e, err := range s.config.Store.Events(ctx, session, 0) {
		if err != nil {
			return false, err
		}
		switch b := e.Body.(type) {
		case *troupe.RunStarted:
			if e.Parent == "" && b.IdempotencyKey == key {
				return true, nil
			}
		case *troupe.UserSaid:
			if b.IdempotencyKey == key {
				return true, nil
			}
		}
	}
	return false, nil
}

// sessionID returns the id of a session that a request makes: at random, or one that
// follows from who asks for it under which key, so that it is made once.
func sessionID(user, agent, key string) string {
	if key == "" {
		return newID()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "session of %q with %q for %q", user, agent, key))
	return uuidOf([16]byte(sum[:16]))
}
