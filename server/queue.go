package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// A queued message waits until the run that is under way has ended.
type queued struct {
	Number      int          `json:"number"`
	User        string       `json:"user,omitempty"`
	Text        string       `json:"text"`
	Attachments []attachment `json:"attachments,omitempty"`
	At          time.Time    `json:"at"`
	// Key is what the client calls the request.
	Key string `json:"key,omitempty"`
}

// idempotencyKey is what the engine knows the message by, so that one which was said
// just before the server was killed is not said again.
func (q *queued) idempotencyKey() string {
	return cmp.Or(q.Key, "queued message "+strconv.Itoa(q.Number))
}

// isQueued says whether a request waits in the session's queue already.
func (s *Server) isQueued(session, key, text string) (bool, error) {
	if key == "" {
		return false, nil
	}
	n, err := s.notes.of(session)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(n.Queue, func(q queued) bool { return q.Key == key })
	if i >= 0 && n.Queue[i].Text != text {
		return false, errOtherRequest
	}
	return i >= 0, nil
}

// mostQueued is how many messages may wait in one session.
const mostQueued = 20

// A queueView is how a session's queue is shown: without what is attached.
type queueView struct {
	Messages []queuedView `json:"messages"`
	// Held says that it waits for a word of its owner, because the run before it did not end with an
	// answer: Why is stopped, failed, asks, unfinished or interrupted; or unsent, where the next
	// message could not be sent.
	Held bool   `json:"held"`
	Why  string `json:"why,omitempty"`
}

type queuedView struct {
	Number      int       `json:"number"`
	Text        string    `json:"text"`
	Attachments []string  `json:"attachments"`
	At          time.Time `json:"at"`
}

func viewOf(n *notes) queueView {
	v := queueView{Messages: []queuedView{}, Held: n.Held}
	if n.Held {
		v.Why = n.Why
	}
	for _, q := range n.Queue {
		names := []string{}
		for _, a := range q.Attachments {
			names = append(names, a.Name)
		}
		v.Messages = append(v.Messages, queuedView{q.Number, q.Text, names, q.At})
	}
	return v
}

// enqueue keeps a message until the session's run has ended, and holds the queue where there is a
// reason why.
func (s *Server) enqueue(c *call, session, key string, in message, why string) error {
	full := false
	err := s.notes.change(session, func(n *notes) {
		if key != "" && slices.ContainsFunc(n.Queue, func(q queued) bool { return q.Key == key }) {
			return // the same request, at the same moment
		}
		if full = len(n.Queue) >= mostQueued; full {
			return
		}
		n.Next++
		n.Queue = append(n.Queue, queued{n.Next, c.user, in.Text, in.Attachments, time.Now().UTC(), key})
		if why != "" {
			n.Held, n.Why = true, why
		}
	})
	if err == nil && full {
		err = refuse(http.StatusTooManyRequests, "%d messages wait already", mostQueued).withCode("busy")
	}
	s.hub.changed(session)
	return err
}

func (s *Server) showQueue(c *call) (queueView, error) {
	info, _, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return queueView{}, err
	}
	n, err := s.notes.of(info.ID)
	return viewOf(&n), err
}

// A queueChange is what a queued message becomes.
type queueChange struct {
	Text *string `json:"text,omitempty" jsonschema:"what it says instead"`
	Was  *string `json:"was,omitempty" jsonschema:"what it said when that was written; nothing is changed where it says something else by now"`
	// Now stops the run that is under way, if there is one, and says it.
	Now bool `json:"now,omitempty" jsonschema:"say it now: a run that is under way is stopped"`
}

// errAsks is why a message that waits is not said now: it would be taken for an answer.
var errAsks = refuse(http.StatusConflict, "answer first what is asked; the message goes out after that").withCode("asks")

var errChanged = refuse(http.StatusConflict, "the message was changed meanwhile").withCode("edited")

var errNoQueued = refuse(http.StatusNotFound, "there is no such message in the queue")

