package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// A call is one request on its way through a route.
type call struct {
	w     *response
	r     *http.Request
	route *route
	// user is who sent it, and role what they may do.
	user, role string
}

// A response remembers what was answered.
type response struct {
	http.ResponseWriter
	status int // 0 until the answer begins
	// user is who asked, where that is known, and role what they may do.
	user, role string
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap lets a [http.ResponseController] get at the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answer sends what a handler returned.
func (c *call) answer(status int, out any, err error) error {
	if err != nil {
		return err
	}
	if _, nothing := out.(none); nothing {
		c.w.WriteHeader(status)
		return nil
	}
	writeJSON(c.w, status, "application/json", out)
	return nil
}

const (
	// smallBody is the most bytes of a request that has no attachments.
	smallBody = 64 << 10
	// bodyTimeout is how long a request's body may take to arrive, read or not.
	bodyTimeout = 30 * time.Second
)

// decode reads the request's body, which must be what the route's schema says.
func (s *Server) decode(c *call, in any) error {
	limit := int64(smallBody)
	if c.route.big {
		limit = s.config.Limits.Body
	}
	if length := c.r.ContentLength; length < 0 && limit > smallBody || length > smallBody {
		if length < 0 {
			length = limit
		}
		give, err := s.bodies.take(c.r.Context(), length)
		if err != nil {
			return err
		}
		defer give()
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); err != nil && !tooLarge {
		return refuse(http.StatusBadRequest, "the request's body did not arrive")
	} else if err != nil {
		return err
	}
	http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	if err := c.route.check.Check(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, in); err != nil {
		return refuse(http.StatusBadRequest, "the request's body: %v", err)
	}
	return nil
}

// number returns a number of the query, between 0 and most, or what there is
// without one.
func (c *call) number(name string, without, most int64) (int64, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, refuse(http.StatusBadRequest, "%s: %.40q is not a number", name, text)
	}
	return min(n, most), nil
}

// time returns a time of the query: one that is written out, or how long ago it is.
func (c *call) time(name string) (time.Time, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, refuse(http.StatusBadRequest, "%s: %.40q is neither a duration such as 2h nor a date such as 2026-01-31", name, text)
}
