package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/troupe-dev/troupe"
)

// sessionEmpty is the status of a session in which nothing was said yet.
const sessionEmpty string = "empty"

// find returns a session of the user's, by what the store has of it. One that is
// only made so far has a draft. To anybody else it is not there.
func (s *Server) find(c *call, id string) (info troupe.SessionInfo, d *draft, err error) {
	d = s.drafts.find(c.user, id) // before the store is asked, which knows what is no draft any more
	// A draft that another server has made may begin there between the look at the store
	// and the look for its file: the store is asked once more.
	for range 2 {
		for info, err := range s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{ID: cmp.Or(id, "-"), User: c.user}) {
			if err == nil { // a store that could not be asked does not say that it has begun
				s.drafts.remove(d)
			}
			return info, nil, err
		}
		if d == nil {
			d = s.drafts.look(c.user, id)
		}
		if d != nil {
			return d.info, d, nil
		}
	}
	return info, nil, fmt.Errorf("session %.64q: %w", id, troupe.ErrNotFound)
}

// found is find for a session that has begun, by the id in the path.
func (s *Server) found(c *call) (troupe.SessionInfo, error) {
	info, d, err := s.find(c, c.r.PathValue("id"))
	if d != nil {
		return info, refuse(http.StatusConflict, "nothing was said in the session yet")
	}
	return info, err
}

// collect returns at most so many of what an iterator yields.
func collect[T any](all iter.Seq2[T, error], most int) ([]T, error) {
	list := []T{}
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		if list = append(list, item); len(list) >= most {
			break
		}
	}
	return list, nil
}

// A newSession is what a session is made from.
type newSession struct {
	Agent string `json:"agent" jsonschema:"the agent or flow to talk to"`
	Model string `json:"model,omitempty" jsonschema:"the model that answers, if it is not the usual one"`
	// Greet has the agent speak first, where its author wrote so.
	Greet bool `json:"greet,omitempty" jsonschema:"the agent speaks first, where its author wrote so"`
	// Files come with the first message.
	Files []fileName `json:"files,omitempty" jsonschema:"files of other sessions, and documents, that the first message comes with"`
}

func (s *Server) createSession(c *call, in newSession) (sessionView, error) {
	if in.Model != "" {
		if err := s.checkModel(c.r.Context(), in.Agent, in.Model); err != nil {
			return sessionView{}, err
		}
	} else if _, err := s.step(c.r.Context(), in.Agent); err != nil {
		return sessionView{}, err
	}
	if _, err := s.given(c, in.Files); err != nil {
		return sessionView{}, err
	}
	key, err := c.key()
	if err != nil {
		return sessionView{}, err
	}
	now := time.Now().UTC()
	info := troupe.SessionInfo{ID: sessionID(c.user, in.Agent, key), User: c.user, Agent: in.Agent, Status: sessionEmpty, Started: now, Updated: now}
	if key != "" {
		if made, _, err := s.find(c, info.ID); !errors.Is(err, troupe.ErrNotFound) {
			if err != nil {
				return sessionView{}, err
			}
			return s.view(c.r.Context(), made)
		}
	}
	if err := s.drafts.add(info); err != nil {
		return sessionView{}, err
	}
	if in.Model != "" || len(in.Files) > 0 {
		if err := s.notes.change(info.ID, func(n *notes) { n.Model, n.Given = in.Model, in.Files }); err != nil {
			return sessionView{}, err
		}
	}
	if in.Greet && s.config.Greeter != nil {
		if err := s.greet(c, info); err != nil {
			return sessionView{}, err
		}
		info, _, _ = s.find(c, info.ID)
	}
	c.w.Header().Set("Location", s.config.Prefix+"/api/sessions/"+info.ID)
	return s.view(c.r.Context(), info)
}

// greet begins the run in which an agent speaks first, if it is one that does.
func (s *Server) greet(c *call, info troupe.SessionInfo) error {
	input, ok := s.config.Greeter(info.Agent)
	if !ok {
		return nil
	}
	input.Session = info.ID
	_, err := s.say(c, info.Agent, input)
	return err
}

