package server

import (
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
	return s.ownHits(c, wanted, int(limit))
}

// ownHits returns hits in the user's own sessions.
func (s *Server) ownHits(c *call, query LogQuery, most int) ([]LogHit, error) {
	if s.config.Logs == nil {
		return nil, refuse(http.StatusNotImplemented, "this server has nothing to search in")
	}
	hits, own := []LogHit{}, map[string]bool{}
	for hit, err := range s.config.Logs(c.r.Context(), query) {
		if err != nil {
			return nil, err
		}
		session := hit.Event.Session
		if _, known := own[session]; !known {
			found, err := collect(s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{ID: session, User: c.user}), 1)
			if err != nil {
				return nil, err
			}
			own[session] = len(found) > 0
		}
		if !own[session] {
			continue
		}
		hit.Event = shown(hit.Event)
		if hits = append(hits, hit); len(hits) >= most {
			break
		}
	}
	return hits, nil
}
