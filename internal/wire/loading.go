package wire

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// loadingPause is how long a server that loads its model is left alone.
const loadingPause = 2 * time.Second

// Send sends a request and returns its answer, which the caller has to close. An
// answer whose status is no success is returned as a [troupe.ModelError]. A server
// that says it is loading the model is waited for like one that says nothing: see
// [Patience].
func (c *Client) Send(ctx context.Context, x *Exchange) (*Answer, error) {
	until := time.Now().Add(c.patience.Begin)
	for {
		a, err := c.send(ctx, x)
		e, ok := errors.AsType[*troupe.ModelError](err)
		if !ok || x.Parts == nil || !isLoading(e) {
			return a, err
		}
		if time.Now().Add(loadingPause).After(until) {
			e.Reason = "timeout"
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(max(loadingPause, min(e.RetryAfter, time.Until(until)))):
		}
	}
}

// isLoading reports whether a server has just been started, and has no model yet.
func isLoading(e *troupe.ModelError) bool {
	said := strings.ToLower(e.Message)
	return e.Status == http.StatusServiceUnavailable && e.Temporary && (strings.Contains(said, "loading model") || strings.Contains(said, "model is loading"))
}
