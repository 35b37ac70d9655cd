package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A sessionView is a session as lists show it.
type sessionView struct {
	troupe.SessionInfo
	// Question is what waits for an answer, though others may be at work.
	Question *Question `json:"question,omitempty"`
	// Questions is how many wait: in a flow there may be several.
	Questions int `json:"questions,omitempty" jsonschema:"how many questions wait: in a flow there may be several, of which question is the first"`
	// Doing is what the run does now.
	Doing *Doing `json:"doing,omitempty"`
	// Stop is what the latest run has ended with, where it has ended without the whole of an
	// answer: empty, length, refused, content_filter, repeated_calls, handoffs, or a limit such as cost.
	Stop string `json:"stop,omitempty"`
	// Outcome is how the latest run says that its work stands, where that is not done, as that of
	// a delivery: partial or failed.
	Outcome string `json:"outcome,omitempty"`
	// Result is what was done last with what a delivery has built, as it is on record: taken,
	// partly_taken (there is more since), taken_back or dropped.
	Result string `json:"result,omitempty" jsonschema:"of a delivery, what was done last with what it has built: taken, partly_taken, taken_back or dropped"`
	// Model is the one that answers next, as provider/name: the one that was chosen for the
	// session, or else the usual one. Where that is not known, it is the one that answered
	// last, as its provider calls it. Chosen is empty where nobody chose.
	Model  string  `json:"model,omitempty"`
	Chosen string  `json:"chosen,omitempty"`
	Spent  float64 `json:"spent"`
	Tokens int     `json:"tokens"`
	Unseen bool    `json:"unseen"`
	Files  int     `json:"files"`
	// Edited are the files whose latest version no agent of the session wrote, with its number.
	Edited   map[string]int `json:"edited,omitempty"`
	Queued   int            `json:"queued"`
	Pinned   bool           `json:"pinned"`
	Archived bool           `json:"archived"`
	Related  []string       `json:"related,omitempty"`
	// Written is another text whenever somebody has written into the session: see deleteSession.
	Written string `json:"written,omitempty"`
	// Forked is the session that it goes on from, where it is a fork.
	Forked string `json:"forked,omitempty"`
}

// view returns a session with what its events and its notes say of it.
func (s *Server) view(ctx context.Context, info troupe.SessionInfo) (sessionView, error) {
	n, err := s.notes.of(info.ID)
	if err != nil {
		return sessionView{}, err
	}
	return s.viewWith(ctx, info, &n)
}

// viewWith is view for somebody who has the notes.
func (s *Server) viewWith(ctx context.Context, info troupe.SessionInfo, n *notes) (sessionView, error) {
	known, err := s.summaryOf(ctx, &info)
	if err != nil {
		return sessionView{}, err
	}
	result := s.resultOf(ctx, &info)
	known.mu.Lock()
	defer known.mu.Unlock()
	v := sessionView{
		SessionInfo: info, Result: result, Model: known.model, Spent: known.cost, Tokens: known.tokens, Unseen: known.answers > n.Seen,
		Questions: len(known.open.Waiting), Files: len(known.files), Queued: len(n.Queue), Pinned: n.Pinned, Archived: n.Archived, Related: n.Related, Forked: known.forked,
		// A message that leaves the queue to be said was written once.
		Written: fmt.Sprintf("%d.%d.%d", known.written+len(n.Queue), n.Touched, n.byHand()),
	}
	if len(n.Edits) > 0 {
		v.Edited = map[string]int{}
		for _, f := range known.files {
			if n.latestEdit(f) != nil {
				v.Edited[f.Path] = n.listed(f, &info).Version
			}
		}
	}
	if n.Model != "" {
		v.Model, v.Chosen = n.Model, n.Model
	} else if s.config.UsualModel != nil {
		v.Model = cmp.Or(s.config.UsualModel(info.Agent), v.Model)
	}
	question := known.question()
	if info.Status == "completed" && question == nil {
		v.Stop, v.Outcome = known.stop, known.outcome
	}
	if info.Status == "running" {
		v.Doing = known.doing
		if first := known.open.First(); first != nil { // others are at work meanwhile
			v.Question = questionOf(first)
		}
	} else if info.Status == "waiting" {
		v.Question = question
	} else if info.Status == "completed" && question != nil {
		v.Status, v.Question = "waiting", question
	}
	if first := known.open.First(); first != nil && v.Question != nil {
		v.Question.Node = s.nodeOf(known, first.Asked.Run)
	}
	return v, nil
}

