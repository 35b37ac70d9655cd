package server

import (
	"iter"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// A LogQuery chooses events of all sessions, as 'troupe logs' does. A zero field
// does not restrict.
type LogQuery struct {
	// Text is the words that an event must have.
	Text                 string
	Session, Agent, Tool string
	// Level is debug, info, warn or error: how serious an event must be.
	Level string
	// Errors leaves only what failed.
	Errors       bool
	Since, Until time.Time
	// Before is the number of a hit, to go on from there.
	Before int64
}

// A LogHit is an event that a query chose. Numbers order the events of all sessions.
type LogHit struct {
	Number int64        `json:"number"`
	Event  troupe.Event `json:"event"`
}

const (
	usualHits = 100
	mostHits  = 1000
)

func (s *Server) findLogs(c *call) ([]LogHit, error) {
	query := c.r.URL.Query()
	wanted := LogQuery{
		Text: query.Get("q"), Session: query.Get("session"), Agent: query.Get("agent"), Tool: query.Get("tool"),
		Level: query.Get("level"), Errors: query.Has("errors"),
	}
	if !slices.Contains([]string{"", "debug", "info", "warn", "error"}, wanted.Level) {
		return nil, refuse(http.StatusBadRequest, "level: %.40q is neither debug, info, warn nor error", wanted.Level)
	}
	limit, err := c.number("limit", usualHits, mostHits)
	if err != nil {
		return nil, err
	}
	if wanted.Since, err = c.time("since"); err != nil {
		return nil, err
	}
	if wanted.Until, err = c.time("until"); err != nil {
		return nil, err
	}
	if wanted.Before, err = c.number("before", 0, math.MaxInt64); err != nil {
		return nil, err
	}
	return s.collectHits(s.ownHits(c, wanted), int(limit))
}

// collectHits returns as many hits as are asked for and as are not too much for one
// answer: whoever wants more asks for what is before the last.
func (s *Server) collectHits(all iter.Seq2[LogHit, error], most int) ([]LogHit, error) {
	hits, size := []LogHit{}, 0
	for hit, err := range all {
		if err != nil {
			return nil, err
		}
		data, err := hit.Event.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if size += len(data); size > mostAnswer && len(hits) > 0 {
			break
		}
		if hits = append(hits, hit); len(hits) >= most {
			break
		}
	}
	return hits, nil
}

// ownHits yields hits in the user's own sessions.
func (s *Server) ownHits(c *call, query LogQuery) iter.Seq2[LogHit, error] {
	return func(yield func(LogHit, error) bool) {
		if s.config.Logs == nil {
			yield(LogHit{}, refuse(http.StatusNotImplemented, "this server has nothing to search in"))
			return
		}
		own := map[string]bool{}
		for hit, err := range s.config.Logs(c.r.Context(), query) {
			session := hit.Event.Session
			if _, known := own[session]; err == nil && !known {
				var found []troupe.SessionInfo
				found, err = collect(s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{ID: session, User: c.user}), 1)
				own[session] = len(found) > 0
			}
			if err != nil {
				yield(LogHit{}, err)
				return
			}
			hit.Event = shown(hit.Event)
			if own[session] && !yield(hit, nil) {
				return
			}
		}
	}
}