func (s *Server) changeQueued(c *call, in queueChange) (queueView, error) {
	info, number, err := s.foundQueued(c)
	if err != nil {
		return queueView{}, err
	}
	if in.Text != nil && strings.TrimSpace(*in.Text) == "" {
		return queueView{}, refuse(http.StatusBadRequest, "the message is empty")
	}
	if in.Now && info.Status == "waiting" {
		return queueView{}, errAsks
	}
	known, changed := false, false
	err = s.notes.change(info.ID, func(n *notes) {
		i := slices.IndexFunc(n.Queue, func(q queued) bool { return q.Number == number })
		if known = i >= 0; !known {
			return
		}
		q := n.Queue[i]
		if changed = in.Was != nil && *in.Was != q.Text; changed {
			return
		}
		if in.Text != nil {
			q.Text = *in.Text
		}
		n.Queue[i] = q
		n.Touched++
		if in.Now {
			n.Queue = slices.Insert(slices.Delete(n.Queue, i, i+1), 0, q)
		}
	})
	if err != nil || !known {
		return queueView{}, orElse(err, errNoQueued)
	}
	if changed {
		return queueView{}, errChanged
	}
	if in.Now {
		if err := s.sendNow(c, info, number); err != nil {
			return queueView{}, err
		}
	}
	s.hub.changed(info.ID)
	n, err := s.notes.of(info.ID)
	return viewOf(&n), err
}

func orElse(err error, other *problem) error {
	if err != nil {
		return err
	}
	return other
}

// sendNow says the first message of the queue, in place of what the run does now.
func (s *Server) sendNow(c *call, info troupe.SessionInfo, number int) error {
	if under, ok := s.active.Load(info.ID); ok {
		if err := s.stopRun(c.r.Context(), info.ID); err != nil {
			return err
		}
		select { // that it was stopped holds the queue, before it is released here
		case <-under.(*watched).settled:
		case <-c.r.Context().Done():
			return context.Cause(c.r.Context())
		}
	}
	defer s.saying.take(info.ID)()
	isThere := false
	err := s.notes.change(info.ID, func(n *notes) {
		isThere = len(n.Queue) > 0 && n.Queue[0].Number == number
		n.Held = n.Held && !isThere
	})
	if err != nil || !isThere { // it went out when the run came to its end by itself
		return err
	}
	return s.sayNext(c, info.ID)
}

func (s *Server) removeQueued(c *call) (none, error) {
	info, number, err := s.foundQueued(c)
	if err != nil {
		return none{}, err
	}
	known := false
	err = s.notes.change(info.ID, func(n *notes) {
		before := len(n.Queue)
		n.Queue = slices.DeleteFunc(n.Queue, func(q queued) bool { return q.Number == number })
		if known = len(n.Queue) < before; known {
			n.Touched++
		}
		n.Held = n.Held && len(n.Queue) > 0
	})
	if err == nil && !known {
		err = errNoQueued
	}
	s.hub.changed(info.ID)
	return none{}, err
}

func (s *Server) foundQueued(c *call) (troupe.SessionInfo, int, error) {
	info, _, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return info, 0, err
	}
	number, err := strconv.Atoi(c.r.PathValue("n"))
	if err != nil {
		return info, 0, errNoQueued
	}
	return info, number, nil
}

// sayNext says the first message of the queue, for whoever has taken saying. One that cannot be said
// stays there.
func (s *Server) sayNext(c *call, session string) error {
	n, err := s.notes.of(session)
	if err != nil || len(n.Queue) == 0 || n.Held {
		return err
	}
	next := n.Queue[0]
	input, err := s.input(message{Text: next.Text, Attachments: next.Attachments})
	if err != nil {
		return err
	}
	info, _, err := s.find(c, session)
	if err != nil {
		return err
	}
	input.Session, input.IdempotencyKey = session, next.idempotencyKey()
	if _, err = s.say(c, info.Agent, input); err != nil {
		return err
	}
	return s.notes.change(session, func(n *notes) {
		n.Queue = slices.DeleteFunc(n.Queue, func(q queued) bool { return q.Number == next.Number })
	})
}

