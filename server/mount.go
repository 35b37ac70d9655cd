package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// A Visit is who sends a request to a handler that was mounted.
type Visit struct {
	// User is empty for whoever runs a server without users.
	User string
	// Role is [RoleOperator] or [RoleUser].
	Role string
}

type visitKey struct{}

// VisitOf returns who sends a request that came through [Server.Mount].
func VisitOf(r *http.Request) Visit {
	v, _ := r.Context().Value(visitKey{}).(Visit)
	return v
}

// Mount adds a handler of the program's own at a path, as in "/mcp" or "/a2a/{path...}".
// It gets requests that the server would have answered itself: of a known user, from no
// page of somebody else's, with a body that is not too long. [VisitOf] says whose they
// are. Mount is called before the server serves.
func (s *Server) Mount(path string, handler http.Handler) {
	route := &route{path: path, summary: "Is the program's own."}
	serving := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{w: w.(*response), r: r, route: route}
		if err := s.admit(c, route); err != nil {
			s.fail(c, err)
			return
		}
		ctx, leave, err := s.readers.enter(r.Context(), c.user)
		if err != nil {
			s.fail(c, err)
			return
		}
		defer leave()
		if err := s.readWhole(c); err != nil {
			s.fail(c, err)
			return
		}
		handler.ServeHTTP(w, c.r.WithContext(context.WithValue(ctx, visitKey{}, Visit{c.user, c.role})))
	})
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		s.mux.Handle(method+" "+path, serving)
	}
}

// MountOpen adds a handler that answers whoever asks, as for signing people in. It shows
// nothing and changes nothing of anybody's. Otherwise it is as [Server.Mount].
func (s *Server) MountOpen(path string, handler http.Handler) {
	serving := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxOpenBody)
		if out, ok := w.(*response); ok && r.Method == http.MethodPost {
			if user, role, err := s.authenticate(r); err == nil { // for the audit log
				out.user, out.role = user, role
			}
		}
		handler.ServeHTTP(w, r)
	})
	for _, method := range []string{"GET", "POST"} {
		s.mux.Handle(method+" "+path, serving)
	}
}

// maxOpenBody is how much somebody may send whom nobody knows, in bytes.
const maxOpenBody = 16 << 10

// readWhole takes the body of a request in, so that the time for it does not run while
// the request is answered.
func (s *Server) readWhole(c *call) error {
	if c.r.ContentLength == 0 {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, s.config.Limits.Body))
	if err != nil {
		return refuse(http.StatusRequestEntityTooLarge, "the request is too long, or did not arrive")
	}
	http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	c.r = c.r.Clone(c.r.Context())
	c.r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// Enter makes room for a run that a mounted handler begins for a user. It fails if there
// are too many. The run's context ends when the server stops; leave is to be called when
// the run has ended.
func (s *Server) Enter(ctx context.Context, user string) (run context.Context, leave func(), err error) {
	return s.runs.enter(ctx, user)
}
