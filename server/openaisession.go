package server

import (
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

// goOn begins a run with what the user says now, in the session of the conversation:
// the one that the request names, or the one in which the earlier messages were
// said. If there is none, a new one is told of them. A request that was sent before is
// the run that it was then.
func (s *Server) goOn(c *call, step troupe.Step, in *completionRequest, t *talk) (*running, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	input := troupe.Input{Text: t.text, Parts: t.parts, IdempotencyKey: key}
	if named := in.named(); named != "" {
		if _, _, err := s.find(c, named); err != nil {
			return nil, err
		}
		input.Session = named
		return s.begin(c, step, input)
	}
	place, known := s.placeOf(t.before)
	if !known {
		return s.begin(c, step, t.introduced(input))
	}
	info, _, err := s.find(c, place.session)
	if errors.Is(err, troupe.ErrNotFound) { // it was deleted
		return s.begin(c, step, t.introduced(input))
	}
	if err != nil {
		return nil, err
	}
	isKnown, err := s.isOnRecord(c.r.Context(), info.ID, key)
	if err != nil {
		return nil, err
	}
	input.Session = info.ID
	if isKnown || info.Events == place.seq {
		if run, err := s.begin(c, step, input); isKnown || !errors.Is(err, troupe.ErrBusy) {
			return run, err
		}
	}
	if input.Session, err = s.forkFor(c, key, place); err != nil {
		return nil, err
	}
	return s.begin(c, step, input)
}

// forkFor returns another way to go on from a place in a session that has gone on since:
// for a request that has a key, always the same one.
func (s *Server) forkFor(c *call, key string, place talkPlace) (string, error) {
	request := talkKey{}.with("request of "+c.user, key, nil)
	if key != "" {
		if made, ok := s.placeOf(request); ok {
			return made.session, nil
		}
	}
	fork, err := s.fork(c.r.Context(), place.session, place.seq)
	if err == nil && key != "" {
		s.keepPlace(request, talkPlace{session: fork})
	}
	return fork, err
}

// named returns the id of the session that the request names.
func (r *completionRequest) named() string {
	if id := r.Metadata["session"]; id != "" {
		return id
	}
	if sessionid.Is(r.User) {
		return r.User
	}
	return ""
}

// introduced adds what a new session must know: the client's instructions, and what
// was said before it.
func (t *talk) introduced(input troupe.Input) troupe.Input {
	var known []troupe.Part
	for _, p := range []troupe.Part{
		{Name: "Instructions of the application", Data: []byte(t.instructions)},
		{Name: "The conversation so far", Data: []byte(t.earlier)},
	} {
		if len(p.Data) > 0 {
			p.MIME = "text/plain"
			known = append(known, p)
		}
	}
	input.Parts = append(known, input.Parts...)
	return input
}

// remember notes where the conversation is on record, now that the agent has
// answered: the client will repeat what it was told.
func (s *Server) remember(t *talk, told string, end *troupe.Event) {
	s.keepPlace(t.whole.with("assistant", told, nil), talkPlace{end.Session, end.Seq})
}