// An ending is how a run came to its end.
type ending struct {
	session string
	why     string // one of the reasons to hold the queue, empty if it was answered
	seq     int64  // the number of the event that says so, 0 if none does
}

// Why a queue is held: how the run before it ended, or that its next message could not be sent.
const (
	heldStopped     = "stopped"
	heldFailed      = "failed"
	heldAsks        = "asks"
	heldUnfinished  = "unfinished"
	heldInterrupted = "interrupted"
	heldUnsent      = "unsent"
)

// whyHeld is why the queue is held after a run that ended so, empty if it is not. What waits is no
// choice of those that an answer offers at its end; an open question it may well answer.
func whyHeld(end *troupe.Event) string {
	switch b := end.Body.(type) {
	case *troupe.RunFailed:
		return heldFailed
	case *troupe.RunCancelled:
		return heldStopped
	case *troupe.RunFinished:
		switch b.Stop {
		case "answered":
			if askedIn(end, b.Output.Summary).offers() {
				return heldAsks
			}
			return ""
		case "input_requested":
			return heldAsks
		}
	}
	return heldUnfinished
}

// ended goes on with the queue after a run of the session has ended well, and holds
// it otherwise. A call that is allowed in the whole session is made without asking.
func (s *Server) ended(user string, end ending) {
	if end.session == "" || !s.isNews(end) {
		return
	}
	defer s.hub.changed(end.session)
	defer s.saying.take(end.session)()
	err := inBackground(user, func(c *call) error {
		n, err := s.notes.of(end.session)
		switch {
		case err != nil:
			return err
		case end.why == heldAsks && len(n.Allowed) > 0:
			if allowed, err := s.allow(c, end.session, n.Allowed); err != nil || allowed {
				return err
			}
		case end.why == "" && len(n.Queue) > 0 && (!n.Held || n.Why == heldAsks): // or what was asked was answered
			if _, err = s.release(end.session, heldAsks); err != nil {
				return err
			}
			if err = s.sayNext(c, end.session); err == nil {
				return nil
			}
			s.config.Log.Warn("queue held", "session", end.session, "err", err)
		}
		why := cmp.Or(end.why, heldUnsent)
		if len(n.Queue) == 0 || n.Held && (n.Why == why || end.why == "") {
			return nil
		}
		return s.notes.change(end.session, func(n *notes) { n.Held, n.Why = true, why })
	})
	if err != nil {
		s.config.Log.Error("queue not kept", "session", end.session, "err", err)
	}
}

// isNews reports whether nobody has come with this end of a run before: who has answered a
// question of a run that was under way has seen it end, too.
func (s *Server) isNews(end ending) bool {
	known := s.summary(end.session)
	known.mu.Lock()
	defer known.mu.Unlock()
	if end.seq > 0 && end.seq <= known.ended {
		return false
	}
	known.ended = max(known.ended, end.seq)
	return true
}

// release has the queue of a session no longer be held for one of these reasons, or for any where
// none is given, and says whether it was.
func (s *Server) release(session string, reasons ...string) (held bool, err error) {
	n, err := s.notes.of(session)
	if err != nil || !n.Held || len(reasons) > 0 && !slices.Contains(reasons, n.Why) {
		return false, err
	}
	return true, s.notes.change(session, func(n *notes) { n.Held = false })
}

// allow answers a question about a call that is allowed in the whole session. Nobody is asked
// then, and the log says so.
func (s *Server) allow(c *call, session string, tools []string) (bool, error) {
	info, _, err := s.find(c, session)
	if err != nil {
		return false, err
	}
	known, err := s.summaryOf(c.r.Context(), &info)
	if err != nil || info.Status != "waiting" {
		return false, err
	}
	names := known.allowed(tools...)
	if len(names) == 0 {
		return false, nil
	}
	_, err = s.say(c, info.Agent, allowedAnswer(session, names[0]))
	return err == nil, err
}

// inBackground does something in a user's name that no request asks for. Nobody reads
// what a run says that it begins, but those who follow the session.
func inBackground(user string, f func(*call) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	if err != nil {
		return err
	}
	return f(&call{w: &response{}, r: r, user: user})
}