// newID returns a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return uuidOf(b)
}

// uuidOf makes a UUID of 16 bytes.
func uuidOf(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Server) showSession(c *call) (sessionView, error) {
	info, _, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return sessionView{}, err
	}
	return s.view(c.r.Context(), info)
}

// errWritten refuses to delete what somebody has written and whoever deletes has not seen.
var errWritten = refuse(http.StatusConflict, "something was written in the session meanwhile, so it is not deleted").withCode("written")

// unwritten fails with errWritten where somebody has written into a session since it was
// shown with this mark. Without one there is nothing to compare.
func (s *Server) unwritten(c *call, id, mark string) error {
	if mark == "" {
		return nil
	}
	info, _, err := s.find(c, id)
	if err != nil {
		return err
	}
	now, err := s.view(c.r.Context(), info)
	if err == nil && now.Written != mark {
		err = errWritten
	}
	return err
}

// deleteSession deletes a session as it was seen: one that has another mark (written) than the
// request names is left as it is, and so is its run.
func (s *Server) deleteSession(c *call) (none, error) {
	query := c.r.URL.Query()
	stops, seen := query.Get("stop") != "", query.Get("written")
	if stops {
		// A page asks for it when it is closed: it may be gone before the run has ended.
		c.r = c.r.WithContext(context.WithoutCancel(c.r.Context()))
	}
	info, d, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return none{}, err
	}
	if d != nil {
		s.drafts.remove(d)
		return none{}, s.notes.forget(info.ID)
	}
	ctx := c.r.Context()
	if err := s.unwritten(c, info.ID, seen); err != nil {
		return none{}, err
	}
	if stops {
		if err := s.stopRun(ctx, info.ID); err != nil {
			return none{}, err
		}
	}
	if err := s.whenFree(c, info.ID, func() error {
		return s.config.Engine.Delete(ctx, info.ID, func() error { return s.unwritten(c, info.ID, seen) })
	}); err != nil {
		return none{}, err
	}
	s.summaries.forget(info.ID)
	s.lastAnswers.forget(info.ID)
	s.frames.forget(info.ID)
	s.hub.left(info.ID, info.User)
	return none{}, s.notes.forget(info.ID)
}

// stopRun cancels a session's run, if there is one, and returns once it has ended.
func (s *Server) stopRun(ctx context.Context, id string) error {
	if err := s.config.Runs.Cancel(ctx, id); err != nil {
		return err
	}
	return s.waitForEnd(ctx, id)
}

func (s *Server) cancelRun(c *call) (none, error) {
	info, err := s.found(c)
	if err != nil {
		return none{}, err
	}
	defer s.hub.changed(info.ID) // what waits is stopped by nobody's run
	return none{}, s.config.Runs.Cancel(c.r.Context(), info.ID)
}

func (s *Server) resumeRun(c *call) (started, error) {
	info, err := s.found(c)
	if err != nil {
		return started{}, err
	}
	step, err := s.stepIn(c.r.Context(), info.Agent, info.ID)
	if err != nil {
		return started{}, err
	}
	held, err := s.release(info.ID) // who goes on goes on with what waits for it
	if err != nil {
		return started{}, err
	}
	run, err := s.begun(c, info.ID, func(ctx context.Context) iter.Seq2[troupe.Event, error] {
		return s.config.Runs.Resume(ctx, step, info.ID)
	})
	if err != nil {
		if held {
			err = errors.Join(err, s.notes.change(info.ID, func(n *notes) { n.Held = true }))
		}
		return started{}, s.withSeq(c, info.ID, err)
	}
	return run.started, nil
}

// withSeq says in the problem of a busy session how far that has come.
func (s *Server) withSeq(c *call, id string, err error) error {
	p := problemOf(err)
	if p.Status != http.StatusConflict {
		return err
	}
	info, _, lost := s.find(c, id)
	if lost != nil {
		return err
	}
	p.Seq = info.Events
	return p
}