func (s *Server) views(ctx context.Context, list []troupe.SessionInfo) ([]sessionView, error) {
	all, err := s.notes.ofAll(list)
	if err != nil {
		return nil, err
	}
	views := make([]sessionView, 0, len(list))
	for i, info := range list {
		v, err := s.viewWith(ctx, info, &all[i])
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// A sessionChange is what a session is changed to. What is left out stays.
type sessionChange struct {
	Title    *string   `json:"title,omitempty"`
	Model    *string   `json:"model,omitempty" jsonschema:"the model that answers from now on; empty for the usual one"`
	Pinned   *bool     `json:"pinned,omitempty"`
	Archived *bool     `json:"archived,omitempty"`
	Related  *[]string `json:"related,omitempty" jsonschema:"the ids of sessions whose files may be read in this one"`
}

func (s *Server) changeSession(c *call, in sessionChange) (sessionView, error) {
	info, d, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return sessionView{}, err
	}
	if in.Title != nil {
		if strings.TrimSpace(*in.Title) == "" {
			return sessionView{}, refuse(http.StatusBadRequest, "the title is empty")
		}
		if d != nil {
			return sessionView{}, refuse(http.StatusConflict, "nothing was said in the session yet")
		}
		if err := s.config.Engine.Rename(c.r.Context(), info.ID, *in.Title); err != nil {
			return sessionView{}, err
		}
	}
	if in.Model != nil && *in.Model != "" {
		if err := s.checkModel(c.r.Context(), info.Agent, *in.Model); err != nil {
			return sessionView{}, err
		}
	}
	if in.Related != nil {
		for _, id := range *in.Related {
			if _, _, err := s.find(c, id); err != nil {
				return sessionView{}, refuse(http.StatusBadRequest, "related: there is no session %.64q", id)
			}
		}
	}
	err = s.notes.change(info.ID, func(n *notes) {
		if in.Model != nil {
			n.Model = *in.Model
		}
		if in.Pinned != nil {
			n.Pinned = *in.Pinned
		}
		if in.Archived != nil {
			n.Archived = *in.Archived
		}
		if in.Related != nil {
			n.Related = slices.Clone(*in.Related)
		}
	})
	if err != nil {
		return sessionView{}, err
	}
	s.hub.changed(info.ID)
	if info, _, err = s.find(c, info.ID); err != nil {
		return sessionView{}, err
	}
	return s.view(c.r.Context(), info)
}

// seeSession notes that its owner has seen what there is.
func (s *Server) seeSession(c *call) (none, error) {
	info, _, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return none{}, err
	}
	known, err := s.summaryOf(c.r.Context(), &info)
	if err != nil {
		return none{}, err
	}
	known.mu.Lock()
	answers := known.answers
	known.mu.Unlock()
	n, err := s.notes.of(info.ID)
	if err != nil || n.Seen == answers {
		return none{}, err
	}
	err = s.notes.change(info.ID, func(n *notes) { n.Seen = answers })
	s.hub.changed(info.ID)
	return none{}, err
}

// resultOf is what was done with the result of a session that is a delivery and not at work.
func (s *Server) resultOf(ctx context.Context, info *troupe.SessionInfo) string {
	if s.config.Deliveries == nil || info.Agent != Pipeline || info.Status == "running" {
		return ""
	}
	return s.config.Deliveries.Result(ctx, info)
}
