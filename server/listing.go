package server

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

const (
	usualSessions = 100
	mostSessions  = 1000
	// mostSkipped is how many sessions a list may leave out.
	mostSkipped = 1_000_000
)

// A listing is what a request wants listed: the sessions that match, of these agents or of all,
// without the first ones.
type listing struct {
	match  troupe.SessionFilter
	agents []string
	skip   int
	// open has what waits for somebody or runs be listed however old it is.
	open bool
}

func (s *Server) listSessions(c *call) ([]sessionView, error) {
	wanted, err := listingOf(c)
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	list, err := s.chooseSessions(c, &wanted)
	if err != nil {
		return nil, err
	}
	views, err := s.views(ctx, list)
	if err != nil {
		return nil, err
	}
	if status := wanted.match.Status; status != "" {
		views = slices.DeleteFunc(views, func(v sessionView) bool { return v.Status != status })
	}
	if wanted.open {
		if views, err = s.withOpen(ctx, views, &wanted); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// statuses are those that a session can have.
var statuses = []string{"running", "waiting", "completed", "failed", "cancelled", "interrupted", sessionEmpty}

// listingOf reads what a request wants.
func listingOf(c *call) (wanted listing, err error) {
	query := c.r.URL.Query()
	limit, err := c.number("limit", usualSessions, mostSessions)
	if err != nil {
		return wanted, err
	}
	skip, err := c.number("skip", 0, mostSkipped)
	if err != nil {
		return wanted, err
	}
	wanted = listing{agents: query["agent"], skip: int(skip), open: query.Get("open") != ""}
	if status := query.Get("status"); status != "" && !slices.Contains(statuses, status) {
		return wanted, refuse(http.StatusBadRequest, "status: %.100q is none of %s", status, strings.Join(statuses, ", "))
	}
	wanted.match = troupe.SessionFilter{User: c.user, Status: query.Get("status"), Limit: max(int(limit), 1)}
	if len(wanted.agents) == 0 {
		wanted.agents = []string{""}
	}
	wanted.match.Since, err = c.time("since")
	return wanted, err
}

// chooseSessions returns the sessions that are wanted, as the store has them. Among those that wait
// may be some that do not.
func (s *Server) chooseSessions(c *call, wanted *listing) (list []troupe.SessionInfo, err error) {
	match := wanted.match
	match.Limit += wanted.skip
	if words := c.r.URL.Query().Get("q"); words != "" {
		list, err = s.searchSessions(c, words, match, wanted.agents)
	} else {
		list, err = s.latest(c.r.Context(), match, wanted.agents)
	}
	return list[min(wanted.skip, len(list)):], err
}

// latest returns the sessions of agents that match, the latest first.
func (s *Server) latest(ctx context.Context, match troupe.SessionFilter, agents []string) ([]troupe.SessionInfo, error) {
	list := []troupe.SessionInfo{}
	for _, match.Agent = range agents {
		found, err := collect(s.config.Store.Sessions(ctx, match), math.MaxInt)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
		if match.Status == "waiting" {
			if found, err = s.asking(ctx, match); err != nil {
				return nil, err
			}
			list = append(list, found...)
		}
	}
	if len(agents) > 1 || match.Status == "waiting" {
		slices.SortFunc(list, func(a, b troupe.SessionInfo) int {
			return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
		})
	}
	return list[:min(match.Limit, len(list))], nil
}

// withOpen adds to what is listed of somebody's sessions those that wait or run and are older.
func (s *Server) withOpen(ctx context.Context, views []sessionView, wanted *listing) ([]sessionView, error) {
	listed := map[string]bool{}
	for _, v := range views {
		listed[v.ID] = true
	}
	match := wanted.match
	match.Limit = mostSessions
	var older []troupe.SessionInfo
	for _, match.Status = range []string{"waiting", "running"} {
		found, err := s.latest(ctx, match, wanted.agents)
		if err != nil {
			return nil, err
		}
		older = append(older, slices.DeleteFunc(found, func(info troupe.SessionInfo) bool { return listed[info.ID] })...)
	}
	found, err := s.views(ctx, older)
	if err != nil {
		return nil, err
	}
	for _, v := range found {
		if (v.Status == "running" || v.Question != nil) && !listed[v.ID] {
			listed[v.ID] = true
			views = append(views, v)
		}
	}
	return views, nil
}

// asking returns those of the latest sessions that match and are completed whose answer ends with
// a question. The end of each is read, however long it is: a few that do not ask may be among them.
func (s *Server) asking(ctx context.Context, match troupe.SessionFilter) (list []troupe.SessionInfo, err error) {
	match.Status, match.Limit = "completed", mostSessions
	for info, err := range s.config.Store.Sessions(ctx, match) {
		if err != nil {
			return nil, err
		}
		asks, err := s.asks(ctx, &info)
		if err != nil {
			return nil, err
		}
		if asks {
			list = append(list, info)
		}
	}
	return list, nil
}

// A lastAnswer is whether the latest answer of a session may end with a question, as far as its event
// of this number.
type lastAnswer struct {
	events int64
	asks   bool
}

// afterEnd is how many events may follow the end of the latest run, as when the session was renamed.
const afterEnd = 4

// asks reports whether the latest answer of a session may end with a question.
func (s *Server) asks(ctx context.Context, info *troupe.SessionInfo) (bool, error) {
	if known, ok := s.lastAnswers.get(info.ID); ok && known.events == info.Events {
		return known.asks, nil
	}
	end := lastAnswer{events: info.Events}
	for e, err := range s.config.Store.Events(ctx, info.ID, max(0, info.Events-1-afterEnd)) {
		if err != nil {
			return false, err
		}
		if finished, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
			end.asks = askedIn(&e, finished.Output.Summary) != nil
		}
	}
	s.lastAnswers.put(info.ID, end)
	return end.asks, nil
}

// searchSessions returns the sessions of agents in which words were found, those with the
// latest hits first.
func (s *Server) searchSessions(c *call, words string, match troupe.SessionFilter, agents []string) ([]troupe.SessionInfo, error) {
	list, seen, hits := []troupe.SessionInfo{}, map[string]bool{}, 0
	if match.Status == "waiting" { // some of those that are completed end with a question
		match.Status = ""
	}
	for hit, err := range s.ownHits(c, LogQuery{Text: words, Since: match.Since}) {
		if err != nil {
			return nil, err
		}
		if hits++; hits > mostHits {
			break
		}
		if match.ID = hit.Event.Session; seen[match.ID] {
			continue
		}
		seen[match.ID] = true
		one, err := collect(s.config.Store.Sessions(c.r.Context(), match), 1)
		if err != nil {
			return nil, err
		}
		if len(one) == 0 || agents[0] != "" && !slices.Contains(agents, one[0].Agent) {
			continue
		}
		if list = append(list, one[0]); len(list) == match.Limit {
			break
		}
	}
	return list, nil
}
