package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
)

// counts are the requests that were answered, by route and status.
type counts struct {
	mu       sync.Mutex
	requests map[counted]int
}

type counted struct {
	route  string // with its method
	status int
}

func (n *counts) note(r *http.Request, w *response) {
	route := r.Pattern
	if route == "" || route == "/" {
		route = "other" // what strangers make up is not worth a series
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.requests == nil {
		n.requests = map[counted]int{}
	}
	n.requests[counted{route, cmp.Or(w.status, http.StatusOK)}]++
}

func (n *counts) write(b *bytes.Buffer) {
	b.WriteString("# HELP troupe_http_requests_total Requests answered.\n# TYPE troupe_http_requests_total counter\n")
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range slices.SortedFunc(maps.Keys(n.requests), func(a, b counted) int {
		return cmp.Or(strings.Compare(a.route, b.route), a.status-b.status)
	}) {
		fmt.Fprintf(b, "troupe_http_requests_total{route=%q,code=\"%d\"} %d\n", k.route, k.status, n.requests[k])
	}
}

func (s *Server) showMetrics(c *call) error {
	var b bytes.Buffer
	if err := s.config.Metrics.WritePrometheus(&b); err != nil {
		return err
	}
	s.counts.write(&b)
	fmt.Fprintf(&b, "# HELP troupe_http_readers Streams that are being read.\n# TYPE troupe_http_readers gauge\ntroupe_http_readers %d\n", s.readers.size())
	fmt.Fprintf(&b, "# HELP troupe_http_runs Runs under way that requests began.\n# TYPE troupe_http_runs gauge\ntroupe_http_runs %d\n", s.runs.size())
	if s.config.StoreTrouble != nil {
		writable := 1
		if s.config.StoreTrouble() != nil {
			writable = 0
		}
		fmt.Fprintf(&b, "# HELP troupe_store_writable Whether the store takes what happens: 0 while its disk is full or fails.\n# TYPE troupe_store_writable gauge\ntroupe_store_writable %d\n", writable)
	}
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, err := c.w.Write(b.Bytes())
	return err
}

// A health is how the server is.
type health struct {
	Status string `json:"status"`
}

func (*Server) health(*call) (health, error) { return health{"ok"}, nil }

// readyWithin is how long the store may take to answer.
const readyWithin = 2 * time.Second

// ready answers whoever asks, as load balancers do, and tells strangers nothing but whether
// it is so and what is not.
func (s *Server) ready(c *call) (health, error) {
	if s.runs.isClosed() {
		return health{}, errEnding
	}
	if s.config.StoreTrouble != nil {
		if err := s.config.StoreTrouble(); err != nil {
			return health{}, s.notReady(c, "the store cannot be written", err)
		}
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), readyWithin)
	defer cancel()
	if _, err := collect(s.config.Store.Sessions(ctx, troupe.SessionFilter{Limit: 1}), 1); err != nil {
		s.config.Log.Warn("store does not answer", "err", err)
		return health{}, s.notReady(c, "the store does not answer", err)
	}
	return health{"ready"}, nil
}

// notReady says that the server cannot do its work, and to those who are known why, where
// there are words for it.
func (s *Server) notReady(c *call, what string, err error) *problem {
	p := refuse(http.StatusServiceUnavailable, "%s", what).withCode("store")
	if _, _, stranger := s.authenticate(c.r); stranger != nil {
		return p
	}
	if why := diskProblem(err); why != nil {
		p.Code, p.Cause, p.Next = why.Code, strings.TrimSpace(why.Detail+" "+why.Cause), why.Next
	}
	return p
}
